"""Which technique a folder may name: a folder comes from anywhere, and importing a module runs its code."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parge.errors import InputError
from parge.run.words import printable
from parge.techniques.registry import techniques


def trusted(described: Mapping[str, Any], folder: Path, *, allow: str = "") -> Mapping[str, Any]:
    """Return the description of a technique that a part folder holds, if running it is what the user asked for.

    Techniques by name are installed with parge or with a plug-in, and may be named by anybody. A
    ``module:attribute`` is imported only where the user's own code would be, in the folder they stand in; a
    module from elsewhere (``subprocess:Popen``!), or from the run itself, only if they repeat its name.
    """
    name = described.get("technique")
    if not isinstance(name, str):
        raise InputError(f"{folder} names no technique; found {printable(repr(name), 60)}")
    if name in techniques.names() or name == allow or _is_own(name.partition(":")[0], folder):
        return described
    shown = printable(name, 200)
    raise InputError(
        f"{folder} asks to import {shown!r}, which is neither a technique of parge nor a module of the folder you "
        f"stand in ({Path.cwd()}); if you trust it: parge embed-part {folder} --technique {shown}"
    )


def _is_own(module: str, folder: Path) -> bool:
    """Return whether the module is a file of the current folder, and the current folder is not the run's."""
    here, part = Path.cwd().resolve(), folder.resolve()
    run = part.parent.parent if part.parent.name == "parts" else part
    top = module.partition(".")[0]
    if here == run or run in here.parents or not top.isidentifier():
        return False
    if not ((here / f"{top}.py").is_file() or (here / top / "__init__.py").is_file()):
        return False
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return False
    # What Python would import: an installed module of the same name comes before the folder's own. None: the
    # folder is not on the path yet, and `restore` puts it there.
    return found is None or (found.origin is not None and here in Path(found.origin).resolve().parents)

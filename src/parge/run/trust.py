"""Which technique a folder may name: folders are not trusted, and importing a module runs its code."""

import importlib.util
from pathlib import Path

from parge.errors import InputError
from parge.show.text import on_one_line, pasteable
from parge.storage import current_folder
from parge.techniques.base import Technique
from parge.techniques.resolve import Described, restore_declared

# Of the default settings. 80 walks of 80, window 10, are 32 times as much.
MOST_WORK = 10_000


def trusted(described: Described, folder: Path, *, allow: str = "") -> Technique:
    """Return the technique that a part folder describes, if the user allowed it.

    A folder may name a technique that parge or an installed plug-in registers, or the ``module:attribute`` that the
    user typed (`allow`). Its settings must be plain values of declared names. Nothing else that a folder names is
    imported, and nothing from the current folder: a module there may import anything. Settings of a parge technique
    that need more than `MOST_WORK` times the default work must also be allowed by the technique's name.
    """
    name, known = described.name, described.is_registered
    if not (known or is_path(name)):
        raise InputError(f"{folder} names no technique; found {on_one_line(repr(name), 60)}")
    if allow and allow != name:
        raise InputError(f"{folder} names the technique {name}, but --technique says {allow}")
    if not known:
        _refuse_unless_typed(described, folder, allow)
    technique = restore_declared(described)
    if must_be_allowed(technique) and not allow:
        settings = on_one_line(", ".join(f"{key}={value!r}" for key, value in described.settings), 300)
        raise InputError(
            f"{folder} asks for {technique.most_relative_work:,.0f} times the work of {name}'s default settings "
            f"({settings}). To allow it: {pasteable('parge', 'embed-part', folder, '--technique', name)}"
        )
    return technique


def must_be_allowed(technique: Technique) -> bool:
    """Return whether the user must explicitly allow these settings of a parge technique."""
    return type(technique).__module__.startswith("parge.") and technique.most_relative_work > MOST_WORK


def is_path(name: str) -> bool:
    """Return whether a text is a ``module:attribute``: identifiers with dots between, and nothing else.

    >>> is_path("sknetwork.embedding:Spectral"), is_path("../x:y")
    (True, False)
    """
    halves = name.split(":")
    return len(halves) == 2 and all(word.isidentifier() for half in halves for word in half.split("."))


def _refuse_unless_typed(described: Described, folder: Path, allow: str) -> None:
    name, settings = described.name, dict(described.settings)
    if name != allow:
        given = f" with the settings {on_one_line(settings, 500)}" if settings else ""
        raise InputError(
            f"{folder} asks to run {name}{given}, which is not a technique of parge or of an installed plug-in. "
            f"If you trust this code: {pasteable('parge', 'embed-part', folder, '--technique', name)}"
        )
    module = name.partition(":")[0].partition(".")[0]
    if any(_is_inside(place, folder) for place in _places(module)):
        raise InputError(f"the module {module} is inside the run of {folder}. Move it to a folder of your own.")


def _places(module: str) -> list[Path]:
    """Return where Python would find a module, as far as that is known without importing it."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return []
    if found is None:  # the current folder is not on the path yet, and `restore_declared` puts it there
        folder = current_folder()
        return [] if folder is None else [folder / module]
    return [Path(place) for place in [*(found.submodule_search_locations or ()), found.origin] if place]


def _is_inside(place: Path, folder: Path) -> bool:
    """Return whether a file lies in a part folder, or in the run that this is a part of."""
    part = folder.resolve()
    run = part.parent.parent if part.parent.name == "parts" else part
    return run in place.resolve().parents

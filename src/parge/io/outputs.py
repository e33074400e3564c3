"""Files that are written: what they may replace, checked before any work; they appear only when complete."""

import contextlib
import os
import platform
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from uuid import uuid4
from zlib import crc32

from parge.errors import InputError, PargeError, unwritable
from parge.io.places import check_delivery, delivery
from parge.io.stores import is_pattern, matches, shown_url
from parge.storage import flush


def never_ours(_path: Path) -> bool:
    """Say that an existing file is not recognised: formats that hold no sign of who wrote them."""
    return False


@dataclass(frozen=True)
class Output:
    """A file that a command is going to write."""

    path: Path  # where it goes
    # Whether an existing file is recognisably an earlier output of the same kind, which may be replaced.
    is_ours: Callable[[Path], bool] = never_ours


@dataclass
class _Claims:
    """What was at the outputs of a command when it started: nothing else may be replaced when they are complete."""

    on_replace: Callable[[list[Path]], None]
    found: dict[Path, tuple[os.stat_result | None, Output]] = field(default_factory=dict)
    token: str = field(default_factory=lambda: uuid4().hex[:8])


_CLAIMS: ContextVar[_Claims | None] = ContextVar("claims", default=None)


@contextmanager
def claiming(on_replace: Callable[[list[Path]], None]) -> Iterator[None]:
    """Have all that `check_outputs` allows inside hold until the end: a file that appears meanwhile is kept.

    `on_replace` is called, before any work, with earlier outputs that will be replaced, unless `overwrite` asks for it.
    """
    before = _CLAIMS.set(_Claims(on_replace))
    try:
        yield
    finally:
        _CLAIMS.reset(before)


class TakenError(PargeError):
    """An output whose place was taken by another file while a command was at work."""


def check_outputs(
    outputs: Iterable[Output],
    inputs: Iterable[Path | str] = (),
    *,
    run: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Refuse outputs that would destroy something, before any work; every command that writes calls this first.

    Always refused: what is not a plain file or cannot be one, and a link that leads nowhere. So are an output that is
    one of the inputs (by any name, links and hard links included), and two outputs in one file. So is an input or an
    output inside of the run folder. Refused without `overwrite`: an existing file that is neither empty nor
    recognisably an earlier output.

    Parameters
    ----------
    outputs : iterable of Output
        All files that the command writes, second files included.
    inputs : iterable of Path or str
        All files that it reads; a folder or a pattern stands for its files, a text for a URL.
    run : Path, optional
        The run folder that it works in.
    overwrite : bool
        Whether existing files of any kind may be replaced.
    """
    outputs, given = list(outputs), list(inputs)
    paths = [path for path in given if isinstance(path, Path)]
    for output in outputs:
        check_place(output.path)
    if run is not None:
        _check_run(run, [output.path for output in outputs], paths)
    for i, output in enumerate(outputs):
        for path in paths:
            _check_input(output.path, path)
        if any(same_file(output.path, other.path) for other in outputs[:i]):
            raise InputError(f"Cannot write {output.path}: it is given for two outputs. Give each its own file.")
    replaced = []
    for output in outputs:
        is_first = _claim(output, overwrite=overwrite)
        if _check_existing(output, overwrite=overwrite) and is_first:
            replaced.append(output.path)
        url = delivery(output.path)
        if url is not None:
            _check_input_urls(url, [name for name in given if isinstance(name, str)])
            check_delivery(url, overwrite=overwrite)
    tell_replaced(replaced)


def tell_replaced(paths: list[Path]) -> None:
    """Name earlier outputs that will be replaced, to whoever asked (`claiming`)."""
    claims = _CLAIMS.get()
    if claims is not None and paths:
        claims.on_replace(paths)


def _check_input(output: Path, given: Path) -> None:
    """Refuse an output that is an input, or that would be one the next time: in its folder, or fitting its pattern."""
    if same_file(output, given):
        raise InputError(f"Cannot write {output}: it is the same file as the input {given}. Give another output.")
    if given.is_dir() and is_inside(output, given):
        raise InputError(f"Cannot write {output}: all files in {given} are read as the input. Write it elsewhere.")
    if not given.exists() and is_pattern(given) and matches(os.path.realpath(output), os.path.realpath(given)):
        raise InputError(f"Cannot write {output}: it fits the pattern {given} of the input. Give another output.")


def _check_input_urls(url: str, inputs: list[str]) -> None:
    """Do the same for URLs."""
    here = shown_url(url)
    for given in map(shown_url, inputs):
        if here == given or here.startswith(f"{given.rstrip('/')}/") or (is_pattern(given) and matches(here, given)):
            raise InputError(f"Cannot write {here}: it is the input {given} or part of it. Give another output.")


def _claim(output: Output, *, overwrite: bool) -> bool:
    """Note what is at an output; return whether this command has not done so before."""
    claims = _CLAIMS.get()
    if claims is None or overwrite:
        return False
    path = Path(os.path.realpath(output.path))
    is_first = path not in claims.found
    claims.found[path] = (_stat(path), output)
    return is_first


def _stat(path: Path) -> os.stat_result | None:
    with contextlib.suppress(OSError):
        return path.stat()
    return None


def check_still_free(*paths: Path) -> None:
    """Refuse to replace what appeared or changed at an output since the command began, unless parge wrote it.

    Raised while files are open by `replacing`, the refusal keeps what they hold next to their places.
    """
    claims = _CLAIMS.get()
    places = [Path(os.path.realpath(path)) for path in paths]
    for path in places:
        before, output = (None, None) if claims is None else claims.found.get(path, (None, None))
        now = _stat(path)
        if output is None or now is None or not now.st_size or _is_same(before, now) or _recognised(output):
            continue
        raise TakenError(
            f"{path} was written by another program while parge was running, so it was not replaced. The result is "
            f"kept: rename {' and '.join(str(_kept(place)) for place in places)}."
        )


def _is_same(before: os.stat_result | None, now: os.stat_result) -> bool:
    names = ("st_dev", "st_ino", "st_size", "st_mtime_ns")
    return before is not None and all(getattr(before, name) == getattr(now, name) for name in names)


def _kept(path: Path) -> Path:
    claims = _CLAIMS.get()
    return path.with_name(f"kept-{'' if claims is None else claims.token}-{path.name}")


def check_place(path: Path) -> None:
    """Refuse a path where no file can be written: an empty name, a folder, a device, no folder around it."""
    if not path.name:  # ".", "/", and the empty name
        raise InputError(f"Cannot write {str(path)!r}: it is a folder or an empty name. Give a file name.")
    try:
        has_folder = path.parent.is_dir()
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            found = path.stat()
    except FileNotFoundError:
        if not has_folder:
            raise InputError(
                f"Cannot write {path}: the folder {path.parent} does not exist. Create it first."
            ) from None
        if path.is_symlink():
            raise InputError(
                f"Cannot write {path}: it is a link to a file that does not exist. Remove it first."
            ) from None
        return
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot write {path}: {getattr(error, 'strerror', None) or error}.") from None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"Cannot write {path}: it is a folder.")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"Cannot write {path}: it is not a regular file (but a device or a pipe, for example).")


def _check_existing(output: Output, *, overwrite: bool) -> bool:
    """Return whether there is something to replace, if it may be replaced."""
    try:
        size = output.path.stat().st_size
    except FileNotFoundError:
        return False
    if size and not overwrite and not _recognised(output):
        raise InputError(
            f"{output.path} exists, and it is not recognised as an earlier output of parge. Give another name, or "
            "--overwrite to replace it."
        )
    return bool(size)


def _recognised(output: Output) -> bool:
    # What a library raises on a file that it did not write is documented by none of them.
    with contextlib.suppress(Exception):
        return output.is_ours(output.path)
    return False


def _check_run(run: Path, outputs: list[Path], inputs: list[Path]) -> None:
    for path in outputs:
        if is_inside(path, run):
            raise InputError(
                f"Cannot write {path}: {run} is the run folder, which holds only files of the run. Write to a place "
                "outside it."
            )
        if _has_other_names(path) and any(same_file(path, file) for file in run.rglob("*")):
            raise InputError(
                f"Cannot write {path}: it is the same file as one of the run in {run}. Give another output."
            )
    check_run_place(run, inputs)
    for path in inputs:
        if is_inside(path, run):
            raise InputError(
                f"{path} is inside the run folder {run}, whose files may be removed. Copy it elsewhere first."
            )


def run_folder_of(out: Path) -> Path:
    """Return the run folder of an output where none is named: next to it, or here where it goes to a store."""
    name = f"{out.name}.run"
    return out.with_name(name) if delivery(out) is None else Path(name)


def check_run_place(run: Path, inputs: Iterable[Path]) -> None:
    """Refuse a run folder inside a folder that is read: its files would be read, too, the next time."""
    for path in inputs:
        if path.is_dir() and is_inside(run, path):
            raise InputError(
                f"Cannot write the run folder {run}: all files in {path} are read as the input. Put it elsewhere "
                "(run_dir=, --run-dir)."
            )


def _has_other_names(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.stat().st_nlink > 1
    return False


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path, as given or with its links followed, is a folder or inside it.

    >>> is_inside(Path("run/parts/x.npy"), Path("run")), is_inside(Path("run.npy"), Path("run"))
    (True, False)
    """
    for form in (path.absolute(), Path(os.path.realpath(path))):
        if any(same_file(step, folder) for step in (form, *form.parents)):
            return True
    return False


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths name the same file, by links of any kind; of missing files, whether the paths agree."""
    with contextlib.suppress(OSError, ValueError):
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` when it is complete, and vanishes if it never is.

    A link is followed: what it leads to is replaced, and the link stays. What a process that was killed left of the
    same file is removed. If another program wrote that file in the meantime (see `check_still_free`), the new one is
    kept under another name. What the system refuses is raised as a `PargeError` that names the file.
    """
    path = Path(os.path.realpath(path))
    check_place(path)
    whose = f".parge-{crc32(path.name.encode(errors='replace')):08x}-{crc32(platform.node().encode()):08x}-"
    temporary = path.with_name(f"{whose}{os.getpid()}-{uuid4().hex[:8]}.part")
    try:
        for leftover in path.parent.glob(f"{whose}*.part"):
            pid = leftover.name.removeprefix(whose).partition("-")[0]
            if pid.isdigit() and not _is_alive(int(pid)):
                leftover.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            try:
                yield file
                check_still_free(path)
            finally:
                flush(file)
        temporary.replace(path)
        _claim_written(path)
    except TakenError:
        temporary.replace(_kept(path))
        raise
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise PargeError(unwritable(path, error)) from error
        raise


def _claim_written(path: Path) -> None:
    """Note that what is there now is this command's own work."""
    claims = _CLAIMS.get()
    if claims is not None and path in claims.found:
        claims.found[path] = (_stat(path), claims.found[path][1])


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True

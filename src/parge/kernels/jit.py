"""The decorators of all kernels: floating-point policy, threads, and compiled code that processes share on disk.

numba's own cache is made for one process at a time. It names a new file of code in its index before it writes that
file, so a process killed in between leaves old code under the new name. Two processes that compile at once may give two
functions one name (numba issue 4807). A damaged file, or a full disk, ends the caller. Here code is written first and
named after, under a lock. The process that comes second waits and reads. What cannot be read is compiled again; what
cannot be written is not kept.

numba compiles a kernel into those that call it, with the constants it finds in their modules, and looks for changes in
the file of the caller alone. Here code is of one text of all sources: those of this folder, and those next to the
function.
"""

import contextlib
import fcntl
import functools
import hashlib
import inspect
import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
from numba.core.caching import IndexDataCacheFile

from parge.events import compilers
from parge.kernels.safety import is_safe, look_at_no_folder

F = TypeVar("F", bound=Callable[..., Any])

# Reassociation and contraction only: the no-NaN and no-inf promises would be false for hostile input.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


def kernel(function: F) -> F:
    """Compile a serial kernel: strict floating point, GIL released, cached on disk."""
    return cast("F", compiled(function, nogil=True))


def fast_kernel(function: F) -> F:
    """Compile a serial kernel whose sums may be reordered for the vector units."""
    return cast("F", compiled(function, nogil=True, fastmath=_FAST))


look_at_no_folder()

# A process that was stopped while it held the lock keeps the others waiting for so long and no longer; compiling
# the slowest kernels takes 10 s.
_PATIENCE = 60.0
_POLL_SECONDS = 0.02

_DIGEST_BYTES = 32

_LOCK = "parge.lock"

_loaders: list[Callable[[], None]] = []
_folders: set[str] = set()


def compiled(function: Any, **options: Any) -> Any:
    """Compile a function when it is first called, or read what another process compiled.

    With ``NUMBA_DISABLE_JIT=1`` Python runs it as it stands: slowly, and within reach of a debugger.
    """
    if not is_compiling():
        return _interpreted(function)
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder that it may write to
        return numba.njit(**options)(function)
    if not is_safe(Path(dispatcher._cache._cache_path), Path(function.__code__.co_filename)):
        # Code is pickled: a user who can write there could have us run other code.
        return numba.njit(**options)(function)
    cache, compile_now = dispatcher._cache, dispatcher.compile
    file = _SharedFile(cache._cache_path, cache._impl.filename_base, _stamp(Path(inspect.getfile(function)).parent))
    cache._cache_file = file

    @functools.wraps(compile_now)
    def compile_once(signature: Any) -> Any:
        key = cache._index_key(signature, dispatcher.targetctx.codegen())
        if file.knows(key):
            return compile_now(signature)
        with file.locked():
            return compile_now(signature)

    dispatcher.compile = compile_once
    _folders.add(str(file._cache_path))
    _loaders.append(lambda: _load(dispatcher, file))
    return dispatcher


def is_at_work() -> bool:
    """Return whether a process that shares the folder of compiled code is compiling now: it holds the lock."""
    return any(_is_locked(Path(folder) / _LOCK) for folder in _folders)


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False


compilers.append(is_at_work)


def load_compiled() -> None:
    """Load the code that earlier runs compiled for the kernels imported so far, so that no call has to wait for it.

    For a process from which others are forked. What is not on disk is compiled when it is called.
    """
    for load in _loaders:
        load()


def _load(dispatcher: Any, file: "_SharedFile") -> None:
    for key in file._load_index():
        signature = key[0]
        if key == dispatcher._cache._index_key(signature, dispatcher.targetctx.codegen()):
            dispatcher.compile(signature)


def is_compiling() -> bool:
    """Return whether kernels are compiled, as they are but where NUMBA_DISABLE_JIT forbids it."""
    return not numba.config.DISABLE_JIT


def _interpreted(function: Any) -> Any:
    """Return the function for Python to run; integers wrap around there as in compiled code, without a warning."""

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return run


@functools.cache
def _stamp(folder: Path) -> str:
    """Return what code compiled from functions of a folder depends on: its sources, ours, and the compilers."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for source in sorted({*folder.glob("*.py"), *Path(__file__).parent.glob("*.py")}):
        with contextlib.suppress(OSError):  # a file that is being written, or nobody's to read
            content = source.read_bytes()
            digest.update(f"\n{source.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


class _SharedFile(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """The code of one function on disk, and the index that says which signature is where."""

    _depth = 0  # of locks that this process holds: kernels compile the kernels that they call

    def knows(self, key: Any) -> bool:
        """Return whether there is code for a signature."""
        return key in self._load_index()

    def save(self, key: Any, data: Any) -> None:
        """Write code, then its name in the index; a full disk or the like only means that it is not kept."""
        with contextlib.suppress(OSError), self.locked():
            index = self._load_index()
            taken = set(index.values())
            numbers = range(1, len(taken) + 2)
            name = index.get(key) or next(n for n in map(self._data_name, numbers) if n not in taken)
            self._save_data(name, (self._source_stamp, key, data))
            self._save_index({**index, key: name})

    def load(self, key: Any) -> Any:
        """Return the code for a signature, or None where there is none, or none that is intact."""
        with contextlib.suppress(Exception):
            stamp, found, data = super().load(key)
            if stamp == self._source_stamp and found == key:
                return data
        return None

    def _load_index(self) -> dict[Any, str]:
        with contextlib.suppress(Exception):
            index: dict[Any, str] = super()._load_index()
            return index
        return {}

    def _save_data(self, name: str, data: Any) -> None:
        content: bytes = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        digest, content = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != digest:
            raise ValueError(f"{name} is damaged")
        return pickle.loads(content)  # as numba does: the folder is as trusted as the program (`is_safe`)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from compiling into the same folder meanwhile."""
        if _SharedFile._depth:
            yield
            return
        descriptor = self._lock()
        _SharedFile._depth += 1
        try:
            yield
        finally:
            _SharedFile._depth -= 1
            if descriptor is not None:
                os.close(descriptor)

    def _lock(self) -> int | None:
        try:
            folder = Path(self._cache_path)
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return None
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_POLL_SECONDS)
            except OSError:
                break  # a file system without locks
            else:
                break
        return descriptor

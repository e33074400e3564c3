"""The errors a user can meet; every message says what was asked, what was found, and what to do."""

import errno
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any


class PargeError(Exception):
    """A failure while running; the command line exits with its `exit_code`."""

    exit_code = 1


class InputError(PargeError, ValueError):
    """Input, or an option, that cannot be used as given."""

    exit_code = 2


# What Python says about its own limits, which nobody can do anything about, and what that means for a file.
_MEANINGS = (
    ("integer string conversion", "it holds a number of thousands of digits"),
    ("recursion depth", "its values are nested too deeply"),
    ("mmap length is greater than file size", "it is shorter than its own first bytes say"),
    ("mmap an empty file", "it is empty"),
    ("cannot fit 'int' into an index-sized integer", "it declares a size that no machine holds"),
    ("int too large to convert", "it holds a number that is too large"),
)


def plain_reason(error: BaseException) -> str:
    """Return why a file could not be read, in one line; words about Python itself are replaced by what they mean.

    >>> plain_reason(RecursionError("maximum recursion depth exceeded while decoding"))
    'its values are nested too deeply'
    """
    lines = str(error).strip().splitlines()
    first = lines[0][:300] if lines else type(error).__name__
    said = first.lower()
    return next((meaning for words, meaning in _MEANINGS if words.lower() in said), first)


# What to do where the system refuses to write.
_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some space there, or write to another place."),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Choose a folder that you can write to."),
}


def unwritable(path: Any, error: OSError) -> str:
    """Return why the system did not let a file or a folder be written, and what to do.

    >>> unwritable("v.npz", OSError(errno.ENOSPC, "No space left on device"))
    'Cannot write v.npz: No space left on device. Free some space there, or write to another place.'
    """
    # numpy counts bytes instead of naming a cause
    reason = error.strerror or f"{error}; is the disk full?"
    remedy = _REMEDIES.get(error.errno or 0)
    return f"Cannot write {path}: {reason}" + ("" if remedy is None else f". {remedy}")


class UnknownIdError(InputError, KeyError):
    """A vertex that is asked for and not there."""

    __str__ = Exception.__str__  # a KeyError shows the repr of its words


class UnknownNameError(InputError, TypeError):
    """A keyword that nothing takes; the message has the one that was probably meant."""


class PargeWarning(UserWarning):
    """What a call from Python warns about; ``warnings.simplefilter("ignore", parge.PargeWarning)`` silences it."""


class PargeNotice(PargeWarning):
    """A notice: something was changed or chosen, such as self loops that were dropped. Nothing is wrong."""


class InfeasibleError(InputError):
    """A plan whose limits cannot be kept on this graph, known before any work starts."""


class MissingExtraError(InputError, ImportError):
    """A feature whose optional dependency is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}, which is not installed: pip install 'parge[{extra}]'")


@dataclass(frozen=True)
class Extra:
    """A package that parge does not require, and the extra that installs it.

    A component that cannot work without one says so as its ``needs_extra``; `Plan.resolved` looks, before any work.

    Parameters
    ----------
    module : str
        What is imported.
    package : str
        What people call it.
    name : str
        The extra, as in ``pip install 'parge[name]'``.
    """

    module: str
    package: str
    name: str

    @property
    def is_there(self) -> bool:
        """Whether the package is installed; nothing is imported."""
        return sys.modules.get(self.module) is not None or find_spec(self.module) is not None

    def check(self, feature: str) -> None:
        """Raise where the package is not installed; nothing is imported."""
        if not self.is_there:
            raise MissingExtraError(feature, self.package, self.name)


def imported(package: str, feature: str) -> Any:
    """Return a package that parge does not require and has no extra for; raise where it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        raise InputError(f"{feature} needs {package}, which is not installed: pip install {package}") from None


class TechniqueError(PargeError):
    """A technique that failed on a subgraph, or answered with something that is not an embedding."""

"""The one decorator of all kernels: cache, threads and floating-point policy in one place."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from parge.kernels.cache import compiled

F = TypeVar("F", bound=Callable[..., Any])

# Reassociation and contraction only: the no-NaN and no-inf promises would be false for hostile input.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


def kernel(function: F) -> F:
    """Compile a serial kernel: strict floating point, GIL released, cached on disk."""
    return cast("F", compiled(function, nogil=True))


def fast_kernel(function: F) -> F:
    """Compile a serial kernel whose sums may be reordered for the vector units."""
    return cast("F", compiled(function, nogil=True, fastmath=_FAST))

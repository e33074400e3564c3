"""Dense Matrix Market files, parsed here: scipy's parser writes beyond its array where too many numbers follow."""

import re
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError

# Comments stand on lines of their own; the first line that is neither empty nor one of them gives the size.
_HEAD = re.compile(rb"(?:[ \t\r]*(?:%[^\n]*)?\n)*[^\n]*\n?")


def parse_array(path: Path, text: bytes, n: int, symmetry: str) -> NDArray[np.float64]:
    r"""Return the n x n matrix of layout ``array``: numbers by columns, of a symmetric matrix the lower half.

    >>> text = b"%%MatrixMarket matrix array real symmetric\n2 2\n0\n3\n1\n"
    >>> parse_array(Path("m.mtx"), text, 2, "symmetric").tolist()
    [[0.0, 3.0], [3.0, 1.0]]
    """
    if symmetry not in {"general", "symmetric"}:
        raise InputError(f"{path}: a {symmetry} matrix is no adjacency matrix: general or symmetric was expected")
    values = _numbers(path, text)
    expected = n * n if symmetry == "general" else n * (n + 1) // 2
    if values.size != expected:
        raise InputError(f"{path}: its header announces {expected:,} numbers; {values.size:,} follow")
    if symmetry == "general":
        return values.reshape((n, n), order="F")
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n)] = values  # the lower half by columns is the upper half by rows
    return matrix + np.triu(matrix, 1).T


def _numbers(path: Path, text: bytes) -> NDArray[np.float64]:
    head = _HEAD.match(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy says it before version 2.3
        try:
            return np.fromstring(text[head.end() if head else 0 :], np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            raise InputError(f"{path}: after its header stands something that is not a number") from None

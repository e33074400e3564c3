"""Dense Matrix Market files, parsed here: scipy's parser writes beyond its array where too many numbers follow."""

import re
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError

# All that the format has; numpy takes more, such as hexadecimal numbers.
_NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?i:inf(?:inity)?|nan)")


def parse_array(path: Path, text: bytes, n: int, symmetry: str, *, line: int = 1) -> NDArray[np.float64]:
    r"""Return the n x n matrix of layout ``array``: numbers by columns, of a symmetric matrix the lower half.

    Parameters
    ----------
    text : bytes
        What follows the sizes.
    line : int
        Number of its first line in the file, for messages.

    Examples
    --------
    >>> parse_array(Path("m.mtx"), b"0\n3\n1\n", 2, "symmetric").tolist()
    [[0.0, 3.0], [3.0, 1.0]]
    """
    if symmetry not in {"general", "symmetric"}:
        raise InputError(f"{path}: a {symmetry} matrix is not an adjacency matrix. Save it as general or symmetric.")
    values = _numbers(path, text, line)
    expected = n * n if symmetry == "general" else n * (n + 1) // 2
    if values.size != expected:
        raise InputError(f"{path}: its header declares {expected:,} numbers, but {values.size:,} follow")
    if symmetry == "general":
        return values.reshape((n, n), order="F")
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n)] = values  # the lower half by columns is the upper half by rows
    return matrix + np.triu(matrix, 1).T


def _numbers(path: Path, text: bytes, line: int) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy says it before version 2.3
        try:
            if not re.search(rb"[^-+.0-9eE\sinfatyINFATY]", text):
                return np.fromstring(text, np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            pass
    for number, words in enumerate(text.splitlines(), line):
        wrong = next((word for word in words.split() if not _NUMBER.fullmatch(word)), None)
        if wrong is not None:
            shown = wrong[:80].decode("utf-8", "replace")
            raise InputError(f"{path}, line {number:,}: {shown!r} is not a number")
    raise InputError(f"{path}: something after its header is not a number")

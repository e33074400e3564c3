"""MATLAB files, read in a process of its own.

scipy's reader crashes on some damaged files (seen with version 1.17), and a crash must not take the caller with it.
Run as a program, this module reads one file and saves its matrix; `read_mat` runs it.
"""

import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.graph.matrix import VERTEX_BYTES
from parge.io.archive import declared_arrays
from parge.io.files import check_file, foreign_errors
from parge.io.graphs.matrix import graph_of_file
from parge.memory import budget, limit_memory, private_bytes, refuse_expansion, refuse_over_budget

# Names under which the adjacency matrix is kept, in this order.
_NAMES = ("network", "adjacency", "adj", "A", "graph", "G", "W")

# Of version 5: bytes before the first variable, and the mark of one that is compressed; bytes unpacked at a time.
_HEADER, _COMPRESSED, _BLOCK = 128, 15, 1 << 20

_NUMBERS = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def read_mat(path: Path, *, weighted: bool = True) -> Graph:
    """Read the adjacency matrix of a MATLAB file: the square sparse one, by convention called ``network``.

    No other variable is looked at, MATLAB objects and functions least of all.
    """
    check_file(path)
    with TemporaryDirectory() as folder, foreign_errors(path, "MATLAB (version 4 to 7)"):
        out = Path(folder) / "matrix.npz"
        done = subprocess.run(
            [
                sys.executable,
                "-P",
                "-m",
                "parge.io.graphs.matlab",
                str(path),
                str(out),
            ],  # -P: import nothing of this folder
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode == InputError.exit_code:
            raise InputError(done.stdout)
        if done.returncode != 0:
            raise InputError(f"{path}: cannot be read as MATLAB: the file is damaged (reading it crashed)")
        declared_arrays(out)
        return graph_of_file(path, sp.load_npz(out), weighted=weighted)


def main(path: str, out: str) -> int:
    """Save the adjacency matrix of a MATLAB file; return the exit code."""
    try:
        # What is compressed in such a file is counted by nobody; the system refuses this process more than the budget.
        limit_memory(private_bytes() + budget().n_bytes)
        sp.save_npz(out, _load(Path(path)), compressed=False)
    except InputError as error:
        sys.stdout.write(str(error))
        return InputError.exit_code
    return 0


def _load(path: Path) -> sp.csc_matrix:
    import scipy.io

    with foreign_errors(path, "MATLAB (version 4 to 7)"):
        _refuse_expansion(path)
        try:
            variables = scipy.io.whosmat(str(path))
        except NotImplementedError:
            raise InputError(f"{path} is a MATLAB file of version 7.3. Save it again with -v7.") from None
        name, n_vertices = _choose(path, variables)
        refuse_over_budget(VERTEX_BYTES * n_vertices, f"{path} declares {n_vertices:,} vertices")
        if (name, "sparse") not in {(variable, kind) for variable, _, kind in variables}:
            dense = f"{path} has a dense matrix of {n_vertices:,} x {n_vertices:,}"
            refuse_expansion(8 * n_vertices**2, path.stat().st_size, dense, remedy="save it as a sparse matrix")
        matrix = sp.csc_matrix(scipy.io.loadmat(str(path), variable_names=[name])[name])
        matrix.check_format(full_check=True)
        return matrix


def _refuse_expansion(path: Path) -> None:
    """Count what the variables of a file unpack to, a block at a time; far more than the file is refused."""
    packed, n_bytes = path.stat().st_size, 0
    with path.open("rb") as file:
        order = {b"IM": "<", b"MI": ">"}.get(file.read(_HEADER)[-2:])
        while order is not None and len(tag := file.read(8)) == 8:  # version 4 has another header, and packs nothing
            kind, size = struct.unpack(f"{order}II", tag)
            following = file.tell() + size
            if kind == _COMPRESSED:
                for block in _unpacked(file, size):
                    n_bytes += len(block)
                    refuse_expansion(n_bytes, packed, str(path), remedy="save it without compression")
            file.seek(following)


def _unpacked(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield what a compressed part of a file unpacks to, in blocks."""
    stream, left = zlib.decompressobj(), size
    while left and not stream.eof and (packed := file.read(min(left, _BLOCK))):
        left -= len(packed)
        while packed:
            yield stream.decompress(packed, _BLOCK)
            packed = stream.unconsumed_tail


def _choose(path: Path, variables: Sequence[tuple[str, tuple[int, ...], str]]) -> tuple[str, int]:
    """Return the name of the adjacency matrix, and its size."""
    square = {name: (shape, kind) for name, shape, kind in variables if len(shape) == 2 and shape[0] == shape[1] > 1}
    for kinds in ({"sparse"}, _NUMBERS):
        names = [name for name, (_, kind) in square.items() if kind in kinds]
        usual = [name for name in _NAMES if name in names]
        if usual or len(names) == 1:
            name = (usual or names)[0]
            return name, square[name][0][0]
        if names:
            raise InputError(
                f"{path} has several square matrices ({', '.join(names)}) and none is called network. Save the "
                "adjacency matrix under that name."
            )
    found = ", ".join(f"{name} ({' x '.join(map(str, shape))} {kind})" for name, shape, kind in variables)
    raise InputError(f"{path} has no square matrix, so no graph can be read; found {found or 'no variables'}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

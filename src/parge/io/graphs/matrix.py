"""Sparse matrices of scipy in a file (.npz) as graphs."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.graph.matrix import ENTRY_BYTES, VERTEX_BYTES, from_matrix
from parge.io.archive import declared_arrays
from parge.io.files import check_file, foreign_errors
from parge.memory import refuse_over_budget


def graph_of_file(path: Path, matrix: Any, *, ids: Any = None, weighted: bool = True) -> Graph:
    """Build a graph from the matrix that a file holds; call it within `foreign_errors`, which names the file."""
    refuse_over_budget(
        VERTEX_BYTES * max(matrix.shape) + ENTRY_BYTES * getattr(matrix, "nnz", matrix.size),
        f"{path} has {max(matrix.shape):,} vertices",
    )
    return from_matrix(matrix, ids=ids, weighted=weighted)


def read_npz(path: Path, *, weighted: bool = True) -> Graph:
    """Read a sparse matrix that scipy saved; an array ``ids`` in the file names the vertices."""
    check_file(path)
    with foreign_errors(path, "npz (a sparse matrix of scipy)"):
        members = declared_arrays(path)
        if "format" not in members or "shape" not in members:
            raise InputError(
                f"{path} holds {', '.join(sorted(members)) or 'nothing'}, which is not a sparse matrix. Save the "
                "adjacency matrix with scipy.sparse.save_npz."
            )
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:  # numpy leaves a bad file open
            ids = arrays["ids"] if "ids" in members else None
            n_vertices = int(arrays["shape"].max(initial=0))
            refuse_over_budget(VERTEX_BYTES * n_vertices, f"{path} declares {n_vertices:,} vertices")
        return graph_of_file(path, load_sparse(path), ids=ids, weighted=weighted)


def load_sparse(path: Path) -> Any:
    """Return the sparse matrix that scipy saved; numpy would leave a file that it cannot read open."""
    with path.open("rb") as file:
        return sp.load_npz(file)

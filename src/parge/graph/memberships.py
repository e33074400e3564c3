"""Which vertices carry which labels, as numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.typing import IntArray, PartArray


@dataclass(frozen=True, eq=False)
class Memberships:
    """The labels of every vertex: none, one or several, as numbers.

    >>> labels = Memberships(np.array([0, 1, 3]), np.array([1, 0, 1], np.int32), 2)
    >>> labels.of(1).tolist(), labels.to_scipy().toarray().tolist()
    ([0, 1], [[0, 1], [1, 1]])
    """

    indptr: IntArray  # (n_vertices + 1,): where the labels of each vertex start
    labels: PartArray  # (indptr[-1],): the labels of vertex 0, of vertex 1, ...; ascending within a vertex
    n_labels: int  # how many labels there are: they are called 0..n_labels-1

    def __post_init__(self) -> None:
        self.indptr.flags.writeable = False
        self.labels.flags.writeable = False

    @property
    def n_vertices(self) -> int:
        """Number of vertices, those without a label included."""
        return self.indptr.size - 1

    def of(self, vertex: int) -> PartArray:
        """Return the labels of one vertex."""
        return self.labels[self.indptr[vertex] : self.indptr[vertex + 1]]

    def to_scipy(self) -> Any:
        """Return which vertex has which label, as an (n_vertices, n_labels) scipy CSR of int8."""
        ones = np.ones(self.labels.size, np.int8)
        return sp.csr_matrix((ones, self.labels, self.indptr), shape=(self.n_vertices, self.n_labels))

    @staticmethod
    def from_keys(keys: IntArray, n_vertices: int, n_labels: int) -> "Memberships":
        """Build from the ascending keys ``vertex * n_labels + label``."""
        vertices, labels = np.divmod(keys, max(1, n_labels))
        indptr = np.searchsorted(vertices, np.arange(n_vertices + 1)).astype(np.int64)
        return Memberships(indptr, labels.astype(np.int32), n_labels)

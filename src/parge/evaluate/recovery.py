"""Exact recovery: when parts that are rotated by their anchors give back the centralised embedding, PIP = 0."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from parge.decompose.decomposition import Decomposition
from parge.errors import InputError
from parge.numbers import MOST_DIM, check_whole, shown
from parge.seeds import keyed_rng
from parge.typing import IntArray, Matrix


@dataclass(frozen=True)
class Recovery:
    """Whether parts, rotated by their anchors, give back the embedding of the whole graph exactly: PIP = 0.

    Parameters
    ----------
    rank : int
        Rank of M; dim + 1 means any rank above dim.
    anchor_rank : int
        Rank of the anchors' rows.
    dim : int
        Columns of the embedding.
    submatrices : bool
        Whether every worker factorises the submatrix of M that belongs to its vertices.
    """

    rank: int
    anchor_rank: int
    dim: int
    submatrices: bool = True

    @property
    def exact(self) -> bool:
        """Whether the three conditions of the statement hold."""
        return self.submatrices and self.rank <= self.dim and self.anchor_rank == self.rank

    def __str__(self) -> str:
        if self.exact:
            return f"yes, rank {self.rank} in {self.dim} columns, and the anchors span it"
        if self.rank > self.dim:
            return f"no, the rank of M is above the {self.dim} columns"
        if self.anchor_rank < self.rank:
            return f"no, the anchors' rows have rank {self.anchor_rank}, M has {self.rank}"
        return "no, edges leave the subgraphs, so their signal matrices are not submatrices of M"

    def to_json(self) -> dict[str, Any]:
        """Return ``{"exact", "rank", "anchor_rank", "dim", "submatrices"}``."""
        return {"exact": self.exact, **asdict(self)}


def exact_recovery(root: Any, anchors: Any, dim: int, *, submatrices: bool = True, seed: int = 0) -> Recovery:
    """Return whether rank and anchors allow exact recovery of a positive semidefinite M = S·S^T, α = 1/2.

    Ranks are those of products with dim + 1 random columns, which equal min(rank, dim + 1) with probability 1.

    Parameters
    ----------
    root : (n_vertices, l) sparse or dense matrix
        S; a factor of M of full column rank is enough. The anchors' rows of S have the rank of E's.
    anchors : (n_anchors,) int
        Vertices that every subgraph holds.
    submatrices : bool
        What the caller knows of the workers' signal matrices (of A·A computed in parts it is false as soon as
        an edge leaves a subgraph).
    """
    check_whole("dim", dim, 0, MOST_DIM)
    columns = keyed_rng(seed, "rank").standard_normal((root.shape[1], dim + 1))
    image = np.asarray(root @ columns)
    return Recovery(_rank(image), _rank(image[_numbers(anchors, root.shape[0])]), dim, submatrices)


def _numbers(vertices: Any, n_vertices: int) -> IntArray:
    """Return vertex numbers as an array, or refuse what is none."""
    found = np.asarray(vertices)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise InputError(f"anchors must be a list of vertex numbers; got {shown(vertices)}")
    if found.size and not 0 <= int(found.min()) <= int(found.max()) < n_vertices:
        raise InputError(f"anchors must be vertex numbers from 0 to {n_vertices - 1}; got {shown(vertices)}")
    return found.astype(np.int64)


def no_edge_leaves(decomposition: Decomposition) -> bool:
    """Return whether every neighbour of a subgraph's vertices, anchors included, is in that subgraph.

    Only then is A·A of the subgraph a submatrix of the whole graph's: paths of length two pass through neighbours.
    """
    degrees, own = decomposition.graph.degrees, ~decomposition.is_anchor
    touched = np.bincount(decomposition.part[own], degrees[own], decomposition.n_parts)
    touched += degrees[decomposition.anchors].sum()
    return bool((touched == 2 * decomposition.edges).all())


def _rank(image: Matrix) -> int:
    return int(np.linalg.matrix_rank(image)) if image.size else 0

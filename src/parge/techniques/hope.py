"""HOPE: vectors whose inner products are how close two vertices lie, by common neighbours or by paths."""

from dataclasses import dataclass
from math import hypot, isfinite
from typing import ClassVar, Literal, get_args

import numpy as np

from parge.errors import InputError
from parge.linalg.adjacency import Adjacency
from parge.linalg.subspace import Operator, block_width, leading_eigenpairs
from parge.memory import Footprint
from parge.techniques.base import check_choice, check_counts, check_range
from parge.techniques.factorisation import Factorisation
from parge.typing import Matrix

Signal = Literal["common-neighbours", "katz", "adamic-adar"]
Half = Literal["source", "target", "both"]

# Share of the largest admissible decay that Katz's index uses where none is given.
_DECAY_SHARE = 0.5


@dataclass(frozen=True)
class HOPE(Factorisation):
    """The best approximation of a proximity matrix M by inner products, ``M ≈ S T^T``.

    Use it to compare with the bounds of `parge evaluate bound`, which are about such factors. On the command line:
    ``--technique hope``.

    Ou et al., "Asymmetric transitivity preserving graph embedding" (KDD 2016). With the singular value decomposition
    ``M = U D V^T`` the source vectors are ``S = U D^1/2`` and the target vectors ``T = V D^1/2``. Graphs here are
    undirected, so M is symmetric, its singular vectors are eigenvectors, and both halves coincide but for the sign of
    columns of negative eigenvalue. That is why by default all `dim` columns go to the source half (the original gives
    dim/2 to each). ``S = U D^1/2`` is the E of the paper's bound, α = 1/2.

    M is never formed: eigenvectors come from products with the sparse adjacency matrix A alone.

    Parameters
    ----------
    dim : int
        Length of a vector. A subgraph of fewer vertices has that many columns, then zeros.
    signal : str
        ``common-neighbours``: M = A·A, the weighted count of paths of length two, the signal of the paper.
        ``katz``: M = Σ_l (beta A)^l, paths of any length, shorter ones counting more.
        ``adamic-adar``: M = A·diag(1 / log degree)·A; a vertex with one neighbour connects no pair and counts 0.
        (The original divides by the degree itself, which is now called resource allocation.)
    beta : float, optional
        Katz's decay, under 1 / |largest eigenvalue of A|. None means half of that, for each subgraph; a number that is
        valid for the graph is valid for its subgraphs, whose eigenvalues are smaller.
    half : str
        ``source``, ``target``, or ``both``: dim/2 columns of each.

    Examples
    --------
    >>> from parge.graph.graph import Graph
    >>> from parge.graph.subgraph import Subgraph
    >>> subgraph = Subgraph.whole(Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3]))
    >>> E = HOPE(dim=4).embed(subgraph, np.random.default_rng(0))
    >>> bool(np.allclose(E @ E.T, (subgraph.graph.to_scipy() @ subgraph.graph.to_scipy()).toarray(), atol=1e-5))
    True
    """

    name: ClassVar[str] = "hope"
    leaves_nothing: ClassVar[bool] = True
    refine: ClassVar[str] = "subspace"
    refines_whole: ClassVar[bool] = False  # of the whole graph, its vectors are what the pass comes to

    signal: Signal = "common-neighbours"
    beta: float | None = None
    half: Half = "source"

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim")
        check_choice(self, "signal", get_args(Signal))
        check_choice(self, "half", get_args(Half))
        if self.beta is not None:
            check_range(self, "beta", 0.0)
            if self.signal != "katz":
                raise InputError(
                    f"beta of hope is only for the signal katz; the signal is {self.signal}. Omit beta, or use the "
                    "signal katz."
                )
        if self.half == "both" and self.dim % 2:
            raise InputError(f"dim of hope must be even for half=both; got {self.dim}")

    @property
    def n_pairs(self) -> int:
        """How many eigenpairs of M are used."""
        return self.dim // 2 if self.half == "both" else self.dim

    def scales(self, strength: Matrix) -> tuple[Matrix, ...]:
        """Return what eigenvectors of M are multiplied by, for each half: the roots of its singular values."""
        source = np.sqrt(np.abs(strength))
        target = np.sign(strength) * source
        return {"source": (source,), "target": (target,), "both": (source, target)}[self.half]

    def footprint(self) -> Footprint:
        """Return the bound: that of any factorisation, and the columns between two products."""
        between = 4 * block_width(self.n_pairs) if self.signal == "adamic-adar" else 0
        return super().footprint().plus(0, between)

    def operator(self, A: Adjacency) -> Operator:
        """Return the matrix whose eigenvectors M has: A itself, but for Adamic and Adar's."""
        A, unit = A.moderate()
        if self.signal == "common-neighbours":
            return Operator(A, lambda values: np.square(unit * values))
        if self.signal == "adamic-adar":
            degrees = A.graph.degrees
            closeness = np.zeros(A.graph.n_vertices)
            closeness[degrees > 1] = 1.0 / np.log(degrees[degrees > 1])
            return Operator(A, lambda values: unit**2 * values, lowest=0.0, scales=(closeness, None))
        beta = self._decay(A, unit) * unit

        def centre(half: float) -> float:
            """Return c where c + half and c - half are equally strong; under 0, where odd paths count against even."""
            return (1.0 - hypot(1.0, 2.0 * beta * half)) / (2.0 * beta) if beta > 0 else 0.0

        return Operator(A, lambda values: beta * values / (1.0 - beta * values), centre=centre)

    def _decay(self, A: Adjacency, unit: float) -> float:
        pairs = leading_eigenpairs(Operator(A, np.abs), 1, tolerance=1e-6)
        radius = unit * float(np.abs(pairs.values).max(initial=0.0))
        if self.beta is None:
            return _DECAY_SHARE / radius if radius > 0 and isfinite(1 / radius) else 0.0
        if self.beta * radius >= 1:
            raise InputError(
                f"beta of hope must be under 1 / |largest eigenvalue| = {1 / radius:.6g} of the subgraph, otherwise "
                f"Katz's sum does not converge; got {self.beta:g}"
            )
        return self.beta

"""Auto: a technique that stands for others; which one suits a graph is tried on a part of it, without labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.graph.holdout import by_degree, remove_edges
from parge.graph.sample import connected_sample
from parge.graph.subgraph import Subgraph, induce
from parge.linalg.tall import unit
from parge.memory import Footprint
from parge.seeds import keyed_rng
from parge.stage_reports import TechniqueChoice, Tried
from parge.storage import row_blocks
from parge.techniques.base import Chooser, Chosen, Technique, check_counts
from parge.techniques.blend import Blend
from parge.techniques.sgc import SGC
from parge.techniques.spectral import Spectral
from parge.techniques.whitened import Whitened
from parge.typing import FloatArray, IntArray, Matrix

# The part of a graph that is looked at: a quarter of its vertices, at least and at most so many; and the share of its
# edges that is held out. The columns shrink with the vertices: of a quarter of the communities, a quarter of the
# directions tell. (On nine generated graphs and with 128 columns on a tenth of the vertices, spectral columns looked
# better than they were on the whole graph.)
_SHARE, _LEAST, _MOST, _HELD_OUT = 0.25, 2_000, 100_000, 0.1
_LEAST_DIM, _LEAST_HELD = 32, 20

# A technique is preferred to the first one if it is better by more than chance, and by more than this.
_DEVIATIONS, _CLEARLY = 3.0, 0.005

_PAIRS_AT_ONCE = 16_384


@dataclass(frozen=True)
class Auto(Technique, Chooser):
    """The technique that suits the graph, by held-out edges: `parge.Blend`, `parge.Spectral` or `parge.Whitened`.

    A plan with it asks `choose` once, before the graph is decomposed, and runs the chosen technique. A connected sample
    of a quarter of the vertices loses a tenth of its edges. Each technique embeds the rest, with fewer columns, and the
    cosines are to tell the lost edges from pairs drawn by degree. Blend is taken unless another one is clearly better
    (`parge.techniques.auto.choose`). No label is read. With features in the graph `parge.SGC` is tried as well.

    The other techniques are not tried. After their pass over the whole graph LINE, NetMF, ProNE, SGC and the closed
    form are where `parge.Whitened` is, and walks take longer than all else together.

    Parameters
    ----------
    dim : int
        Length of a vector.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> Auto(dim=8).choose(ring_of_cliques(40, 5)).technique
    Blend(dim=8, regularisation=0.125, rounds=20, seed=0)
    """

    name: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim")

    def candidates(self, graph: Graph | None = None) -> tuple[Technique, ...]:
        """Return the techniques that it stands for; the first is taken in case of doubt."""
        usual = (Blend(dim=self.dim), Spectral(dim=self.dim), Whitened(dim=self.dim))
        return usual if graph is not None and graph.features is None else (*usual, SGC(dim=self.dim))

    def choose(self, graph: Graph, seed: int = 0, among: Sequence[Technique] = ()) -> Chosen:
        """Return the technique for a graph."""
        return choose(graph, among or self.candidates(graph), seed)

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return the vectors of the technique for this subgraph; a plan chooses once for all subgraphs."""
        chosen = self.choose(subgraph.graph, int(rng.integers(2**31))).technique
        return chosen.embed(subgraph, rng, progress=progress)

    def footprint(self) -> Footprint:
        """Return the bound of the largest candidate, and the sample beside it."""
        bounds = [technique.footprint() for technique in self.candidates()]
        return Footprint(
            max(bound.fixed for bound in bounds),
            max(bound.per_vertex for bound in bounds) + 40,
            2 * max(bound.per_edge for bound in bounds),
        )

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the bound with the graph's features."""
        bounds = [technique.footprint_for(graph) for technique in self.candidates(graph)]
        return self.footprint().plus(
            max(bound.fixed for bound in bounds) - self.footprint().fixed,
            max(bound.per_vertex for bound in bounds),
        )


def choose(graph: Graph, candidates: Sequence[Technique], seed: int = 0) -> Chosen:
    """Return the candidate that tells held-out edges of a sample from other pairs best; in doubt the first one.

    Parameters
    ----------
    graph : Graph
        The graph that is to be embedded.
    candidates : sequence of Technique
        Another than the first is chosen only where its ROC-AUC is higher by .005, and by two standard deviations of the
        difference (DeLong et al., 1988).
    seed : int
        Same seed, same choice.
    """
    first = candidates[0]
    if len(candidates) == 1:
        return Chosen(first, TechniqueChoice(first.name, "it is the only one that this plan allows"))
    rng = keyed_rng(seed, "choose")
    sample = induce(graph, _vertices(graph, rng), np.zeros(0, np.int64)).graph
    n_held = round(_HELD_OUT * sample.n_edges)
    if n_held < _LEAST_HELD or sample.n_edges == sample.n_vertices * (sample.n_vertices - 1) // 2:
        return Chosen(first, TechniqueChoice(first.name, "the graph is too small to compare techniques"))
    train, edges = remove_edges(sample, n_held, rng)
    others = by_degree(train, edges, int(rng.integers(2**31)))
    share = sample.n_vertices / max(1, graph.n_vertices)
    tested = [_tested(_narrow(technique, share), train, edges, others) for technique in candidates]
    tried = tuple(
        Tried(technique.name, round(float(test.above.mean()), 4))
        for technique, test in zip(candidates, tested, strict=True)
    )
    better = [i for i, test in enumerate(tested) if _is_better(test, tested[0])]
    best = max(better, key=lambda i: tried[i].roc_auc, default=0)
    because = "it separated held-out edges from other pairs best" if better else _in_doubt(tried)
    choice = TechniqueChoice(candidates[best].name, because, tried, sample.n_vertices, n_held)
    return Chosen(candidates[best], choice)


def _vertices(graph: Graph, rng: np.random.Generator) -> IntArray:
    return connected_sample(graph, max(_LEAST, min(_MOST, int(_SHARE * graph.n_vertices))), rng)


def _in_doubt(tried: Sequence[Tried]) -> str:
    """Return why the first one is taken."""
    if tried[0].roc_auc >= max(each.roc_auc for each in tried):
        return "it separated held-out edges from other pairs best"
    return "no other separated held-out edges from other pairs clearly better"


def _narrow(technique: Technique, share: float) -> Technique:
    """Return the technique with as many columns as suit a share of the vertices."""
    return replace(technique, dim=min(technique.dim, max(_LEAST_DIM, int(share * technique.dim))))


class _Test(NamedTuple):
    """For every held-out edge, the share of other pairs below it; for every other pair, the share of edges above it."""

    above: Matrix
    below: Matrix


def _tested(technique: Technique, train: Graph, edges: IntArray, others: IntArray) -> _Test:
    vectors = technique.embed(Subgraph.whole(train), np.random.default_rng(0))
    if train.features is None:
        vectors[train.degrees == 0] = 0.0
    alike, apart = (_cosines(vectors, pairs) for pairs in (edges, others))
    return _Test(_share_below(alike, apart), 1.0 - _share_below(apart, alike))


def _cosines(vectors: FloatArray, pairs: IntArray) -> Matrix:
    out = np.empty(len(pairs))
    for some in row_blocks(len(pairs), _PAIRS_AT_ONCE):
        left, right = (unit(np.asarray(vectors[end], np.float64)) for end in pairs[some].T)
        out[some] = np.einsum("ij,ij->i", left, right)
    return out.round(6)  # what differs by rounding is equal on every processor


def _share_below(scores: Matrix, others: Matrix) -> Matrix:
    """Return which share of the others is below each score; equal ones count half."""
    ordered = np.sort(others)
    lower, upper = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    return np.asarray((lower + upper) / (2.0 * max(1, ordered.size)))


def _is_better(test: _Test, first: _Test) -> bool:
    gain = float(test.above.mean() - first.above.mean())
    variance = sum(float(np.var(a - b)) / max(1, a.size - 1) for a, b in zip(test, first, strict=True))
    return bool(gain > max(_CLEARLY, _DEVIATIONS * variance**0.5))

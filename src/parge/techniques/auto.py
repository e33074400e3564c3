"""Auto: chooses one of several techniques; which one suits a graph is tried on a part of it, without labels."""

from collections.abc import Mapping, Sequence
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
from parge.techniques.deepwalk import DeepWalk
from parge.techniques.sgc import SGC
from parge.techniques.spectral import Spectral
from parge.techniques.whitened import Whitened
from parge.typing import FloatArray, IntArray, Matrix

# Of a graph of fewer vertices with an edge nothing is tried: the first is taken. On twelve kinds of generated graphs
# below that `Blend` has 99.9 % of the best on average, as has what a sample chooses, which would take up to half of the
# embedding's time (`benchmarks/small_graphs_blend.py`).
_TRIED_FROM = 10_000

# The part of a graph that is looked at: an eighth of its vertices and edges, so that the choice takes less than a fifth
# of the embedding's time; of a small graph a quarter, within these bounds. A fifth of its edges is held out, and no
# more than a tenth where that is enough. Half of the columns are computed, more where the sample is most of the graph.
# (On eleven kinds of generated graphs a quarter of the columns made `blend`, whose halves have an eighth each, look
# worse than it was.)
_SHARE, _SMALL_SHARE, _COLUMNS = 1 / 8, 1 / 4, 0.5
_LEAST, _SMALL, _MOST = 2_000, 4_000, 100_000
_SMALL_EDGES, _LEAST_DENSE = 35_000, 1_500
_HELD_OUT, _HELD_AT_LEAST, _ENOUGH = 0.2, 0.1, 5_000
_LEAST_DIM, _LEAST_HELD, _SMALLER = 32, 20, 0.7

# Rounds of the trial, and how far its eigenvectors settle: a sample has shorter ways than its graph, and both are for
# comparison alone (`benchmarks/auto_trials.py`).
_ROUNDS, _ROUGHLY = 12, 0.2

SMALL = f"it was the best or nearly on every kind of graph under {_TRIED_FROM:,} vertices, so none was tried"

# A technique is preferred to the first one if it is better by more than chance, and by more than this.
# (Two deviations leave out more of what is better than one leaves in of what is not: `benchmarks/auto_trials.py`.)
_DEVIATIONS, _CLEARLY, _CHANCE = 1.0, 0.005, 0.5

# Pairs whose rows stay near the core: with 5,000 at once their cosines took nine times as long.
_PAIRS_AT_ONCE = 2_048


@dataclass(frozen=True)
class Auto(Technique, Chooser):
    """The technique that suits the graph, by held-out edges: `parge.Blend`, `parge.Spectral` or `parge.Whitened`.

    Use it if you have no labels to compare techniques by. On the command line: ``--technique auto``.

    A plan with it asks `choose` once, before the graph is decomposed, and runs the chosen technique. A connected sample
    of an eighth of the vertices, a quarter of small graphs, loses up to a fifth of its edges. Each technique embeds the
    rest, with fewer columns and rounds. Its cosines are to separate the lost edges from pairs drawn by degree. Blend is
    taken unless another one is clearly better (`parge.techniques.auto.choose`), and without a trial on graphs under
    10,000 vertices. No label is read. With features in the graph `parge.SGC` is tried as well, however small it is.

    The other techniques are not tried. After their pass over the whole graph LINE, NetMF, ProNE, SGC and the closed
    form are where `parge.Whitened` is, and walks take longer than all else together.

    Parameters
    ----------
    dim : int
        Length of a vector.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> chosen = Auto(dim=8).choose(ring_of_cliques(4, 5))
    >>> chosen.technique.name, chosen.choice.because
    ('blend', 'it was the best or nearly on every kind of graph under 10,000 vertices, so none was tried')
    """

    name: ClassVar[str] = "auto"
    leaves_nothing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim")

    def candidates(self, graph: Graph | None = None) -> tuple[Technique, ...]:
        """Return the techniques that it may choose; the first is taken in case of doubt."""
        usual = (Blend(dim=self.dim), Spectral(dim=self.dim), Whitened(dim=self.dim))
        return usual if graph is not None and graph.features is None else (*usual, SGC(dim=self.dim))

    def around_landmarks(self) -> Technique:
        """Return the technique that keeps its scores in parts without a pass (docs/measured/quality.md)."""
        return DeepWalk(dim=self.dim)

    def choose(self, graph: Graph, seed: int = 0, among: Sequence[Technique] = ()) -> Chosen:
        """Return the technique for a graph."""
        return choose(graph, among or self.candidates(graph), seed)

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return the vectors of the technique for this subgraph; a plan chooses once for all subgraphs."""
        chosen = self.choose(subgraph.graph, int(rng.integers(2**31))).technique
        return chosen.embed(subgraph, rng, progress=progress)

    def footprint(self) -> Footprint:
        """Return the bound of the largest candidate, and the sample."""
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
    """Return the candidate that separates held-out edges of a sample from other pairs best; in doubt the first one.

    Parameters
    ----------
    graph : Graph
        The graph that is to be embedded.
    candidates : sequence of Technique
        Another than the first is chosen only where its ROC-AUC is above chance (.5) and higher by .005, and by a
        standard deviation of the difference (DeLong et al., 1988).
    seed : int
        Same seed, same choice.
    """
    first = candidates[0]
    if len(candidates) == 1:
        return Chosen(first, TechniqueChoice(first.name, "it is the only one that this plan allows"))
    if graph.features is None and isinstance(first, Blend) and int((graph.degrees > 0).sum()) < _TRIED_FROM:
        return Chosen(first, TechniqueChoice(first.name, SMALL))
    rng = keyed_rng(seed, "choose")
    sample = _sample(graph, rng)
    n_held = min(round(_HELD_OUT * sample.n_edges), max(_ENOUGH, round(_HELD_AT_LEAST * sample.n_edges)))
    if n_held < _LEAST_HELD:
        return Chosen(first, TechniqueChoice(first.name, "the graph is too small to compare techniques"))
    if sample.n_edges == sample.n_vertices * (sample.n_vertices - 1) // 2:
        return Chosen(first, TechniqueChoice(first.name, "every pair of the sample is an edge"))
    train, edges = remove_edges(sample, n_held, rng)
    others = by_degree(train, edges, int(rng.integers(2**31)))
    share = sample.n_vertices / max(1, graph.n_vertices)
    narrow = [_narrow(technique, share) for technique in candidates]
    tested = [_tested(vectors, train, edges, others) for vectors in _embedded(narrow, train)]
    tried = tuple(
        Tried(technique.name, round(float(test.above.mean()), 4))
        for technique, test in zip(candidates, tested, strict=True)
    )
    better = [i for i, test in enumerate(tested) if _is_better(test, tested[0])]
    best = max(better, key=lambda i: tried[i].roc_auc, default=0)
    because = "it separated held-out edges from other pairs best" if better else _in_doubt(tried)
    choice = TechniqueChoice(candidates[best].name, because, tried, sample.n_vertices, n_held)
    return Chosen(candidates[best], choice)


def _sample(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return a part of the graph that is close together; with fewer vertices where walks meet hubs and many edges."""
    at_most = max(_SMALL_EDGES, int(_SHARE * graph.n_edges))
    small = max(_LEAST, min(int(_SMALL_SHARE * graph.n_vertices), _SMALL))
    wanted = min(_MOST, max(small, int(_SHARE * graph.n_vertices)))
    while True:
        sample = induce(graph, connected_sample(graph, wanted, rng), np.zeros(0, np.int64)).graph
        if sample.n_edges <= at_most or wanted <= _LEAST_DENSE:  # walks may bring a few vertices more than are wanted
            return sample
        # In a dense core the edges of a sample grow with the square of its vertices.
        smaller = min(_SMALLER, (at_most / sample.n_edges) ** 0.5)
        wanted = max(_LEAST_DENSE, int(smaller * min(wanted, sample.n_vertices)))


def _in_doubt(tried: Sequence[Tried]) -> str:
    """Return why the first one is taken."""
    if max(each.roc_auc for each in tried) <= _CHANCE:
        return "nothing separated held-out edges from other pairs better than chance"
    if tried[0].roc_auc >= max(each.roc_auc for each in tried):
        return "it separated held-out edges from other pairs best"
    return "no other separated held-out edges from other pairs clearly better"


class _Rough(Spectral):
    """Spectral vectors that settle less: good enough to compare by."""

    tolerance: ClassVar[float] = _ROUGHLY


def _narrow(technique: Technique, share: float) -> Technique:
    """Return the technique with as many columns and rounds as suit a share of the vertices."""
    dim = min(technique.dim, max(_LEAST_DIM, int(max(_COLUMNS, share) * technique.dim)))
    if isinstance(technique, Blend | Whitened):
        return replace(technique, dim=dim, rounds=min(technique.rounds, _ROUNDS))
    return _roughly(replace(technique, dim=dim))


def _roughly(technique: Technique) -> Technique:
    return _Rough(technique.dim, technique.regularisation) if type(technique) is Spectral else technique


def _embedded(techniques: Sequence[Technique], train: Graph) -> list[FloatArray]:
    """Return the vectors of each technique; a blend shares first columns of `Spectral`'s and of `Whitened`'s start."""
    whole = Subgraph.whole(train)
    drawn = {each.seed: each.start(whole) for each in techniques if type(each) is Whitened and train.features is None}
    known = {each: _alone(each, whole, drawn) for each in techniques if not isinstance(each, Blend)}
    return [known[each] if each in known else _blended(each, whole, known, drawn) for each in techniques]


def _alone(technique: Technique, whole: Subgraph, drawn: Mapping[int, FloatArray]) -> FloatArray:
    if type(technique) is Whitened and technique.seed in drawn:
        return technique.embed_from(drawn[technique.seed][:, : technique.dim].copy(), whole)
    return technique.embed(whole, np.random.default_rng(0))


def _blended(
    technique: Technique, whole: Subgraph, known: Mapping[Technique, FloatArray], drawn: Mapping[int, FloatArray]
) -> FloatArray:
    if isinstance(technique, Blend):
        wider = _roughly(replace(technique.spectral, dim=technique.dim))
        if wider in known:
            return technique.with_spectral(known[wider], whole, drawn.get(technique.seed))
    return technique.embed(whole, np.random.default_rng(0))


class _Test(NamedTuple):
    """For every held-out edge, the share of other pairs below it; for every other pair, the share of edges above it."""

    above: Matrix
    below: Matrix


def _tested(vectors: FloatArray, train: Graph, edges: IntArray, others: IntArray) -> _Test:
    if train.features is None:
        vectors[train.degrees == 0] = 0.0
    rows = unit(np.asarray(vectors, np.float64))
    # What differs by rounding is equal on every processor.
    alike, apart = (_cosines(rows, pairs).round(6) for pairs in (edges, others))
    return _Test(*_shares(alike, apart))


def _cosines(rows: Matrix, pairs: IntArray) -> Matrix:
    """Return the cosines of pairs of rows of length 1; each row was scaled once, not with every pair that it is in."""
    found = np.empty(len(pairs))
    for some in row_blocks(len(pairs), _PAIRS_AT_ONCE):
        found[some] = np.einsum("ij,ij->i", rows[pairs[some, 0]], rows[pairs[some, 1]])
    return found


def _shares(alike: Matrix, apart: Matrix) -> tuple[Matrix, Matrix]:
    """Return which share of `apart` is below each of `alike`, and which of `alike` above each of `apart`.

    Equal ones count half.
    """
    orders = [np.argsort(scores) for scores in (alike, apart)]
    one, other = (scores[order] for scores, order in zip((alike, apart), orders, strict=True))
    below = np.empty(one.size), np.empty(other.size)
    # Scores that are looked for in ascending order are found faster.
    for out, order, scores, others in zip(below, orders, (one, other), (other, one), strict=True):
        places = np.searchsorted(others, scores, "left") + np.searchsorted(others, scores, "right")
        out[order] = places / (2.0 * max(1, others.size))
    return below[0], 1.0 - below[1]


def _is_better(test: _Test, first: _Test) -> bool:
    """Return whether a technique is clearly better than the first one, and better than chance."""
    if test.above.mean() <= _CHANCE:
        return False
    gain = float(test.above.mean() - first.above.mean())
    variance = sum(float(np.var(a - b)) / max(1, a.size - 1) for a, b in zip(test, first, strict=True))
    return bool(gain > max(_CLEARLY, _DEVIATIONS * variance**0.5))

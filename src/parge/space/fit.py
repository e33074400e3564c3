"""What is seen of a space: whether vertices are where their neighbours expect them, and rank edges held out."""

from dataclasses import dataclass

import numpy as np

from parge.graph.graph import Graph
from parge.linalg.tall import unit
from parge.linalg.threads import one_blas_thread
from parge.seeds import keyed_rng
from parge.space.learned import LearnedRound, entries, inverse, neighbour_means, unit_of, weighted_sums
from parge.storage import row_blocks
from parge.typing import FloatArray, IntArray, Matrix

# Vertices that are looked at, and their neighbours in all, at most.
_SAMPLED, _PAIRS = 2_000, 1 << 16

# Neighbours that are looked at together.
_AT_ONCE = 1 << 13


@dataclass(frozen=True)
class Fit:
    """What is seen of some vertices, with standard errors."""

    alike: float = 1.0  # mean cosine of a vertex with where its neighbours expect it
    links: float = 1.0  # ROC-AUC of edges held out, by vectors placed from the other edges
    alike_error: float = 0.0
    links_error: float = 0.0


def measure_fit(vectors: FloatArray, graph: Graph, learned: LearnedRound, lengths: Matrix) -> Fit:
    """Look at some vertices with two edges or more; the same ones for the same graph."""
    degrees = np.diff(graph.indptr)
    able = np.flatnonzero((degrees >= 2) & (lengths > 0))
    drawn = keyed_rng(0, "drift").permutation(able)[:_SAMPLED]
    some = np.sort(drawn[: int(np.searchsorted(np.cumsum(degrees[drawn]), _PAIRS)) + 1])
    if not some.size:
        return Fit()
    scale = inverse(lengths)
    with one_blas_thread():
        means, _ = neighbour_means(graph, vectors, scale, some)
        alike = np.einsum("ij,ij->i", learned.directions(means).astype(np.float64), unit_of(vectors, scale, some))
        ranks = _held_out(vectors, graph, learned, scale, some)
    n = np.sqrt(some.size)
    return Fit(float(alike.mean()), float(ranks.mean()), float(alike.std() / n), float(ranks.std() / n))


def _held_out(vectors: FloatArray, graph: Graph, learned: LearnedRound, scale: Matrix, some: IntArray) -> Matrix:
    """Return, for each vertex, how often a neighbour held out is nearer than a vertex drawn at random."""
    rng = keyed_rng(0, "held out")
    place, indptr = entries(graph, some)
    row = np.repeat(np.arange(some.size), np.diff(indptr))
    order = np.argsort(row + rng.random(row.size), kind="stable")
    rank = np.arange(row.size) - indptr[:-1][row]
    neighbours = graph.indices[place][order]
    halves = (np.diff(indptr) + 1) // 2
    known = rank < halves[row]
    given = neighbours[known]
    sums = weighted_sums(np.concatenate([[0], np.cumsum(halves)]), given, scale[given], vectors)
    found = unit(learned.directions(sums))
    at, near = row[~known], neighbours[~known]
    far = rng.integers(len(vectors), size=near.size)
    won = np.empty(near.size)
    for few in row_blocks(near.size, _AT_ONCE):
        here = found[at[few]]
        close, distant = (np.einsum("ij,ij->i", here, unit_of(vectors, scale, ends[few])) for ends in (near, far))
        won[few] = (close > distant) + 0.5 * (close == distant)
    return np.bincount(at, won, minlength=some.size) / np.bincount(at, minlength=some.size)

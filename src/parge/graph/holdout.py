"""Edges held out before an embedding, and the pairs that they are compared with: drawn evenly, or by degree."""

from typing import NamedTuple

import numpy as np

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.graph.pairs import contains, edges_once, pair_keys
from parge.ids import positions, show_ids
from parge.numbers import check_number
from parge.seeds import keyed_rng
from parge.show.text import count
from parge.typing import IntArray

# Rounds of drawing by degree before all pairs are looked at, and the most vertices for which they are.
_ROUNDS, _LOOKED_AT = 30, 3000


class HeldOut(NamedTuple):
    """A graph without its held-out edges, those edges, and as many pairs that are edges of neither graph.

    Pairs are vertex numbers, (n_pairs, 2), the lower one first; vertices of `train` are numbered as in the whole.
    """

    train: Graph
    positives: IntArray
    negatives: IntArray


def hold_out(graph: Graph, share: float = 0.5, seed: int = 0) -> HeldOut:
    """Remove a random share of the edges from a graph. Call it before decomposing or embedding.

    Every vertex stays, also those that lose their last edge; ids, features and remaining weights stay too.

    >>> ring = Graph.from_edges(range(6), [1, 2, 3, 4, 5, 0])
    >>> train, positives, negatives = hold_out(ring, share=0.5, seed=1)
    >>> train.n_vertices, train.n_edges, len(positives), len(negatives)
    (6, 3, 3, 3)
    """
    check_number("the share of edges to hold out", share, 0, 1, above=True, below=True)
    n_held = min(max(1, round(share * graph.n_edges)), graph.n_edges - 1)
    if n_held < 1:
        raise InputError(
            f"at least two edges are needed, one to hold out and one to keep; the graph has {graph.n_edges}"
        )
    rng = keyed_rng(seed, "hold out")
    train, positives = remove_edges(graph, n_held, rng)
    keys = keys_of(all_edges(graph), graph.n_vertices)
    return HeldOut(train, positives, non_edges(graph.n_vertices, keys, n_held, rng))


def remove_edges(graph: Graph, count: int, rng: np.random.Generator) -> tuple[Graph, IntArray]:
    """Return the graph without some of its edges, drawn at random, and those edges, (count, 2)."""
    edges = all_edges(graph)
    held = edges[np.sort(rng.choice(len(edges), count, replace=False))]
    return _without(graph, held), held


def given_out(train: Graph, held: Graph, seed: int = 0) -> HeldOut:
    """Return edges that the caller held out of a graph, as `hold_out` would; graphs are matched by vertex id.

    >>> path, edge = Graph.from_edges(["a", "b", "c"], ["b", "c", "d"]), Graph.from_edges(["a"], ["d"])
    >>> given_out(path, edge).positives.tolist()
    [[0, 3]]
    """
    source, target, _ = edges_once(held)
    place = positions(train.outside_ids, held.outside_ids)
    missing = held.outside_ids[place < 0]
    if missing.size:
        raise InputError(
            f"{count(missing.size, 'vertex')} of the held-out edges not in the graph: {show_ids(missing)}. A file of "
            "edges does not name vertices that lost all of theirs. Name them with --vertices (vertices= in Python), "
            "also for parge embed."
        )
    held_keys = np.unique(pair_keys(place[source], place[target], train.n_vertices))
    known = keys_of(all_edges(train), train.n_vertices)
    twice = int(contains(known, held_keys).sum())
    if twice:
        raise InputError(f"{twice:,} of {held_keys.size:,} held-out edges are edges of the graph. Remove them from it.")
    if not held_keys.size:
        raise InputError("there are no held-out edges")
    avoid = np.union1d(known, held_keys)
    negatives = non_edges(train.n_vertices, avoid, held_keys.size, keyed_rng(seed, "hold out"))
    return HeldOut(train, pairs_of(held_keys, train.n_vertices), negatives)


def by_degree(train: Graph, positives: IntArray, seed: int = 0) -> IntArray:
    """Draw as many pairs that are no edges as there are `positives`, both ends in proportion to their degree.

    The degrees are those of the whole graph, held-out edges included. Then the ends of edges and of other pairs have
    the same degrees, and a score cannot win by the degrees alone (Aiyappa et al., ICML 2025). Pairs may repeat.
    """
    n, rng = train.n_vertices, keyed_rng(seed, "hold out by degree")
    degrees = train.degrees + np.bincount(positives.ravel(), minlength=n)
    avoid = np.sort(np.concatenate([keys_of(all_edges(train), n), keys_of(positives, n)]), kind="stable")
    upto = np.cumsum(degrees)
    found = np.zeros(0, np.int64)
    for _ in range(_ROUNDS):
        ends = np.searchsorted(upto, rng.integers(upto[-1], size=(len(positives) + 64, 2)), side="right")
        keys = keys_of(ends[ends[:, 0] != ends[:, 1]], n)
        found = np.concatenate([found, keys[~contains(avoid, keys)]])
        if found.size >= len(positives):
            return pairs_of(found[: len(positives)], n)
    return pairs_of(_looked_up(degrees, avoid, len(positives), rng, found), n)


def _looked_up(degrees: IntArray, avoid: IntArray, wanted: int, rng: np.random.Generator, found: IntArray) -> IntArray:
    """Draw among all pairs of a small graph; of a large one, repeat those that were found."""
    if degrees.size <= _LOOKED_AT:
        u, v = np.triu_indices(degrees.size, 1)
        free = ~contains(avoid, pair_keys(u, v, degrees.size))
        weight = (degrees[u] * degrees[v] * free).astype(np.float64)
        if weight.sum() > 0:
            chosen = rng.choice(u.size, wanted, p=weight / weight.sum())
            return pair_keys(u[chosen], v[chosen], degrees.size)
    if not found.size:
        raise InputError("no pair of vertices with edges is without an edge. Use --negatives uniform.")
    return np.resize(found, wanted)


def all_edges(graph: Graph) -> IntArray:
    """Return every edge once, (n_edges, 2), lower end first, ascending."""
    source, target, _ = edges_once(graph)
    return np.stack([source, target], axis=1).astype(np.int64)


def keys_of(pairs: IntArray, n_vertices: int) -> IntArray:
    """Return one number per pair."""
    return pair_keys(pairs[:, 0], pairs[:, 1], n_vertices)


def pairs_of(keys: IntArray, n_vertices: int) -> IntArray:
    """Return the pairs of such numbers."""
    return np.stack(np.divmod(keys, n_vertices), axis=1).astype(np.int64)


def _without(graph: Graph, held: IntArray) -> Graph:
    """Return the graph less those of its edges, (count, 2)."""
    n = graph.n_vertices
    arcs = np.repeat(np.arange(n) * n, graph.degrees) + graph.indices  # ascending, as rows are sorted
    keep = np.ones(arcs.size, np.bool_)
    for source, target in (held.T, held.T[::-1]):
        keep[np.searchsorted(arcs, source * n + target)] = False
    degrees = graph.degrees - np.bincount(held.ravel(), minlength=n)
    weights = None if graph.weights is None else graph.weights[keep]
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    return Graph(indptr, graph.indices[keep], weights, graph.ids, graph.features)


def non_edges(
    n_vertices: int, avoid: IntArray, wanted: int, rng: np.random.Generator, *, at_most: bool = False
) -> IntArray:
    """Draw distinct pairs that are not among the ascending keys to avoid; fewer, if allowed, where there are fewer."""
    n_free = n_vertices * (n_vertices - 1) // 2 - avoid.size
    if n_free < wanted and not at_most:
        if not n_free:
            raise InputError(
                f"every pair of the {n_vertices:,} vertices is an edge, so no pair is left to compare edges with. "
                "Links can be predicted only where some pairs are no edges."
            )
        raise InputError(
            f"{wanted:,} pairs that are not edges are needed, but a graph of {n_vertices:,} vertices and "
            f"{avoid.size:,} edges has {n_free:,}. Hold out fewer edges."
        )
    wanted = min(wanted, n_free)
    if n_free <= 4 * wanted or n_free <= 1024:
        # Little room: look at every pair once. There are at most four times as many pairs as keys, or hardly any.
        u, v = np.triu_indices(n_vertices, 1)
        free = np.setdiff1d(u * n_vertices + v, avoid, assume_unique=True)
        return pairs_of(np.sort(rng.choice(free, wanted, replace=False)), n_vertices)
    drawn = np.zeros(0, np.int64)
    while drawn.size < wanted:
        ends = rng.integers(n_vertices, size=(wanted + 64, 2))
        keys = keys_of(ends[ends[:, 0] != ends[:, 1]], n_vertices)
        fresh = keys[~contains(avoid, keys)]
        # In the order drawn, so that cutting to size prefers no pair.
        both = np.concatenate([drawn, fresh])
        drawn = both[np.sort(np.unique(both, return_index=True)[1])]
    return pairs_of(np.sort(drawn[:wanted]), n_vertices)

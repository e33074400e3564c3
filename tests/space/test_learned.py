"""The map that places a vertex: learned where there is much to learn from, the mean of the neighbours where not."""

import numpy as np
from tests.space.world import frozen

from parge.graph.graph import Graph
from parge.linalg.tall import unit
from parge.space.learned import _without_own_part, inverse, neighbour_means, row_lengths, unit_of
from parge.space.ridge import RIDGES, chosen_ridge, ridge
from parge.storage import MEMORY


def rows(n: int, seed: int) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((n, 6)).astype(np.float32))


def test_what_was_never_seen_is_left_where_the_neighbours_are() -> None:
    """Of two of six directions nothing is known: there the map is the multiple of the identity that fits the rest."""
    features = rows(2_000, 0)
    features[:, 4:] = 0
    map_ = ridge(features, 0.8 * features, 0.3)
    assert np.allclose(map_[:6], 0.8 * np.eye(6), atol=0.01)
    assert np.allclose(map_[6], 0, atol=0.01)


def test_a_map_that_is_there_is_found_the_more_of_it_the_clearer_it_is() -> None:
    features = rows(4_000, 1)
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((6, 6)))[0].astype(np.float32)
    found = features @ ridge(features, features @ turn, 0.3)[:6]
    assert np.einsum("ij,ij->i", unit(found), features @ turn).mean() > 0.95


def test_the_ridge_is_strong_where_the_mean_is_as_good_and_weak_where_it_is_not() -> None:
    features = rows(4_000, 3)
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((6, 6)))[0].astype(np.float32)
    assert chosen_ridge(features, features) == RIDGES[0]
    assert chosen_ridge(features, features @ turn) < RIDGES[0]


def test_the_learned_map_is_nearer_to_the_vectors_than_the_mean_of_the_neighbours() -> None:
    space = frozen()
    scale = inverse(space.lengths)
    means, _ = neighbour_means(space.graph, space.vectors, scale, np.arange(len(space)))
    own = space.vectors * scale[:, None]
    by_map, by_mean = (
        np.einsum("ij,ij->i", found, own).mean() for found in (space.learned.directions(means), unit(means))
    )
    assert by_map > by_mean


def test_a_ridge_is_chosen_by_the_maps_that_each_gives() -> None:
    """The sums are made once; that changes no map."""
    features = rows(600, 5)
    targets = unit(features @ rows(6, 6) + 0.3 * rows(600, 7))
    found = np.zeros(len(RIDGES))
    for here, there in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        for i, share in enumerate(RIDGES):
            by = ridge(features[here], targets[here], share)
            alike = np.einsum("ij,ij->i", unit(features[there] @ by[:-1] + by[-1]), targets[there])
            found[i] += alike.mean() / 2
    assert chosen_ridge(features, targets) == RIDGES[int(np.argmax(found >= found.max() - 0.01))]


def _naive(graph: Graph, units: np.ndarray, some: list[int], first: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Return the means of neighbours, each without its part of the vertex, pair by pair; only those `used`."""

    def edges(v: int) -> tuple[np.ndarray, np.ndarray]:
        place = slice(graph.indptr[v], graph.indptr[v + 1])
        assert graph.weights is not None
        return graph.indices[place], graph.weights[place].astype(np.float64)

    def direction(row: np.ndarray) -> np.ndarray:
        length = np.linalg.norm(row)
        return row / length if length > 1e-6 else np.zeros_like(row)

    out, place = [], 0
    for v in some:
        near, weights = edges(v)
        counts = weights * used[place : place + near.size]
        place += near.size
        total = np.zeros(units.shape[1])
        for w, share in zip(near, counts / counts.sum(), strict=True):
            others, theirs = edges(w)
            mean = theirs @ units[others] / theirs.sum()
            without = mean - theirs[others == v][0] / theirs.sum() * units[v]
            total += share * (units[w] + (direction(without) - direction(mean)) @ first[:-1])
        out.append(total)
    return np.array(out)


def test_what_a_vertex_gave_to_its_neighbours_is_taken_out_pair_by_pair() -> None:
    """Also of a neighbour that has no other edge, so that nothing is left, and of one that has hardly any other."""
    rng = np.random.default_rng(8)
    drawn = rng.integers(60, size=(400, 2))
    drawn = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)
    source, target = np.concatenate([drawn, [[0, 60], [1, 61], [2, 61]]]).T
    weights = np.concatenate([rng.uniform(0.5, 2, len(drawn)), [1.0, 2000.0, 1.0]])
    graph = Graph.from_edges(source, target, weights)
    vectors = (rows(62, 9) * rng.uniform(0.5, 3, (62, 1))).astype(np.float32)
    scale, some = inverse(row_lengths(vectors)), np.arange(62)
    own, first = unit_of(vectors, scale, some), rows(7, 10)
    plain, _ = neighbour_means(graph, vectors, scale, some)
    used = rng.random(graph.indices.size) < 0.5
    used[graph.indptr[:-1]] = True  # at least one of each
    found = _without_own_part(graph, vectors, scale, some, own, plain, first, used, MEMORY)
    for means, which in zip(found, (np.ones(used.size), used), strict=True):
        naive = _naive(graph, own.astype(np.float64), some.tolist(), first.astype(np.float64), which)
        np.testing.assert_allclose(means, naive, atol=2e-3)
        np.testing.assert_allclose(np.delete(means, 1, axis=0), np.delete(naive, 1, axis=0), atol=1e-5)

"""The map that places a vertex: learned where there is much to learn from, the mean of the neighbours where not."""

import numpy as np
from tests.space.world import frozen

from parge.linalg.tall import unit
from parge.space.learned import inverse, neighbour_means
from parge.space.ridge import RIDGES, chosen_ridge, ridge


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

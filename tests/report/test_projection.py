"""Pictures in the plane: of most variance, comparable with each other, and defined for odd input."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from tests.examples import examples

from parge.errors import InputError, MissingExtraError
from parge.report.projection import SIDE, nearest_rows, pca, project, same_part_share


def rows(n: int = 200, dim: int = 6, seed: int = 0) -> np.ndarray:  # type: ignore[type-arg]
    return (np.random.default_rng(seed).normal(size=(n, dim)) * np.arange(dim, 0, -1)).astype(np.float32)


def none(n: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.zeros(n, np.bool_)


def test_the_plane_is_that_of_most_variance() -> None:
    X = rows()
    plane, share = pca(X, ~none(200))
    reference = PCA(2).fit(X.astype(np.float64))
    np.testing.assert_allclose(np.abs(plane), np.abs(reference.transform(X)), atol=1e-5)
    assert share == pytest.approx(reference.explained_variance_ratio_.sum(), rel=1e-6)


def test_copies_follow_the_plane_of_the_others() -> None:
    X = rows()
    is_copy = none(200)
    is_copy[:20] = True
    far = X.copy()
    far[:20, 5] += 1000  # would be the first axis if they counted
    plane, _ = pca(far, ~is_copy)
    without, _ = pca(X[20:], ~none(180))
    np.testing.assert_allclose(plane[20:], without, atol=1e-4)


def test_views_are_turned_toward_the_last_one() -> None:
    X = rows()
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]
    (found,) = project([(X @ rotation).astype(np.float32), X], none(200))
    assert np.abs(found.views[0] - found.views[1]).max() <= 1
    assert found.name == "PCA"
    assert len(found.explained) == 2


@examples(40)
@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 3), st.integers(0, 100))
def test_every_row_stands_on_the_grid(n: int, dim: int, kind: int, seed: int) -> None:
    X = rows(n, dim, seed)
    X = [X, np.zeros_like(X), np.full_like(X, 3), X * np.float32(1e-30)][kind]
    (found,) = project([X, X[::-1].copy()], none(n))
    for view in found.views:
        assert view.shape == (n, 2)
        assert view.min() >= 0
        assert view.max() <= SIDE
    assert all(0 <= share <= 1 + 1e-9 for share in found.explained)


def test_an_outlier_stands_at_the_edge_and_the_rest_keeps_its_scale() -> None:
    X = rows(2000)
    X[0] *= 1e6
    is_copy = none(2000)
    is_copy[0] = True
    (found,) = project([X], is_copy)
    spread = found.views[0][1:].std(axis=0)
    assert spread.min() > 50
    assert (np.abs(found.views[0][0] - SIDE / 2) > 450).any()


def test_no_rows_are_no_error() -> None:
    (found,) = project([np.zeros((0, 3), np.float32)], none(0))
    assert found.views[0].shape == (0, 2)


def test_an_unknown_or_missing_projection_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"'magic'.*tsne, umap, pca"):
        project([rows(5)], none(5), how="magic")
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(MissingExtraError, match=r"umap-learn.*pip install 'parge\[umap\]'"):
        project([rows(5)], none(5), how="umap")


def test_umap_is_drawn_beside_the_principal_components(monkeypatch: pytest.MonkeyPatch) -> None:
    class FirstColumns:
        def __init__(self, n_neighbors: int, random_state: int) -> None:
            assert n_neighbors < 30
            assert random_state == 0

        def fit_transform(self, X: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
            return X[:, :2]

    monkeypatch.setitem(sys.modules, "umap", type("module", (), {"UMAP": FirstColumns}))
    found = project([rows(30), rows(30, seed=1)], none(30), how="umap")
    assert [projection.name for projection in found] == ["UMAP", "PCA"]
    assert found[0].views[1].shape == (30, 2)


def test_neighbours_stay_together_in_the_picture() -> None:
    """Ten groups in ten dimensions: a plane of most variance mixes them, the picture of neighbours does not."""
    group = np.repeat(np.arange(10), 20)
    X = (np.eye(10)[group] * 5 + np.random.default_rng(0).normal(size=(200, 10))).astype(np.float32)
    steps: list[str] = []
    tsne, variance = project([X], none(200), how="tsne", on_step=steps.append)
    kept = [same_part_share(_centred(found.views[0]), group) for found in (tsne, variance)]
    assert kept[0] is not None
    assert kept[1] is not None
    assert kept[0] > kept[1]
    assert _purity(tsne.views[0], group) > 0.9 > _purity(variance.views[0], group)
    assert len(steps) == 1


def _centred(plane: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return (plane - plane.mean(axis=0)).astype(np.float32)


def _purity(plane: np.ndarray, group: np.ndarray) -> float:  # type: ignore[type-arg]
    """Return the share of the 10 nearest dots, by distance, that are of the same group."""
    far = ((plane[:, None, :] - plane[None, :, :]) ** 2).sum(axis=2).astype(float)
    np.fill_diagonal(far, np.inf)
    nearest = np.argsort(far, axis=1)[:, :10]
    return float((group[nearest] == group[:, None]).mean())


def test_copies_stand_beside_their_neighbours() -> None:
    X = rows(60)
    X = np.vstack([X, X[:5]])
    is_copy = none(65)
    is_copy[60:] = True
    drawn, _ = project([X], is_copy, how="tsne")
    gaps = np.linalg.norm(drawn.views[0][60:] - drawn.views[0][:5], axis=1)
    assert np.median(gaps) < SIDE / 10


def test_too_few_rows_are_drawn_by_variance() -> None:
    assert [found.name for found in project([rows(5)], none(5), how="tsne")] == ["PCA"]


def test_nearest_rows_are_those_of_slow_code() -> None:
    X = rows(600, 5)
    found, cosines = nearest_rows(X, 7)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for i in (0, 17, 599):
        order = [j for j in np.argsort(-(unit @ unit[i])).tolist() if j != i][:7]
        np.testing.assert_allclose(cosines[i], (unit @ unit[i])[order], atol=1e-5)
        assert i not in found[i]


def test_same_part_share_counts_the_nearest() -> None:
    X, part = rows(700, 5), np.random.default_rng(1).integers(3, size=700)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2)
    naive = np.mean([[part[j] == part[i] for j in np.argsort(-cosine[i])[:10]] for i in range(700)])
    assert same_part_share(X, part) == pytest.approx(naive, abs=1e-3)
    assert same_part_share(X[:10], part[:10]) is None

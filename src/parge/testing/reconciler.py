"""Contract tests for reconcilers: subclass `ReconcilerContract` in your tests and set your reconciler."""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.reconcile.base import Map, Reconciler

Rows = NDArray[Any]


def random_rotation(rng: np.random.Generator, dim: int) -> NDArray[np.float64]:
    """Draw an orthogonal matrix."""
    Q, R = np.linalg.qr(rng.standard_normal((dim, dim)))
    return np.asarray(Q * np.sign(np.diagonal(R)))


def inner_products(spaces: Sequence[Rows]) -> NDArray[np.float64]:
    """Return all inner products among the rows of all spaces: they are unchanged only by a common rotation."""
    stacked = np.concatenate([np.asarray(rows, np.float64) for rows in spaces])
    return np.asarray(stacked @ stacked.T)


def agree(one: Rows, other: Rows, tolerance: float) -> bool:
    """Return whether two matrices differ by less than `tolerance`, relative to their size."""
    return float(np.linalg.norm(one - other)) <= tolerance * max(float(np.linalg.norm(other)), 1e-300)


class ReconcilerContract:
    """Laws of `Reconciler`, as tests.

    Inherit, and set `reconciler`. A control that does not undo rotations sets `undoes_rotations` to False.
    """

    reconciler: Reconciler
    undoes_rotations = True

    dim = 6
    n_anchors = 40

    def planted(self, *, noise: float = 0.0, n_spaces: int = 4) -> tuple[list[Rows], list[Rows]]:
        """Return anchor rows of rotated copies of one space, and all rows of each copy (anchors last)."""
        rng = np.random.default_rng(1)
        common = rng.standard_normal((self.n_anchors, self.dim)) * np.linspace(1, 3, self.dim) + 0.5
        anchors, spaces = [], []
        for _ in range(n_spaces):
            own = rng.standard_normal((10, self.dim))
            rows = np.concatenate([own, common + noise * rng.standard_normal(common.shape)])
            rows = rows @ random_rotation(rng, self.dim)
            anchors.append(rows[10:])
            spaces.append(rows)
        return anchors, spaces

    def mapped(self, anchors: list[Rows], spaces: list[Rows]) -> list[Rows]:
        """Return all spaces in the common one."""
        maps = self.reconciler.maps(anchors)
        assert len(maps) == len(anchors), "one map per subgraph"
        return [apply(rows) for apply, rows in zip(maps, spaces, strict=True)]

    def test_planted_rotations_are_undone(self) -> None:
        """Copies of one space, rotated apart, agree again, to many digits."""
        anchors, spaces = self.planted()
        mapped = self.mapped(anchors, spaces)
        together = all(agree(rows[10:], mapped[0][10:], 1e-9) for rows in mapped)
        assert together == self.undoes_rotations

    def test_lengths_are_kept_where_spaces_agree(self) -> None:
        """Undoing a rotation changes no inner product, not even of rows that are no anchors."""
        anchors, spaces = self.planted()
        for before, after in zip(spaces, self.mapped(anchors, spaces), strict=True):
            assert agree(inner_products([after]), inner_products([before]), 1e-9)

    def test_order_of_subgraphs_is_irrelevant(self) -> None:
        """Shuffled subgraphs give the same embedding up to one common rotation."""
        anchors, spaces = self.planted(noise=0.3)
        order = [2, 0, 3, 1]
        straight = self.mapped(anchors, spaces)
        shuffled = self.mapped([anchors[i] for i in order], [spaces[i] for i in order])
        assert agree(inner_products(shuffled), inner_products([straight[i] for i in order]), 1e-6)

    def test_one_subgraph_is_unchanged(self) -> None:
        """There is nothing to reconcile with."""
        anchors, spaces = self.planted(n_spaces=1)
        assert np.array_equal(self.mapped(anchors, spaces)[0], spaces[0])

    def test_no_anchor_leaves_everything_unchanged(self) -> None:
        """There is nothing to reconcile by."""
        _, spaces = self.planted()
        empty = [rows[:0] for rows in spaces]
        for before, after in zip(spaces, self.mapped(empty, spaces), strict=True):
            assert np.array_equal(after, before)

    def test_precision_is_kept(self) -> None:
        """Single precision in, single precision out; and the input is not written to."""
        anchors, spaces = self.planted(noise=0.3)
        single = [rows.astype(np.float32) for rows in spaces]
        copies = [rows.copy() for rows in single]
        for after in self.mapped([rows[10:] for rows in single], single):
            assert after.dtype == np.float32
        assert all(np.array_equal(a, b) for a, b in zip(single, copies, strict=True))
        assert all(rows.dtype == np.float64 for rows in self.mapped(anchors, spaces))

    def test_nothing_is_translated(self) -> None:
        """The origin stays where it is."""
        anchors, _ = self.planted(noise=0.3)
        zero: Rows = np.zeros((3, self.dim))
        for apply in self.reconciler.maps(anchors):
            assert np.abs(apply(zero)).max() == 0

    def test_maps_are_values(self) -> None:
        """A map can be sent elsewhere, maps every row by itself, and comes out the same on every call."""
        anchors, spaces = self.planted(noise=0.3)
        again = self.reconciler.maps(anchors)
        for apply, same, rows in zip(self.reconciler.maps(anchors), again, spaces, strict=True):
            sent: Map = pickle.loads(pickle.dumps(apply))
            assert np.array_equal(sent(rows), apply(rows))
            assert np.array_equal(same(rows), apply(rows))
            assert np.allclose(apply(rows[3:5]), apply(rows)[3:5], rtol=1e-12, atol=1e-12)
            assert apply(rows[:0]).shape == (0, self.dim)

    def test_few_and_poor_anchors_are_survived(self) -> None:
        """One anchor, fewer than dimensions, all at the origin, or all the same: finite maps, lengths kept."""
        anchors, spaces = self.planted()
        same = [np.repeat(rows[:1], len(rows), axis=0) for rows in anchors]
        for poor in ([r[:1] for r in anchors], [r[: self.dim - 1] for r in anchors], [0 * r for r in anchors], same):
            for before, after in zip(spaces, self.mapped(poor, spaces), strict=True):
                assert np.isfinite(after).all()
                assert agree(inner_products([after]), inner_products([before]), 1e-9)

    def test_the_reconciler_is_a_value(self) -> None:
        """It can be pickled, and has a name."""
        assert pickle.loads(pickle.dumps(self.reconciler)) == self.reconciler
        assert self.reconciler.name

import numpy as np
import pytest
from tests.kernels import naive

from parge.kernels import splitmix


def test_mixing_equals_the_published_splitmix64() -> None:
    # First outputs of the reference implementation for the state 1234567.
    state, found = 1234567, []
    for _ in range(3):
        state = (state + naive.GOLDEN) & naive.MASK
        found.append(int(splitmix.mix(np.uint64(state))))
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_keys_equal_their_twin_and_differ() -> None:
    items = np.arange(1000, dtype=np.int32)
    keys = [splitmix.item_keys(np.uint64(7), group, items) for group in range(3)]
    assert keys[2][5] == naive.item_key(7, 2, 5)
    assert np.unique(np.concatenate(keys)).size == 3000


def test_keys_belong_to_items_not_to_their_order() -> None:
    items = np.array([5, 9, 2])
    assert splitmix.item_keys(np.uint64(1), 0, items)[::-1].tolist() == (
        splitmix.item_keys(np.uint64(1), 0, items[::-1].copy()).tolist()
    )


@pytest.mark.parametrize("bound", [1, 2, 3, 1000, 2**31, 2**32])
def test_below_stays_below(bound: int) -> None:
    top = np.uint64(2**32 - 1)
    assert splitmix.below(np.uint64(0), bound) == 0
    assert splitmix.below(top, bound) == bound - 1


def test_uniform_rows_equal_their_twin_and_leave_padding_zero() -> None:
    table = np.ones((6, 16), np.float32)
    splitmix.fill_uniform(np.uint64(3), 0.05, 10, table)
    np.testing.assert_allclose(table, naive.uniform_rows(3, 0.05, 10, 6, 16), atol=1e-8)
    assert not table[:, 10:].any()


def test_uniform_rows_are_uniform() -> None:
    table = np.empty((2000, 16), np.float32)
    splitmix.fill_uniform(np.uint64(3), 0.5, 16, table)
    counts, _ = np.histogram(table, bins=20, range=(-0.5, 0.5))
    assert counts.sum() == table.size
    assert ((counts - 1600.0) ** 2 / 1600.0).sum() < 50  # chi-square, 19 degrees of freedom: p < 1e-4

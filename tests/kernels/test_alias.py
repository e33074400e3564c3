import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.kernels import naive

from parge.kernels import walks


@examples(100)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda mass: sum(mass) > 1e-3))
def test_table_holds_the_distribution(mass: list[float]) -> None:
    table = walks.alias_table(np.array(mass))
    np.testing.assert_allclose(naive.alias_probabilities(table), np.array(mass) / sum(mass), atol=1e-8)


def test_items_without_mass_are_never_drawn() -> None:
    mass = np.array([0.0, 2.0, 0.0, 0.0, 1.0, 0.0])
    items = walks.draw_items(walks.alias_table(mass), np.arange(20_000, dtype=np.uint64))
    assert set(items.tolist()) == {1, 4}
    assert (items == 1).mean() == pytest.approx(2 / 3, abs=0.015)


def test_draws_equal_their_twin() -> None:
    table = walks.alias_table(np.arange(1.0, 30.0))
    keys = np.arange(500, dtype=np.uint64)
    twin = [naive.draw_item(table, next(naive.stream(int(key), naive.START))) for key in keys]
    assert walks.draw_items(table, keys).tolist() == twin

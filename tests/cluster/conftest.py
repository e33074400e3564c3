"""Graphs of tests are small: blocks and slices of a few arcs, so that there is more than one."""

from collections.abc import Iterator

import pytest

from parge.cluster import improvement, rows


@pytest.fixture(autouse=True, scope="module")
def few_at_a_time() -> Iterator[None]:
    """Work in small pieces in this process; processes that tests start work in large ones, to the same bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "BLOCK", 7)
        patch.setattr(rows, "_LEAST_SLICE", 5)
        patch.setattr(improvement, "_ROWS", 3)
        yield

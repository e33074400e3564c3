"""Graphs of tests are small: blocks and slices of a few arcs, so that there is more than one."""

from collections.abc import Iterator

import pytest

from parge.cluster import cutting, improvement, ingest, rows, split, subgraphs


@pytest.fixture(autouse=True, scope="module")
def few_at_a_time() -> Iterator[None]:
    """Work in small pieces in this process; processes that tests start work in large ones, to the same bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "BLOCK", 7)
        patch.setattr(rows, "_LEAST_SLICE", 5)
        patch.setattr(improvement, "_ROWS", 3)
        patch.setattr(ingest, "_LEAST_PIECE", 64)
        patch.setattr(cutting, "_ARCS", 9)
        patch.setattr(cutting, "BLOCK", 4)
        patch.setattr(subgraphs, "_ARCS", 9)
        patch.setattr(subgraphs, "BLOCK", 4)
        patch.setattr(subgraphs, "_ENTRIES", 9)
        yield


@pytest.fixture(autouse=True, scope="module")
def merged_early(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have graphs of some hundred vertices merged before they are split, where a module says so."""
    with pytest.MonkeyPatch.context() as patch:
        if getattr(request.module, "MERGED_EARLY", False):
            patch.setattr(split, "_GROUPS_A_PART", split._FEWEST_A_PART)
        yield

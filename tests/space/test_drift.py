"""A new space has not drifted; the more changes, the farther it is from a fresh one."""

from pathlib import Path

import numpy as np
import pytest
from tests.space.world import frozen, pairs

from parge.space.aging import Drift
from parge.space.drift import drift
from parge.space.update import update


def test_a_new_space_is_fresh() -> None:
    found = drift(frozen())
    assert (found.drift, found.error, found.advice) == (0.0, 0.0, "as fresh")


def test_drift_grows_with_what_changed() -> None:
    later = pairs(new=True)
    found = [drift(frozen(), later[:count]).drift for count in (20, 200, len(later))]
    assert 0 < found[0] < found[1] < found[2] <= 1


def test_edges_given_mean_the_drift_after_an_update() -> None:
    later, gone = pairs(new=True), pairs(new=False)[:50]
    assert drift(frozen(), later, gone) == drift(update(frozen(), later, gone).space)


def test_a_space_of_another_graph_is_to_be_embedded_again() -> None:
    """All edges replaced by drawn ones: nothing that the space knows is true any more."""
    rng = np.random.default_rng(1)
    drawn = rng.integers(len(frozen()), size=(len(pairs(new=False)), 2))
    found = drift(frozen(), drawn[drawn[:, 0] != drawn[:, 1]], pairs(new=False))
    assert found.advice == "embed again"
    assert found.drift > 0.3
    assert found.error > 0


@pytest.mark.parametrize("key", ["drift", "error", "advice", "placed", "edges", "stale", "residual", "links"])
def test_the_json_says_what_it_was_estimated_from(key: str) -> None:
    assert key in drift(frozen(), pairs(new=True)).to_json()


def test_what_an_update_leaves_out_is_stale() -> None:
    """Where no old vertex moves, the change of their edges is not taken into account; where all move, it is."""
    still, moved = (update(frozen(), pairs(new=True), threshold=threshold).space for threshold in (10.0, 0.0))
    assert drift(still).stale > 0.05
    assert drift(moved).stale == 0.0
    assert still.history.ages[-1].version == 2
    assert still.history.ages[-1].drift == pytest.approx(drift(still).drift, abs=1e-3)


def test_the_words_have_one_sign() -> None:
    """A loss is said as one: no plus here and minus there, and no minus zero."""
    lost = Drift(drift=0.1, error=0.02, placed=0.1, edges=0.1, stale=0.0, residual=0.007, links=0.0416)
    assert "residual 0.007, held-out edges ranked 4.2% worse" in str(lost)
    fresh = str(drift(frozen()))
    assert "ranked as well as at first" in fresh
    assert not any(sign in str(found) for found in (lost, fresh) for sign in ("-0", "+", " -"))


def test_the_page_of_json_lists_every_key_of_drift() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/json.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith("| `parge drift`"))
    assert all(f"`{key}`" in line for key in drift(frozen()).to_json())

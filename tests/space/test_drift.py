"""A new space has not drifted; the more changes, the farther it is from a fresh one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.space.world import frozen, pairs

from parge.space import aging
from parge.space.aging import Drift
from parge.space.drift import drift
from parge.space.frozen import History
from parge.space.update import update


def test_a_new_space_is_fresh() -> None:
    found = drift(frozen())
    assert (found.drift, found.error, found.advice) == (0.0, 0.0, "as fresh")


def test_the_distance_grows_with_what_changed() -> None:
    """The drift does, too, but for what a sample of 340 vertices does not see."""
    later = pairs(new=True)
    found = [drift(frozen(), later[:count]) for count in (20, 200, len(later))]
    assert 0 < found[0].distance < found[1].distance < found[2].distance <= 1
    assert all(0 < each.drift < each.distance + each.error for each in found)


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


def test_unrelated_vectors_have_drifted_all_the_way() -> None:
    """Whatever edges say: where no vector fits its vertex, all is lost that was told."""
    grown = update(frozen(), pairs(new=True)).space
    noise = np.random.default_rng(0).standard_normal(grown.vectors.shape).astype(np.float32)
    found = drift(replace(grown, vectors=noise))
    assert found.communities > 0.8
    assert found.drift > 0.5
    assert found.advice == "embed again"


def test_where_hardly_anything_changed_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One edge costs no look at communities: the drift is next to nothing, and not that of a sample."""
    monkeypatch.setattr(aging, "measure_communities", None)
    found = drift(frozen(), pairs(new=True)[:1])
    assert 0 < found.drift < 0.01
    assert found.advice == "as fresh"
    assert found.communities == 0


def test_what_a_new_space_tells_less_is_no_drift() -> None:
    """A technique may tell little from the start: it is compared with itself."""
    grown = update(frozen(), pairs(new=True)).space
    poor = replace(grown, history=replace(grown.history, communities=0.5))
    rich = replace(grown, history=replace(grown.history, communities=1.5))
    assert drift(poor).communities <= drift(grown).communities < drift(rich).communities


def test_a_space_older_than_this_number_has_a_drift() -> None:
    grown = update(frozen(), pairs(new=True)).space
    body = grown.history.to_json()
    del body["told"], body["told_weight"]
    found = drift(replace(grown, history=History.from_json(body)))
    assert 0 < found.drift < 1


def test_the_loss_that_a_distance_suggests_grows_from_none_to_all() -> None:
    found = [aging.suggested_loss(distance) for distance in np.linspace(0, 1, 11)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0.0, 1.0)


KEYS = ["drift", "error", "advice", "communities", "distance", "placed", "edges", "stale", "residual", "links"]


@pytest.mark.parametrize("key", KEYS)
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
    seen = {"placed": 0.1, "edges": 0.1, "stale": 0.0, "residual": 0.007, "links": 0.0416}
    lost = Drift(drift=0.1, error=0.02, communities=0.11, distance=0.2, **seen)
    words = "distance 0.200, residual 0.007, communities named 11.0% worse, held-out edges ranked 4.2% worse"
    assert words in str(lost)
    fresh = str(drift(frozen()))
    assert "named as well as by a fresh copy" in fresh
    assert "ranked as well as at first" in fresh
    assert not any(sign in str(found) for found in (lost, fresh) for sign in ("-0", "+", " -"))


def test_the_page_of_json_lists_every_key_of_drift() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/json.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith("| `parge drift`"))
    assert all(f"`{key}`" in line for key in drift(frozen()).to_json())

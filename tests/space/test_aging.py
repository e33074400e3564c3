"""Updates look at the drift from time to time, and note in between what was found at the last look."""

from dataclasses import replace

import numpy as np
import pytest
from tests.space.world import N_OLD, frozen, pairs

from parge.space import aging
from parge.space.aging import LOOK_AFTER, drift_now, unseen_changes
from parge.space.drift import drift
from parge.space.frozen import Age, History, Space
from parge.space.update import update

N_EDGES = len(pairs(new=False))


def chain(steps: int, share: float = 0.01) -> list[Space]:
    """Return the versions of a space in which each update removes that share of the first edges."""
    count, found = round(share * N_EDGES), [frozen()]
    for step in range(steps):
        found.append(update(found[-1], removed=pairs(new=False)[step * count : (step + 1) * count]).space)
    return found


def test_looks_are_so_many_changed_edges_apart() -> None:
    spaces = chain(12)
    looks = [age.version for age in spaces[-1].history.looks]
    assert 2 <= len(looks) <= 3
    for space in spaces[1:]:
        age = space.history.ages[-1]
        assert age.version == space.history.version
        assert age.looked_at == max([1, *(version for version in looks if version <= age.version)])
        assert (unseen_changes(space) == 0) == (age.version in looks)
        assert unseen_changes(space) < LOOK_AFTER


def test_a_look_finds_what_drift_finds_and_later_versions_keep_it() -> None:
    spaces = chain(12)
    first = spaces[-1].history.looks[0].version
    looked, *others = spaces[first - 1 :]
    noted, found = looked.history.ages[-1], drift_now(looked)
    assert noted.drift == pytest.approx(found.drift, abs=1e-4)
    assert noted.error == pytest.approx(found.error, abs=1e-4)
    assert noted.error > 0
    later = [space.history.ages[-1] for space in others if space.history.ages[-1].looked_at == first]
    assert later
    assert all((age.drift, age.error) == (noted.drift, noted.error) for age in later)
    assert all(age.edges > noted.edges for age in later)  # these are of the version itself


def test_an_update_that_does_not_look_costs_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aging, "measure_fit", None)
    monkeypatch.setattr(aging, "measure_communities", None)
    found = update(frozen(), removed=pairs(new=False)[:20])
    assert found.to_json()["drift"] == 0.0  # that of the new space
    assert found.to_json()["drift_version"] == 1
    assert found.to_json()["version"] == 2


def test_many_edges_at_once_are_looked_at() -> None:
    found = update(frozen(), pairs(new=True))
    assert found.age.looked_at == found.space.history.version == 2
    assert found.age.drift == pytest.approx(drift(found.space).drift, abs=1e-4)


def test_drift_looks_once_and_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the last update did not, and once for edges that are given, however many."""
    looks: list[int] = []

    def counted(*args: object) -> object:
        looks.append(1)
        return measured(*args)  # type: ignore[arg-type]

    measured = aging.measure_fit
    still = update(frozen(), removed=pairs(new=False)[:20]).space
    monkeypatch.setattr(aging, "measure_fit", counted)
    assert drift(still).drift > 0
    assert len(looks) == 1
    drift(still, pairs(new=True))
    assert len(looks) == 2


def test_edges_that_are_all_replaced_again_and_again_are_looked_at_each_time() -> None:
    """More edges changed than there are: a share of all that is 1 at most would not tell."""
    space, here = frozen(), pairs(new=False)
    for _ in range(3):
        space = update(space, here[:600], here[600:]).space
        space = update(space, here[600:]).space
    assert space.history.changed > space.graph.n_edges
    assert len(space.history.looks) == 6


def as_written_by_0_4_0(history: History) -> History:
    """Return a history that was written and read without what that version did not know."""
    body = history.to_json()
    del body["looked"]
    for age in body["ages"]:
        del age["seen"]
    return History.from_json(body)


def test_a_space_of_0_4_0_goes_on_from_its_last_update() -> None:
    """Every update looked then: the drift is that of the last version, and nothing is unseen."""
    grown = update(frozen(), pairs(new=True)).space
    old = replace(grown, history=as_written_by_0_4_0(grown.history))
    assert old.history.looked == old.history.changed > 0
    assert [age.looked_at for age in old.history.ages] == [2]
    later = update(old, removed=pairs(new=False)[:20]).space
    assert later.history.ages[-1].looked_at == 2
    assert later.history.ages[-1].drift == grown.history.ages[-1].drift
    assert as_written_by_0_4_0(frozen().history) == frozen().history


def test_a_distance_of_0_3_0_is_not_taken_for_a_drift() -> None:
    noted = Age(version=2, placed=0.1, edges=0.01, drift=0.4, error=0.1)
    was = replace(frozen().history, version=2, changed=30, ages=(noted,))
    old = replace(frozen(), history=as_written_by_0_4_0(was))
    assert old.history.looked == 0
    assert old.history.looks == ()
    later = update(old, removed=pairs(new=False)[:20]).space
    assert (later.history.ages[-1].drift, later.history.ages[-1].looked_at) == (0.0, 1)
    assert update(later, removed=pairs(new=False)[20:120]).space.history.looks[-1].version == 4


def test_the_same_chain_notes_the_same() -> None:
    one, two = chain(6, 0.02)[-1], chain(6, 0.02)[-1]
    assert one.history == two.history
    assert np.array_equal(one.vectors, two.vectors)
    assert len(one) == N_OLD

"""Times of a plan: products of constants, scaled by the speed of this machine, and scheduled on its workers."""

from dataclasses import replace

import pytest

from parge.estimate import constants, local
from parge.estimate.local import Crew, Load, makespan, project
from parge.techniques.deepwalk import DeepWalk
from parge.techniques.netmf import NetMF
from parge.techniques.prone import ProNE

LOADS = (Load(40_000, 50_000, 300_000), Load(30_000, 40_000, 200_000), Load(20_000, 30_000, 100_000))
CREW = Crew(at_once=2, refine="whiten")


def test_a_slower_machine_takes_longer_in_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    one = project(DeepWalk(), 90_000, 600_000, LOADS, CREW)
    monkeypatch.setattr(local, "slowness", lambda: 2.5)
    slow = project(DeepWalk(), 90_000, 600_000, LOADS, CREW)
    assert one is not None
    assert slow is not None
    assert slow.total == pytest.approx(2.5 * one.total)
    assert slow.whole == pytest.approx(2.5 * one.whole)
    assert slow.workers == pytest.approx([2.5 * took for took in one.workers])


def test_larger_loads_take_longer() -> None:
    found = project(ProNE(), 90_000, 600_000, LOADS, CREW)
    assert found is not None
    assert list(found.workers) == sorted(found.workers, reverse=True)


def test_workers_that_start_by_themselves_take_longer_than_forked_ones_and_those_than_none() -> None:
    start, fork = constants()["start"].value, constants()["fork"].value
    here, forked, started = (
        project(ProNE(), 90_000, 600_000, LOADS, replace(CREW, at_once=1, begins=begins))
        for begins in (None, "fork", "start")
    )
    assert here is not None
    assert forked is not None
    assert started is not None
    assert forked.workers == pytest.approx([took + fork for took in here.workers])
    assert started.workers == pytest.approx([took + start for took in here.workers])
    assert forked.total == pytest.approx(here.total + start + 3 * fork)
    assert started.total == pytest.approx(here.total + 3 * start)
    assert forked.whole == pytest.approx(here.whole + start + fork)


def test_a_pass_is_counted_for_parts_and_for_the_whole_graph() -> None:
    plain, whitened, settled = (
        project(DeepWalk(), 90_000, 600_000, LOADS, replace(CREW, refine=name)) for name in ("none", "whiten", "settle")
    )
    assert plain is not None
    assert whitened is not None
    assert settled is not None
    assert plain.total < whitened.total < settled.total
    assert plain.whole < whitened.whole < settled.whole


def test_workers_around_landmarks_walk_less_than_those_without() -> None:
    around = [replace(load, around_landmarks=True) for load in LOADS]
    plain, short = (project(DeepWalk(), 90_000, 600_000, loads, CREW) for loads in (LOADS, around))
    assert plain is not None
    assert short is not None
    assert max(short.workers) < min(plain.workers)


def test_techniques_that_were_not_measured_and_graphs_without_edges_have_no_times() -> None:
    assert project(NetMF(), 90_000, 600_000, LOADS, CREW) is None
    assert project(DeepWalk(), 3, 0, [Load(3, 3, 0)], CREW) is None


@pytest.mark.parametrize(("at_once", "expected"), [(1, 9.0), (2, 5.0), (3, 4.0), (9, 4.0)])
def test_workers_are_scheduled_longest_first(at_once: int, expected: float) -> None:
    assert makespan([2.0, 3.0, 4.0], at_once) == expected

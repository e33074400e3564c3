"""What a run in shards would take, from one pass of counts: `parge plan FOLDER --sharded`."""

from dataclasses import dataclass, replace
from typing import Any

from parge.cluster.counting import counted
from parge.cluster.ingest import Counts
from parge.cluster.plan_checks import checked_plan
from parge.cluster.run import aim_of
from parge.cluster.source import Source
from parge.errors import InfeasibleError, InputError
from parge.estimate import Question, estimate
from parge.estimate.speed import slowness
from parge.estimate.stages import Stage
from parge.memory import format_bytes
from parge.planning.decision import decide
from parge.planning.plan import Plan

# Counts are within this many standard errors in 997 of 1,000 cases.
_ERRORS = 3


@dataclass(frozen=True)
class Forecast:
    """What a run in shards would take."""

    # About how many the graph has.
    vertices: int
    edges: int
    error: float  # how far off these may be, as a share; 0 where they were counted exactly
    shards: int  # how many processes share the graph
    anchors: int  # vertices that all parts share
    # The share of edges that no part holds, at least and at most. The most is what parts drawn at random lose.
    lost_edges: tuple[float, float]
    stages: tuple[Stage, ...]  # time, memory, disk and network of each, on this machine's cores
    memory: int | None = None  # bytes of the smallest worker, if workers are limited
    start: float = 0.0  # seconds in which processes start

    @property
    def seconds(self) -> float:
        """The start of processes and all stages, one after the other."""
        return self.start + sum(stage.seconds for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "stages": [vars(stage) for stage in self.stages], "seconds": self.seconds}


def forecast(source: Source, plan: Plan) -> Forecast:
    """Count once, and return what the run would take; raise `InfeasibleError` where it cannot fit."""
    resolved = checked_plan(replace(plan, coordinator_memory=None))
    found, shards = counted(source), resolved.n_parts
    if found.edges == 0:
        raise InputError(
            "the files have no edge between two vertices, so there is nothing to split. Check --source and --target."
        )
    decision = decide(Counts(found.vertices, found.edges), resolved.request)
    anchors, budgets = aim_of(decision).n_anchors, decision.limits.budgets
    smallest = None if budgets is None else int(budgets.min())
    question = Question(vertices=found.vertices, edges=found.edges, workers=shards)
    scale, expected = slowness(), estimate(question, resolved.technique, sharded=True)
    stages = tuple(
        replace(
            stage, seconds=stage.seconds + (scale - 1) * stage.core_seconds, core_seconds=scale * stage.core_seconds
        )
        for stage in expected.stages
    )
    if smallest is not None:
        _check_fits(stages, smallest, shards)
    most = (1 - 1 / shards) * (1 - found.share_of_largest(anchors / max(1, found.vertices))) ** 2
    error, start = _ERRORS * found.error, scale * expected.start
    return Forecast(found.vertices, found.edges, error, shards, anchors, (0.0, most), stages, smallest, start)


def _check_fits(stages: tuple[Stage, ...], limit: int, shards: int) -> None:
    largest = max(stages, key=lambda stage: stage.memory)
    if largest.memory > limit:
        raise InfeasibleError(
            f"a shard needs about {format_bytes(largest.memory)} in the stage {largest.name!r}, and the smallest of "
            f"{shards} workers has {format_bytes(limit)}. Use more workers, or larger ones."
        )

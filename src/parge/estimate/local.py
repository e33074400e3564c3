"""How long the run of a plan takes: each worker, all of it, and the whole graph on one worker instead.

Where `stages` imagines parts, here their sizes are known. Seconds are those of a core at work on a machine as fast as
this one; disks and networks are not waited for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace

from parge.estimate.constants import Constant, constants
from parge.estimate.question import Question
from parge.estimate.speed import slowness
from parge.estimate.stages import EMBED, Sizes, stages
from parge.techniques.base import Technique


@dataclass(frozen=True)
class Load:
    """What one worker embeds: its own vertices, all that it holds, and whether these lie around landmarks."""

    own: int
    vertices: int
    edges: int
    around_landmarks: bool = False


@dataclass(frozen=True)
class Crew:
    """How the workers of a plan run."""

    at_once: int  # how many of them work at the same time
    refine: str  # the pass over the whole graph after them
    # How a worker begins, by the name of its constant. ``start`` is a new process; ``fork`` a copy of one process that
    # was started for all of them; None the process that runs everything.
    begins: str | None = "fork"
    coordinator: int | None = None  # bytes of the coordinator, if they are limited; it then may have to work on disk


@dataclass(frozen=True)
class Times:
    """Seconds of each worker, of all of the run, and of a run with the whole graph on one worker."""

    workers: tuple[float, ...]
    total: float
    whole: float


def project(technique: Technique, n_vertices: int, n_edges: int, loads: Sequence[Load], crew: Crew) -> Times | None:
    """Return about how long a run takes on this machine; None for a technique that has not been measured."""
    whole, known = Load(n_vertices, n_vertices, n_edges), constants()
    if _rate(technique, whole, known) is None or not n_edges:
        return None
    begin = 0.0 if crew.begins is None else known[crew.begins].value
    started = 2 if crew.begins == "fork" else 1  # this process, and the one that is copied
    start = started * known["start"].value
    alone, *workers = (begin + _embed(technique, load, known) for load in (whole, *loads))
    around = [start + _around(technique, whole, n_parts, loads, crew) for n_parts in (1, len(loads))]
    scale = slowness()
    total = around[1] + makespan(workers, crew.at_once)
    return Times(tuple(scale * took for took in workers), scale * total, scale * (around[0] + alone))


def makespan(seconds: Sequence[float], at_once: int) -> float:
    """Return when the last task is done if `at_once` tasks run at a time, the longest first.

    >>> makespan([3.0, 1.0, 2.0], 2)
    3.0
    """
    free = [0.0] * max(1, min(at_once, len(seconds)))
    for took in sorted(seconds, reverse=True):
        heapreplace(free, free[0] + took)
    return max(free)


def _rate(technique: Technique, load: Load, known: dict[str, Constant]) -> Constant | None:
    """Return the constant that a load is multiplied by."""
    names = ["around_landmarks"] if load.around_landmarks else []
    names += [f"whole_{technique.name}", f"embed_{technique.name}"]
    return next((known[name] for name in names if name in known), None)


def _embed(technique: Technique, load: Load, known: dict[str, Constant]) -> float:
    rate = _rate(technique, load, known)
    if rate is None:
        return 0.0
    share = technique.dim / 128 if load.around_landmarks else technique.relative_work
    return rate.of(load.edges if rate.per_edge else load.vertices) * share


def _around(technique: Technique, whole: Load, n_parts: int, loads: Sequence[Load], crew: Crew) -> float:
    """Return the seconds of what the coordinator does before and after the workers; a single part is not split."""
    n = whole.vertices
    question = Question(
        vertices=n,
        edges=min(whole.edges, n * (n - 1) // 2),
        workers=min(n_parts, n),
        **({} if crew.coordinator is None else {"coordinator": crew.coordinator}),
    )
    backbone = any(load.around_landmarks for load in loads)
    sizes = Sizes(question, technique, crew.refine, backbone=backbone, usual=True)
    left_out = {EMBED} if n_parts > 1 else {EMBED, "decompose", "send parts", "reconcile, merge"}
    return sum(stage.core_seconds for stage in stages(sizes) if stage.name not in left_out)

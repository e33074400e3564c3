"""Whether parts are worth it: the whole graph compared with the parts, in memory and time, and one sentence.

`planned` returns what `parge plan` prints.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from parge.decompose.decomposition import Decomposition
from parge.engine.base import joins_cluster, runs_here
from parge.estimate.local import Crew, Load, Times, project
from parge.estimate.stages import Imagined
from parge.landmarks.base import LandmarkTechnique
from parge.memory import Footprint, format_bytes
from parge.planning.decision import Decomposed, landmarks_for
from parge.planning.plan import Plan, ResolvedPlan
from parge.planning.summary import recomputed, summarise
from parge.show.display import said
from parge.show.text import duration
from parge.stage_reports import Part, Summary, TechniqueChoice
from parge.storage import machine_cores
from parge.techniques.base import Technique
from parge.values import Value

# Times are estimates: smaller differences are not worth a word.
_CLEARLY = 0.8

# How far larger graphs are looked at, and in which steps.
_MOST_TIMES, _STEP = 1e6, 1.05

# What sums of floats may differ by.
_EXACT = 1e-9


@dataclass(frozen=True)
class Whole(Value):
    """The whole graph on one worker: the most memory of that worker, and about how long all of the run takes."""

    projected_bytes: int
    projected_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Planned(Summary):
    """A summary with times, the whole graph, and a verdict.

    Times are estimates (`parge.estimate.local`); None where the technique has not been measured.

    Parameters
    ----------
    whole : Whole
        What one worker would need for the whole graph.
    projected_seconds : float, optional
        About how long the whole run takes; the parts have the time of their worker.
    verdict : str
        One sentence: whether parts are needed, or save memory.
    choice : TechniqueChoice, optional
        Why this technique, where it was chosen by ``technique="auto"``.
    """

    whole: Whole
    projected_seconds: float | None = None
    verdict: str
    choice: TechniqueChoice | None = None

    def __repr__(self) -> str:
        from parge.show.plan_table import as_text  # needs rich, which nobody waits for before a plan is shown

        return "\n".join([as_text(self), *said(self.notices, self.warnings)])

    def _repr_html_(self) -> str:
        from parge.show.plan_table import as_html

        return as_html(self)


def planned(decomposed: Decomposed) -> Planned:
    """Return what a plan means for a graph that is decomposed: sizes, memory, times, and whether parts are worth it.

    >>> from parge.graph.generate import ring_of_cliques
    >>> from parge.planning.decision import decide, decompose
    >>> graph = ring_of_cliques(40, 5)
    >>> planned(decompose(graph, decide(graph, Plan("hope", memory=["1GB", "2GB"], anchors=20)))).verdict
    'This graph fits worker 0 alone (273 MB of 1.00 GB): embedding it whole is simpler.'
    """
    plan, decomposition = decomposed.plan, decomposed.decomposition
    summary = summarise(decomposition, plan.technique, (*decomposed.notices, *recomputed(plan)))
    times = _times(plan, decomposition, summary.parts)
    parts = summary.parts
    if times is not None:
        parts = tuple(replace(part, projected_seconds=took) for part, took in zip(parts, times.workers, strict=True))
    footprint = plan.technique.footprint_for(decomposition.graph)
    whole = Whole(footprint.bytes(summary.vertices, summary.edges), None if times is None else times.whole)
    total = None if times is None else times.total
    fields = {**vars(summary), "parts": parts}
    verdict = _verdict(plan, decomposition, summary, whole, total)
    return Planned(**fields, whole=whole, projected_seconds=total, verdict=verdict, choice=decomposed.choice)


def _times(plan: ResolvedPlan, decomposition: Decomposition, parts: Sequence[Part]) -> Times | None:
    """Return the times of the run that the plan describes, if its technique has been measured."""
    around = decomposition.contexts is not None
    loads = [Load(part.own, part.vertices, part.edges, around_landmarks=around) for part in parts]
    graph = decomposition.graph
    return project(plan.technique, graph.n_vertices, graph.n_edges, loads, _crew(plan))


def _crew(plan: ResolvedPlan) -> Crew:
    """Return how the workers run: as many at once as this machine has cores, or all of them on a cluster."""
    engine, jobs, coordinator = plan.request.engine, plan.request.jobs, plan.coordinator_limit()
    if runs_here(engine):
        return Crew(1, plan.refine, None, coordinator)
    if joins_cluster(engine):
        return Crew(jobs or plan.n_parts, plan.refine, "start", coordinator)
    return Crew(jobs or machine_cores(), plan.refine, "fork" if sys.platform == "linux" else "start", coordinator)


def _verdict(
    plan: ResolvedPlan, decomposition: Decomposition, summary: Summary, whole: Whole, total: float | None
) -> str:
    need, largest = whole.projected_bytes, max(part.projected_bytes for part in summary.parts)
    if len(summary.parts) == 1:
        return f"One worker embeds the whole graph, with {format_bytes(need)} of memory at most."
    alone = _holds_alone(plan.request, summary.parts, summary.vertices, need)
    if alone is not None:
        return f"This graph fits {alone}: embedding it whole is simpler{_slower(whole, total)}."
    if not _saves(largest, need):
        return _saves_none(plan, decomposition, summary.parts, need)
    if decomposition.budgets is not None:
        most = int(decomposition.budgets.max())
        return (
            f"This graph needs parts: whole, it takes {format_bytes(need)}, and the largest worker has "
            f"{format_bytes(most)}."
        )
    saved = f"{format_bytes(largest)} per worker instead of {format_bytes(need)}"
    return f"Parts save memory: {saved}{_in_time(whole, total)}."


def no_savings(plan: ResolvedPlan, decomposition: Decomposition, parts: Sequence[Part]) -> tuple[str, ...]:
    """Return a notice if parts save no memory and nothing asks for them: what `planned` says, and what to do.

    Where limits were given that no worker could hold the whole graph in, parts are needed.
    """
    graph, request = decomposition.graph, plan.request
    need = plan.technique.footprint_for(graph).bytes(graph.n_vertices, graph.n_edges)
    if len(parts) == 1 or _saves(max(part.projected_bytes for part in parts), need):
        return ()
    has_limits = request.memory is not None or request.capacities is not None
    if has_limits and _holds_alone(request, parts, graph.n_vertices, need) is None:
        return ()
    remedy = "To embed it whole, give one worker." if has_limits else "To embed it whole, use --parts 1."
    return (f"{_saves_none(plan, decomposition, parts, need)} {remedy}",)


def _saves(largest: int, need: int) -> bool:
    """Return whether the largest worker takes less than the whole graph; what nobody sees is nothing saved."""
    return largest < need and format_bytes(largest) != format_bytes(need)


def _saves_none(plan: ResolvedPlan, decomposition: Decomposition, parts: Sequence[Part], need: int) -> str:
    """Say that parts save no memory, and from which size on they would."""
    largest = max(part.projected_bytes for part in parts)
    sizes = f"{format_bytes(largest)} for the largest worker, {format_bytes(need)} for the whole graph"
    edges = _saves_from(decomposition, plan.technique, parts)
    then = "parts like these save none at any size" if edges is None else f"they do from about {edges:,} edges on"
    return f"Parts save no memory here ({sizes}); at this mean degree {then}."


def _holds_alone(plan: Plan, parts: Sequence[Part], n_vertices: int, need: int) -> str | None:
    """Return which worker could hold the whole graph, and how full it would be; the first of several."""
    for i, part in enumerate(parts):
        if part.budget_bytes is not None and need <= part.budget_bytes:
            return f"worker {i} alone ({format_bytes(need)} of {format_bytes(part.budget_bytes)})"
        if plan.capacities is not None and n_vertices <= part.capacity:
            return f"worker {i} alone ({n_vertices:,} of {part.capacity:,} vertices)"
    return None


def _saves_from(decomposition: Decomposition, technique: Technique, parts: Sequence[Part]) -> int | None:
    """Return from how many edges on the largest worker would need less than the whole graph; None if never.

    The graph is imagined larger, at the same mean degree and with the same shares for the parts.
    """
    graph, times = decomposition.graph, 1.0
    whole = technique.footprint_for(graph)
    while times < _MOST_TIMES:
        times *= _STEP
        footprint, shared = _grown(decomposition, technique, times)
        sizes = [(part.vertices - part.own - part.halo, part.own + part.halo, part.edges) for part in parts]
        largest = max(
            _bytes(footprint, shared * all_have + times * own, times * edges) for all_have, own, edges in sizes
        )
        if largest < (1 - _EXACT) * _bytes(whole, times * graph.n_vertices, times * graph.n_edges):
            return round(float(f"{times * graph.n_edges:.2g}"))
    return None


def _bytes(footprint: Footprint, n_vertices: float, n_edges: float) -> float:
    return footprint.fixed + footprint.per_vertex * n_vertices + footprint.per_edge * n_edges


def _grown(decomposition: Decomposition, technique: Technique, times: float) -> tuple[Footprint, float]:
    """Return the bound for a worker of a larger graph, and how many times as many vertices all workers share there.

    Anchors are a share of the vertices. Landmarks are too, but only up to a number that is the technique's.
    """
    graph, around = decomposition.graph, decomposition.contexts
    if around is None or not isinstance(technique, LandmarkTechnique):
        return technique.footprint_for(graph), times
    larger = Imagined(int(times * graph.n_vertices), int(times * graph.n_edges))
    n_parts = decomposition.n_parts
    shared = landmarks_for(larger, technique, n_parts) / max(1, landmarks_for(graph, technique, n_parts))
    return technique.worker_footprint(int(shared * around.n_landmarks)), shared


def _in_time(whole: Whole, total: float | None) -> str:
    """Return what parts do to the time of a run, where it is known."""
    if total is None or whole.projected_seconds is None:
        return ""
    shown = f"(about {duration(total)} instead of {duration(whole.projected_seconds)})"
    return f", and time {shown}" if total < whole.projected_seconds else f", but no time {shown}"


def _slower(whole: Whole, total: float | None) -> str:
    """Return what embedding the whole graph costs in time, if parts take clearly less."""
    if total is None or whole.projected_seconds is None or total > _CLEARLY * whole.projected_seconds:
        return ""
    return f", but slower (about {duration(whole.projected_seconds)} instead of {duration(total)})"

"""What a decomposition holds, loses and needs, and the notices on a plan.

This is the output of `parge plan`, and the first part of that of `parge embed`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from parge import memory
from parge.decompose.decomposition import Decomposition, much_lost
from parge.engine.base import runs_here
from parge.graph.graph import Graph
from parge.landmarks.base import LandmarkTechnique
from parge.memory import Footprint
from parge.planning.names import FAITHFUL, Preset
from parge.planning.plan import AUTO, PRESETS, PURPOSES, Plan, ResolvedPlan
from parge.reconcile.base import few_anchors, kind_of
from parge.refine.base import refiners
from parge.show.text import count
from parge.stage_reports import Part, Summary
from parge.techniques.base import Chooser, Technique


def footprint_of(technique: Technique, decomposition: Decomposition) -> Footprint:
    """Return the upper bound on a worker's memory for these subgraphs."""
    around = decomposition.contexts
    if around is not None and isinstance(technique, LandmarkTechnique):
        return technique.worker_footprint(around.n_landmarks)
    return technique.footprint_for(decomposition.graph)


def summarise(decomposition: Decomposition, technique: Technique, notices: tuple[str, ...] = ()) -> Summary:
    """Count what each subgraph holds and needs, and collect the warnings; `notices` come after its own notices."""
    graph, budgets, warnings = decomposition.graph, decomposition.budgets, _warnings(decomposition, technique)
    kept = decomposition.kept
    projected = decomposition.projected(footprint_of(technique, decomposition))
    parts = tuple(
        Part(
            vertices=int(decomposition.held[i]),
            own=int(decomposition.owned[i]),
            halo=int(decomposition.halos[i]),
            supervertices=int(decomposition.supervertices[i]),
            capacity=int(decomposition.capacities[i]),
            edges=int(decomposition.edges[i]),
            projected_bytes=int(projected[i]),
            kept_edges=float(kept[i]),
            budget_bytes=None if budgets is None else int(budgets[i]),
        )
        for i in range(decomposition.n_parts)
    )
    return Summary(
        vertices=graph.n_vertices,
        edges=graph.n_edges,
        dim=technique.dim,
        technique=technique.name,
        anchors=int(decomposition.anchors.size),
        edge_counts=decomposition.edge_counts,
        lost_edges=decomposition.lost_edges,
        parts=parts,
        warnings=tuple(warnings),
        notices=(*graph.notices, *decomposition.notices, *notices),
    )


def _warnings(decomposition: Decomposition, technique: Technique) -> list[str]:
    if decomposition.n_parts == 1:
        return []
    found = []
    if not technique.aligned and decomposition.contexts is None:  # else its spaces agree: anchors only save edges
        few = few_anchors(decomposition.anchors.size, technique.dim)
        found += [] if few is None else [few]
    empty = int((decomposition.owned == 0).sum())
    if empty:
        found.append(f"{empty} of {decomposition.n_parts} subgraphs hold no own vertex. Use fewer parts.")
    n_loose, n_vertices = decomposition.unanchored
    if n_loose and decomposition.anchors.size:
        found.append(
            f"{count(n_loose, 'connected component')} without an anchor "
            f"({n_vertices:,} {'vertex' if n_vertices == 1 else 'vertices'}). Distances from there to the rest mean "
            "nothing."
        )
    lost = much_lost(decomposition.lost_edges)
    return found if lost is None else [*found, lost]


def recomputed(plan: ResolvedPlan) -> tuple[str, ...]:
    """Return a notice if the pass of a plan in parts computes all vectors from scratch: parts only give its start."""
    if plan.n_parts == 1 or not plan.refiner.recomputes:
        return ()
    alone = "may score lower" if isinstance(plan.technique, LandmarkTechnique) else _FACTORISED_ALONE
    return (
        f"The pass {plan.refine} computes the vectors of the whole graph from scratch, on this machine. The parts only "
        f"give it a start. --refine none keeps the vectors of the parts, which {alone} (docs/measured/quality.md).",
    )


# Of factorisations in parts, as a share of the whole graph's score: docs/measured/quality.md, what is kept.
_FACTORISED_ALONE = "have 31 to 99 % of the score"


_BEST: Preset = "best"


class Idle(NamedTuple):
    """A field of a plan, and when it does nothing."""

    field: str
    when: Callable[[Plan], bool]
    reason: str


def _is_alone(plan: Plan) -> bool:
    """Return whether one worker holds the whole graph; how many nodes a cluster has, nobody knows yet."""
    return plan.n_parts == 1 and not plan.memory_is_auto


def _has_no_anchors(plan: Plan) -> bool:
    return str(plan.anchors).rstrip("%") in ("0", "0.0")


def _has_pass(plan: Plan) -> bool:
    return not replace(plan, preset=_BEST).resolved.refiner.is_identity


def _mends_parts(plan: Plan) -> bool:
    return plan.refine not in (None, AUTO) and refiners.get(str(plan.refine))().parts_only


def _maps_anchors(plan: Plan) -> bool:
    return not kind_of(str(plan.reconcile)).is_identity


def _is_open(plan: Plan) -> bool:
    return isinstance(plan.resolved.technique, Chooser)


def _is_for_links(plan: Plan) -> bool:
    """Return whether what the vectors are for changes the pass."""
    return plan.resolved.refine != replace(plan, purpose=None).resolved.refine


_ALONE, _NO_ANCHORS = "with one part", "without anchors"

IDLE: tuple[Idle, ...] = (
    *(Idle(field, _is_alone, _ALONE) for field in ("anchors", "anchor_strategy", "partitioner", "reconcile")),
    # What a preset decides of a single part is the pass.
    Idle("preset", lambda plan: _is_alone(plan) and not _has_pass(plan), _ALONE),
    Idle("refine", lambda plan: _is_alone(plan) and _mends_parts(plan), f"{_ALONE}: its vectors have that scale"),
    Idle("anchor_strategy", _has_no_anchors, _NO_ANCHORS),
    Idle("reconcile", lambda plan: _has_no_anchors(plan) and _maps_anchors(plan), _NO_ANCHORS),
    Idle("jobs", lambda plan: runs_here(plan.engine), "with --engine {engine}"),
    Idle("jobs", _is_alone, _ALONE),
    Idle("purpose", _is_open, "with --technique {technique}: it chooses for labels and links alike"),
    Idle("purpose", lambda plan: not _is_for_links(plan), "with this technique and pass"),
    Idle("preset", lambda plan: not _left_to_preset(plan), "because all options that it sets are given"),
)

# What a field says where nobody said anything.
_UNSAID = {"anchors": (None, AUTO), "reconcile": (None, AUTO), "preset": (_BEST,), "purpose": (None, PURPOSES[0])}

# Fields whose option has another name.
_OPTIONS = {"purpose": "for"}


def _left_to_preset(plan: Plan) -> bool:
    return any(getattr(plan, field) is None for field in PRESETS[plan.preset])


def idle(plan: Plan) -> tuple[str, ...]:
    """Return one notice per option that was given and has no effect.

    The plan is as it was given, before anything is decided: a field that nobody gave is at its default.

    >>> from parge.planning.plan import Plan
    >>> idle(Plan(anchors=50))
    ('--anchors has no effect with one part',)
    """
    said: dict[str, str] = {}
    for field, when, reason in IDLE:
        given = getattr(plan, field) not in _UNSAID.get(field, (None,))
        if given and field not in said and when(plan):
            option = _typed_as(plan) if field == "refine" else _OPTIONS.get(field, field.replace("_", "-"))
            names = {"engine": plan.engine, "technique": plan.resolved.technique.name}
            said[field] = f"--{option} has no effect {reason.format(**names)}"
    return (*said.values(), *_pass_not_done(plan), *_measured_only(plan))


def _typed_as(plan: Plan) -> str:
    """Return how a pass is asked for; that of --faithful by both names."""
    return f"faithful (--refine {FAITHFUL})" if plan.refine == FAITHFUL else "refine"


def _pass_not_done(plan: Plan) -> tuple[str, ...]:
    """Say which pass is not done because the scale of the parts was asked for, where a purpose or auto expects one."""
    if _is_alone(plan) or not _mends_parts(plan) or not (plan.purpose or _is_open(plan)):
        return ()
    usual = replace(plan, refine=AUTO).resolved
    if usual.refiner.is_identity and not _is_open(plan):
        return ()
    what = "of the chosen technique" if _is_open(plan) else usual.refine
    return (
        f"--{_typed_as(plan)} takes the place of the pass {what}, which is not done. The vectors have the scale of the "
        f"whole graph, but may predict {_PREDICTED[plan.purpose or PURPOSES[0]]} less well. "
        "Omit it if that matters more.",
    )


_PREDICTED = {"labels": "labels", "links": "links", "both": "labels and links"}


def _measured_only(plan: Plan) -> tuple[str, ...]:
    """Say that limits of memory are kept by measuring, where the system does not enforce them."""
    if memory.LIMITS_HOLD or (plan.memory is None and plan.coordinator_memory is None):
        return ()
    return (
        "this system does not enforce memory limits: workers are measured, and ended when they exceed theirs; the "
        "coordinator is measured only",
    )


# Of `benchmarks/quality_against_whole_graph.py`, 8 parts, each with its own pass (docs/measured/quality.md).
_WITH_FEATURES = (
    "This graph has features, which walks do not use. Consider --technique sgc --refine none: on cora in 8 parts its "
    "micro-F1 was .827 (whole graph: .833), that of deepwalk .807 (one seed; docs/measured/quality.md)."
)
_SPARSE = (
    "This graph is sparse. --technique closedform takes less time than deepwalk. On cora and a tree (mean degree 4 and "
    "3) in 8 parts its micro-F1 was .804 and .860. That of deepwalk was .810 and .859 (3 seeds; "
    "docs/measured/quality.md)."
)
# Of `benchmarks/against_peers.py`, 8 parts, each with its own pass.
_DENSE = (
    "This graph is dense. Consider --technique spectral: on BlogCatalog (mean degree 65) in 8 parts its micro-F1 was "
    ".438, that of deepwalk .421. On sparse graphs it was worse and slow (docs/measured/peers.md)."
)
_SPARSE_DEGREE, _DENSE_DEGREE = 6.0, 30.0

# Any technique takes seconds on a smaller graph: try them.
_SMALL = 1000


def hints(technique: Technique, graph: Graph) -> tuple[str, ...]:
    """Return hints on techniques that may suit this graph better; a rule of thumb that uses no labels."""
    if not technique.on_walks or graph.n_vertices < _SMALL:
        return ()
    if graph.features is not None:
        return (_WITH_FEATURES,)
    mean_degree = 2 * graph.n_edges / max(1, graph.n_vertices)
    if mean_degree > _DENSE_DEGREE:
        return (_DENSE,)
    return (_SPARSE,) if mean_degree < _SPARSE_DEGREE else ()

"""What people are told of a plan: options that do nothing in it, and what measurements say of its technique."""

from collections.abc import Callable
from typing import NamedTuple

from parge.engine.registry import runs_here
from parge.graph.graph import Graph
from parge.planning.plan import AUTO, PRESETS, Plan
from parge.reconcile.base import kind_of
from parge.techniques.base import Technique


class Idle(NamedTuple):
    """A field of a plan, and when it does nothing."""

    field: str
    when: Callable[[Plan], bool]
    words: str


def _is_alone(plan: Plan) -> bool:
    """Return whether one worker holds the whole graph; how many nodes a cluster has, nobody knows yet."""
    return plan.n_parts == 1 and not plan.memory_is_auto


def _has_no_anchors(plan: Plan) -> bool:
    return str(plan.anchors).rstrip("%") in ("0", "0.0")


def _maps_anchors(plan: Plan) -> bool:
    return not kind_of(str(plan.reconcile)).is_identity


_ALONE, _NO_ANCHORS = "with one part", "without anchors"

# What a preset decides of a single part is the pass, which is none there in every preset.
IDLE: tuple[Idle, ...] = (
    *(Idle(field, _is_alone, _ALONE) for field in ("anchors", "anchor_strategy", "partitioner", "reconcile", "preset")),
    Idle("anchor_strategy", _has_no_anchors, _NO_ANCHORS),
    Idle("reconcile", lambda plan: _has_no_anchors(plan) and _maps_anchors(plan), _NO_ANCHORS),
    Idle("jobs", lambda plan: runs_here(plan.engine), "with --engine {engine}"),
    Idle("jobs", _is_alone, _ALONE),
    Idle("preset", lambda plan: not _left_to_preset(plan), "where all that it decides is given"),
)

# What a field says where nobody said anything.
_UNSAID = {"anchors": (None, AUTO), "reconcile": (None, AUTO), "preset": ("best",)}


def _left_to_preset(plan: Plan) -> bool:
    return any(getattr(plan, field) is None for field in PRESETS[plan.preset])


def idle(plan: Plan) -> tuple[str, ...]:
    """Return what to say of options that were given and do nothing, one line an option.

    Parameters
    ----------
    plan : Plan
        As it was given, before anything is decided: a field that nobody gave is at its default.

    Examples
    --------
    >>> from parge.planning.plan import Plan
    >>> idle(Plan(anchors=50))
    ('--anchors has no effect with one part',)
    """
    said: dict[str, str] = {}
    for field, when, words in IDLE:
        given = getattr(plan, field) not in _UNSAID.get(field, (None,))
        if given and field not in said and when(plan):
            said[field] = f"--{field.replace('_', '-')} has no effect {words.format(engine=plan.engine)}"
    return tuple(said.values())


# Of `benchmarks/faster_than_gensim.py --only spectral`: whole graphs, default settings.
_WALKS_AGAINST_PRONE = (
    "of three whole graphs measured, prone took a third of deepwalk's time on two and as long on one; its micro-F1 was "
    "higher on one, the same on one, lower on one: --technique prone is worth a try (numbers in docs/kernel.md)"
)

# Of `benchmarks/quality_against_whole_graph.py`, 8 parts, each with its own pass (docs/quality.md).
_WITH_FEATURES = (
    "this graph has features, which walks do not see: on cora --technique sgc --refine none kept micro-F1 .827 of its "
    ".833 in 8 parts, deepwalk had .807 (one seed; numbers in docs/quality.md)"
)
_SPARSE = (
    "on the sparse graphs measured (cora, a tree; mean degree 4 and 3) --technique closedform had micro-F1 .804 and "
    ".860 in 8 parts, deepwalk .810 and .859, in less time (3 seeds; numbers in docs/quality.md)"
)
# Of `benchmarks/against_peers.py`, 8 parts, each with its own pass.
_DENSE = (
    "on BlogCatalog (mean degree 65) --technique spectral had micro-F1 .438 in 8 parts, deepwalk .421; on sparse "
    "graphs it is behind and slow (numbers in docs/peers.md)"
)
_SPARSE_DEGREE, _DENSE_DEGREE = 6.0, 30.0

# Any technique takes seconds on a smaller graph: try them.
_SMALL = 1000


def hints(technique: Technique, graph: Graph) -> tuple[str, ...]:
    """Return what may be better than this technique for such a graph; a rule of thumb that looks at no label."""
    from parge.techniques.deepwalk import SkipGramWalks  # not needed to refuse a plan

    if not isinstance(technique, SkipGramWalks) or graph.n_vertices < _SMALL:
        return ()
    if graph.features is not None:
        return (_WITH_FEATURES,)
    mean_degree = 2 * graph.n_edges / max(1, graph.n_vertices)
    if mean_degree > _DENSE_DEGREE:
        return (_WALKS_AGAINST_PRONE, _DENSE)
    return (_WALKS_AGAINST_PRONE, *((_SPARSE,) if mean_degree < _SPARSE_DEGREE else ()))

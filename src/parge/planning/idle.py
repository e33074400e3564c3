"""Options of a plan that do nothing in it: harmless, so they are told of, in one line each."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from parge.planning.plan import Plan


class Idle(NamedTuple):
    """A field of a plan, and when it does nothing."""

    field: str
    when: Callable[["Plan"], bool]
    words: str


def _is_alone(plan: "Plan") -> bool:
    """Return whether one worker holds the whole graph; how many nodes a cluster has, nobody knows yet."""
    return plan.n_parts == 1 and not plan.memory_is_auto


def _has_no_anchors(plan: "Plan") -> bool:
    return str(plan.anchors).rstrip("%") in ("0", "0.0")


_ALONE, _NO_ANCHORS = "with one part", "without anchors"

# What a preset decides of a single part is the pass, which is none there in every preset.
IDLE: tuple[Idle, ...] = (
    *(Idle(field, _is_alone, _ALONE) for field in ("anchors", "anchor_strategy", "partitioner", "reconcile", "preset")),
    Idle("anchor_strategy", _has_no_anchors, _NO_ANCHORS),
    Idle("reconcile", lambda plan: _has_no_anchors(plan) and plan.reconcile not in ("none", "backbone"), _NO_ANCHORS),
    Idle("workers", lambda plan: plan.engine == "serial", "with --engine serial"),
    Idle("workers", _is_alone, _ALONE),
    Idle("preset", lambda plan: not _left_to_preset(plan), "where all that it decides is given"),
)

# What a field says where nobody said anything.
_UNSAID = {"anchors": (None, "auto"), "reconcile": (None, "auto"), "preset": ("best",)}


def _left_to_preset(plan: "Plan") -> bool:
    from parge.planning.plan import PRESETS

    return any(getattr(plan, field) is None for field in PRESETS[plan.preset])


def idle(plan: "Plan") -> tuple[str, ...]:
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
            said[field] = f"--{field.replace('_', '-')} has no effect {words}"
    return tuple(said.values())

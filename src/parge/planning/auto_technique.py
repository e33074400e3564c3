"""What a technique that stands for others comes to for one graph and plan."""

from dataclasses import replace

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.planning.plan import AUTO, Plan, ResolvedPlan
from parge.stage_reports import TechniqueChoice
from parge.techniques.base import Chooser, Technique
from parge.techniques.resolve import Described, describe


def choose_technique(graph: Graph, plan: Plan) -> tuple[ResolvedPlan, TechniqueChoice | None]:
    """Return the plan with the technique that was chosen for the graph, and why; None if the plan names its technique.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> plan, choice = choose_technique(ring_of_cliques(40, 5), Plan("auto", parts=4, refine="none"))
    >>> plan.technique.name, choice.because
    ('deepwalk', 'without a pass over the whole graph only a backbone keeps the quality in parts')
    """
    resolved = plan.resolved
    technique = resolved.technique
    if not isinstance(technique, Chooser):
        return resolved, None
    in_parts = resolved.n_parts > 1
    reasons = {
        "the plan asks for a backbone": not resolved.fallbacks and resolved.reconciler.needs_landmarks,
        "without a pass over the whole graph only a backbone keeps the quality in parts": in_parts
        and plan.asked("refine") != AUTO
        and resolved.refiner.is_identity,
    }
    for because, holds in reasons.items():
        if holds:
            chosen = technique.around_landmarks()
            return _with(plan, chosen), TechniqueChoice(chosen.name, because)
    possible = [each for each in technique.candidates(graph) if _is_possible(plan, each)]
    if not possible:
        return _with(plan, technique.candidates(graph)[0]), None  # which is refused, and says why
    chosen, choice = technique.choose(graph, plan.seed, possible)
    return _with(plan, chosen), choice


def _with(plan: Plan, technique: Technique) -> ResolvedPlan:
    return replace(plan, technique=technique).resolved


def _is_possible(plan: Plan, technique: Technique) -> bool:
    """Return whether a plan can have that technique; a pass or a reconciler that it names may not support it."""
    try:
        _with(plan, technique)
    except InputError:
        return False
    return True


def as_chosen(plan: Plan, chosen: Described | None) -> Plan:
    """Return the plan of a run that is resumed: with the technique that was chosen when the run began."""
    technique = plan.resolved.technique
    if not isinstance(technique, Chooser):
        return plan
    for each in (*technique.candidates(), technique.around_landmarks()):
        described = describe(each)
        if described is not None and chosen is not None and described.name == chosen.name:
            return replace(plan, technique=each)
    return replace(plan, technique=technique.candidates()[0])

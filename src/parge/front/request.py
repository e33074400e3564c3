"""From the arguments of a call to a plan and a graph; misspelt names are refused, with the likely one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from parge.errors import InputError, UnknownNameError
from parge.events import Listener, Step
from parge.graph.graph import Graph
from parge.io.graphs.anything import as_graph, how_to_read
from parge.io.outputs import check_run_place
from parge.io.places import is_url, local_folder, local_name
from parge.planning.plan import PLAN_FIELDS, Plan, ResolvedPlan
from parge.spelling import suggestion
from parge.techniques.base import Technique
from parge.techniques.registry import techniques
from parge.techniques.resolve import resolve, setting_names


@dataclass(frozen=True, eq=False)
class Request:
    """What a call asks for: a source that a graph is read from, how, and the plan."""

    source: Any
    how: Mapping[str, Any]
    plan: Plan

    def read(self, listener: Listener, run_dir: str | PathLike[str] | None = None) -> Graph:
        """Return the graph; a `Graph` is not read again. A folder that is read cannot hold the run's own."""
        if isinstance(self.source, Graph):
            return self.source
        is_file = isinstance(self.source, str | PathLike)
        if is_file and run_dir is not None and not is_url(self.source) and not is_url(run_dir):
            check_run_place(local_folder(run_dir), [Path(local_name(self.source))])
        listener(Step("read", str(self.source) if is_file else type(self.source).__name__))
        limit = self.plan.coordinator_memory
        within = {"coordinator_memory": limit} if limit is not None and is_file else {}
        return as_graph(self.source, **self.how, **within)


def requested(source: Any, plan: Any, given: Mapping[str, Any], *, resume: bool = False) -> Request:
    """Return the request of a call.

    `given` has all keywords by name: fields of the plan, options of the reader, settings of the technique; None is not
    given. A run that is resumed has its own answers to what a plan leaves open.
    """
    _refuse_technique(plan)
    asked = plan.request if isinstance(plan, ResolvedPlan) else plan or Plan()
    said = {name: value for name, value in given.items() if value is not None}
    said = {("jobs" if name == "workers" else name): value for name, value in said.items()}
    technique = said.pop("technique", asked.technique)
    fields = {name: said.pop(name) for name in PLAN_FIELDS if name in said}
    readable = how_to_read(source)
    settings = setting_names(technique)
    how = {name: said.pop(name) for name in list(said) if name in readable and name not in (settings or ())}
    _refuse_unknown(said, technique, settings, readable)
    if said:
        technique = resolve(technique, said)
    changed = fields or technique is not asked.technique
    found = replace(asked, technique=technique, **fields) if changed else asked
    if not resume:
        found.resolved  # noqa: B018  a plan that cannot be kept is refused before a graph is read
    return Request(source, how, found)


def _refuse_technique(plan: Any) -> None:
    """Refuse a technique in the place of the plan, and say where it belongs."""
    if plan is None or isinstance(plan, Plan | ResolvedPlan):
        return
    if isinstance(plan, str):
        words = f"technique={plan!r}" if plan in techniques.names() else "technique=NAME"
    elif isinstance(plan, Technique) or callable(plan) or hasattr(plan, "fit"):
        words = f"technique={getattr(plan, '__name__', plan)}"
    else:
        words = "parge.Plan(parts=8), or keywords such as parts=8"
        raise InputError(f"the second argument must be a Plan; got {type(plan).__name__}. Give {words}.")
    raise InputError(f"the second argument must be a Plan; got {plan!r}. A technique is a keyword: {words}.")


def _refuse_unknown(
    said: Mapping[str, Any], technique: Any, settings: tuple[str, ...] | None, readable: tuple[str, ...]
) -> None:
    if settings is None:
        return  # a function of **settings takes them all
    for name in said:
        if name not in settings:
            known = ("technique", *PLAN_FIELDS, *settings, *readable, "run_dir", "resume", "progress", "listener")
            title = technique if isinstance(technique, str) else getattr(technique, "name", None) or "the technique"
            raise UnknownNameError(
                f"there is no option {name!r}.{suggestion(name, known)} Plan: technique, {', '.join(PLAN_FIELDS)}. "
                f"Settings of {title}: {', '.join(settings) or 'none'}. "
                f"Reading this graph: {', '.join(readable) or 'nothing, it is read already'}."
            )

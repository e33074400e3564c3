"""Which plans a run in shards takes, and the settings by which a resumed run is recognised.

`parge.cluster.run` and `parge.cluster.forecast` call `checked_plan` before any work.
"""

from pathlib import Path
from typing import Any

from parge.cluster.redistribute import MOST_PARTS
from parge.cluster.source import Source
from parge.decompose.limits import check_budgets
from parge.errors import InputError
from parge.io.stores import shown_url
from parge.planning.decision import lasting_settings
from parge.planning.names import FAITHFUL
from parge.planning.plan import AUTO, PRESETS, Plan, ResolvedPlan
from parge.techniques.base import Chooser


def checked_plan(plan: Plan) -> ResolvedPlan:
    """Return the plan; refuse what only a process that holds the whole graph can do."""
    found, technique = plan.resolved, plan.resolved.technique
    if found.n_parts > MOST_PARTS:
        raise InputError(f"--sharded takes up to {MOST_PARTS} parts; got {found.n_parts:,}. Use fewer parts.")
    usual = PRESETS[Plan.preset]
    if any(getattr(found, name) != usual[name] for name in ("partitioner", "anchor_strategy")):
        raise InputError(
            "--sharded chooses parts and anchors itself. Omit --partitioner and --anchor-strategy, and use "
            "--preset best."
        )
    if isinstance(technique, Chooser):
        raise InputError("--technique auto tries techniques on a sample of the whole graph. With --sharded, name one.")
    if technique.shared_shapes:
        raise InputError(
            f"the technique {technique.name} prepares arrays from the whole graph. Use deepwalk, or embed without "
            "--sharded."
        )
    if not found.refiner.is_identity and not found.refiner.in_shards:
        raise InputError(_refused_pass(plan))
    check_budgets(plan.budgets() or (), technique.footprint().fixed)
    return found


def _refused_pass(plan: Plan) -> str:
    """Return why the pass is refused, with the option that asked for it."""
    refine = plan.resolved.refine
    if plan.refine in (None, AUTO) and plan.purpose is not None:
        return (
            f"--for {plan.purpose} means the pass {refine}, which needs the whole graph in one process. Omit it: with "
            "--sharded, parge neighbors --for links works with any pass."
        )
    asked = f"--faithful (--refine {refine})" if refine == FAITHFUL else f"the pass {refine}"
    return (
        f"{asked} needs the whole graph in one process. With --sharded use --refine whiten, settle, subspace (for hope "
        "and spectral) or none."
    )


def settings_of(source: Source, plan: ResolvedPlan) -> dict[str, Any]:
    """Return everything that determines the result, as a file gives it back."""
    stats = [(name, Path(name).stat()) for name in source.files]
    files = [[name, found.st_size, found.st_mtime_ns] for name, found in stats]
    graph: dict[str, Any] = {"files": files, "vertices": source.vertices, "columns": repr(source.wanted)}
    if source.url is not None:
        graph["url"] = shown_url(source.url)  # without its secrets
    # Written before the graph is read, so what depends on it is as the plan asks.
    reconcile = AUTO if plan.fallbacks else plan.reconcile
    return {**lasting_settings(plan), "reconcile": reconcile, "graph": graph}

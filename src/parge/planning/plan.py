"""Plan, the request; and ResolvedPlan, everything that is decided before there is a graph."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, get_args

from parge.decompose.limits import Limits, check_request
from parge.engine.base import check_engine, make_engine
from parge.errors import InfeasibleError, InputError
from parge.graph.graph import Counted, Graph
from parge.landmarks.base import LandmarkTechnique
from parge.memory import format_bytes, read_size, read_sizes
from parge.numbers import check_whole, shown
from parge.planning.names import AnchorStrategy, EngineName, Partitioner, Preset, Purpose, ReconcilerName, RefinerName
from parge.reconcile.base import Reconciler, reconcilers
from parge.refine.base import Refiner, refiners
from parge.show.display import plan_html
from parge.techniques.base import Chooser, Technique
from parge.techniques.resolve import resolve
from parge.values import takes_workers

# What a preset decides where the plan itself is silent. `paper` is the paper as corrected (docs/explain/paper.md).
PRESETS: dict[str, dict[str, str]] = {
    "best": {
        "anchors": "auto",
        "anchor_strategy": "alternating",
        "partitioner": "kaminpar",
        "reconcile": "auto",
        "refine": "auto",
    },
    "paper": {
        "anchors": "1%",
        "anchor_strategy": "top-cut",
        "partitioner": "metis",
        "reconcile": "orthogonal",
        "refine": "none",
    },
}


# What vectors may be for; the first is what nobody has to say.
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

# The word of a request for what is decided later, and what it comes to: reconcilers that a plan may mean, best first;
# none where spaces agree by construction; no pass for a single part.
AUTO = "auto"
ALTERNATIVES = ("backbone", "consensus")
NO_MAPS, NO_PASS = "none", "none"


@takes_workers
@dataclass(frozen=True)
class Plan:
    """How to embed a graph: the technique, the workers, and how to bring the parts into one space.

    Give at most one of `parts`, `capacities` and `memory`, which set what the workers can hold; without them, one
    worker holds the whole graph. Fields left at None are set by the preset.

    Parameters
    ----------
    technique : Technique, callable, object with fit_transform, or name
        Embeds each subgraph.
    parts : int, optional
        Split the graph into this number of equal parts.
    capacities : sequence of int, optional
        Maximum number of vertices per worker: its own, the anchors, and with a backbone its halo and super-vertices.
    memory : sequence of int or str, or "auto", optional
        Bytes per worker, such as ``"2GB"``; auto: one worker per node of the engine's cluster, sized to its memory.
    anchors : "auto", int or share such as "5%"
        How many vertices all subgraphs share.
    anchor_strategy : str
        alternating, top-cut, random or degree.
    partitioner : str
        kaminpar, kaminpar-compressed, metis, streaming or random.
    reconcile : str
        consensus, orthogonal, linear, mlp or none. With backbone (walk techniques) all workers have one space from the
        start. Every worker then also holds the rest of the graph as super-vertices, within its limit. The value auto is
        backbone if the technique supports it and the limits allow it; none if the spaces agree by construction; and
        consensus otherwise.
    refine : str
        Name of the final pass over the whole graph (see `parge.refine`), or none; auto is the default of the technique.
    preset : str
        best, or paper.
    purpose : str, optional
        What the vectors are for (``--for`` on the command line): labels (the default), links, or both. It decides which
        pass ``refine="auto"`` means: for links and for both, the techniques whose pass would forget degrees have
        the pass blend instead.
    engine : str
        How the subgraphs are run: processes, serial (in this process, one by one), or ray (on a cluster).
    address : str, optional
        Address of the cluster, ``HOST:PORT``; see `parge.engine.ray.Ray`.
    jobs : int, optional
        How many subgraphs are embedded at once (the former name, workers, is also accepted).
    seed : int
        Seed of all random numbers: same seed, same bits.
    coordinator_memory : int or str, optional
        Memory limit of this process, such as ``"2GB"``. If the partitioner is kaminpar, the limit decides between
        kaminpar, kaminpar-compressed and streaming by their projected memory. If one of the latter two is named, it is
        refused if its projection exceeds the limit. For other partitioners there is only a notice, because their memory
        is not known. (The command line also enforces the limit.)

    Examples
    --------
    >>> Plan(parts=8, preset="paper").resolved.anchor_strategy
    'top-cut'
    """

    NOT_FIELDS: ClassVar[str] = " Settings of the technique, such as dim, are given to it: parge.DeepWalk(dim=64)."

    technique: Any = "deepwalk"
    parts: int | None = None
    capacities: Sequence[int] | None = None
    memory: Sequence[int | str] | str | None = None
    anchors: str | int | None = None
    anchor_strategy: AnchorStrategy | str | None = None
    partitioner: Partitioner | str | None = None
    reconcile: ReconcilerName | str | None = None
    refine: RefinerName | str | None = None
    preset: Preset = "best"
    purpose: Purpose | None = None
    engine: EngineName | str = "processes"
    address: str | None = None
    jobs: int | None = None
    seed: int = 0
    coordinator_memory: int | str | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("parts", "capacities", "memory") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(
                f"give only one of parts, capacities and memory; got {' and '.join(given)}. Memory and capacities have "
                "one number for each part: --memory 2GB,2GB for two."
            )
        if self.preset not in PRESETS:
            raise InputError(f"there is no preset {self.preset!r}; known: {', '.join(PRESETS)}")
        if self.purpose not in (None, *PURPOSES):
            raise InputError(f"there is no purpose {shown(self.purpose)}; known: {', '.join(PURPOSES)}")
        if self.refine not in (None, "auto"):
            refiners.check(self.refine)
        object.__setattr__(self, "seed", check_whole("seed", self.seed))  # numpy's integers are not JSON
        for name in ("parts", "jobs"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)
        if self.anchors is not None:
            check_request(self.anchors)
        if isinstance(self.capacities, str | int | float) or isinstance(self.memory, int | float):
            raise InputError("capacities and memory must be lists with one item per worker")
        for capacity in self.capacities if self.capacities is not None else ():
            check_whole("capacities", capacity)
        self.budgets()
        self.coordinator_limit()

    def _repr_html_(self) -> str:
        return plan_html({name: getattr(self, name) for name in ("technique", *PLAN_FIELDS)})

    def coordinator_limit(self) -> int | None:
        """Return the most bytes of the coordinator, if that is limited."""
        size = self.coordinator_memory
        return None if size is None else read_size("coordinator_memory", size)

    def budgets(self) -> list[int] | None:
        """Return the memory of each worker in bytes; a text such as ``"2GB,4GB"`` is read as a list."""
        if self.memory is None or self.memory_is_auto:
            return None
        return read_sizes(self.memory)

    def asked(self, name: str) -> Any:
        """Return the value of a field: as given, or from the preset."""
        given = getattr(self, name)
        return PRESETS[self.preset][name] if given is None else given

    @property
    def memory_is_auto(self) -> bool:
        """Whether the memory of each worker is asked from the engine's cluster; `resolved` then holds the answer."""
        return self.memory is not None and list(self.memory) in (["auto"], list("auto"))

    @property
    def n_parts(self) -> int:
        """How many workers share the graph."""
        given = self.capacities if self.capacities is not None else self.budgets()
        return int(self.parts or 1) if given is None else len(given)

    @cached_property
    def resolved(self) -> "ResolvedPlan":
        """The plan with every name looked up and every field decided that needs no graph; raises if it is invalid."""
        return _resolved(self)

    def settings(self) -> dict[str, Any]:
        """Return the fields as plain values, for people and files."""
        return {_KEYS.get(name, name): getattr(self, name) for name in PLAN_FIELDS}


PLAN_FIELDS = tuple(field.name for field in fields(Plan) if field.name != "technique")

# Fields that reports and folders call otherwise.
_KEYS = {"jobs": "workers"}


@dataclass(frozen=True, eq=False)
class ResolvedPlan:
    """A plan with every name looked up, and everything decided that needs no graph.

    `parge.planning.decision.decide` does the rest for one graph. It chooses the technique if this one stands for
    others, the reconciler that fits in memory, the pass, and the number of anchors that `request` asks for.
    """

    request: Plan  # the request; engine, address, jobs and seed are used as it says
    technique: Technique  # embeds each subgraph
    # Of each worker: as requested, or as the nodes of a cluster answered.
    memory: Sequence[int | str] | str | None
    # As in `Plan`.
    anchor_strategy: str
    partitioner: str
    reconcile: str  # name of the reconciler
    refine: str  # name of the pass after the merge
    # Names of the reconcilers that take its place if there is no room for it, best first; none in a `Decision`.
    fallbacks: tuple[str, ...] = ()

    @staticmethod
    def recorded(plan: Plan, technique: Technique) -> "ResolvedPlan":
        """Return the plan that a run folder holds; it was decided when the run began, and is not decided again."""
        names = ("anchor_strategy", "partitioner", "reconcile", "refine")
        anchor_strategy, partitioner, reconcile, refine = (str(plan.asked(name)) for name in names)
        return ResolvedPlan(plan, technique, plan.memory, anchor_strategy, partitioner, reconcile, refine)

    @cached_property
    def reconciler(self) -> Reconciler:
        """The reconciler itself."""
        return reconcilers.get(self.reconcile)()

    @cached_property
    def refiner(self) -> Refiner:
        """The pass itself."""
        return refiners.get(self.refine)()

    @property
    def n_parts(self) -> int:
        """How many workers share the graph."""
        budgets = self.budgets()
        return self.request.n_parts if budgets is None else len(budgets)

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""
        return self.request.seed

    def coordinator_limit(self) -> int | None:
        """Return the most bytes of the coordinator, if that is limited."""
        return self.request.coordinator_limit()

    def budgets(self) -> list[int] | None:
        """Return the memory of each worker in bytes, if that is limited."""
        return None if self.memory is None else read_sizes(self.memory)

    def limits(self, graph: Counted) -> Limits | None:
        """Return what each worker can hold of this graph; None if only the number of parts is given."""
        if self.request.capacities is not None:
            return Limits.of_vertices(list(self.request.capacities))
        budgets = self.budgets()
        if budgets is None:
            return None
        # A graph in shards has no features.
        one = self.technique.footprint_for(graph) if isinstance(graph, Graph) else self.technique.footprint()
        return Limits.of_bytes(budgets, one)

    def refined_for(self, graph: Counted) -> "ResolvedPlan":
        """Return the plan with ``refine="auto"`` replaced by the technique's default for this graph."""
        if self.request.asked("refine") != AUTO or not _is_passed(self.technique, self.n_parts):
            return self
        found = _pass_for(self.request, self.technique, self.technique.refine_for(graph))
        return self if found == self.refine else _checked(replace(self, refine=found))

    def reconciled_by(self, name: str) -> "ResolvedPlan":
        """Return the plan with that reconciler, and no other."""
        return replace(self, reconcile=name, fallbacks=())

    def settings(self) -> dict[str, Any]:
        """Return all fields of a plan as they were decided, as plain values, for people and files."""
        decided = ("memory", "anchor_strategy", "partitioner", "reconcile", "refine")
        asked = {**self.request.settings(), "anchors": self.request.asked("anchors")}
        return asked | {name: getattr(self, name) for name in decided}


def _resolved(plan: Plan) -> ResolvedPlan:
    """Decide what a plan leaves open, and look up its names."""
    check_engine(plan.engine, plan.address)
    technique, memory, n_parts = resolve(plan.technique), plan.memory, plan.n_parts
    if plan.memory_is_auto:
        memory = sizes = make_engine(plan.engine, jobs=plan.jobs, address=plan.address).worker_memory()
        _check_nodes(sizes, technique)
        n_parts = len(sizes)
    refine = str(plan.asked("refine"))
    if refine == AUTO:
        refine = _pass_for(plan, technique, technique.refine) if _is_passed(technique, n_parts) else NO_PASS
    elif n_parts == 1 and refiners.get(refine)().parts_only:
        refine = NO_PASS
    best, *others = _reconcilers(plan, technique, n_parts)
    return _checked(
        ResolvedPlan(
            request=plan,
            technique=technique,
            memory=memory,
            anchor_strategy=str(plan.asked("anchor_strategy")),
            partitioner=str(plan.asked("partitioner")),
            reconcile=best,
            refine=refine,
            fallbacks=tuple(others),
        )
    )


def _pass_for(plan: Plan, technique: Technique, usual: str) -> str:
    """Return the pass that auto means: the usual one of the technique, or its pass for links."""
    return technique.link_refine or usual if plan.purpose in PURPOSES[1:] else usual


def _is_passed(technique: Technique, n_parts: int) -> bool:
    """Return whether vectors of that many parts gain by the technique's own pass."""
    return n_parts > 1 or technique.refines_whole


def _reconcilers(plan: Plan, technique: Technique, n_parts: int) -> tuple[str, ...]:
    """Return the possible reconcilers of a plan, best first."""
    if technique.aligned and plan.reconcile in (None, AUTO):
        return (NO_MAPS,)  # its spaces agree by construction; a rotation could only hurt
    asked = str(plan.asked("reconcile"))
    if asked != AUTO:
        return (asked,)
    return ALTERNATIVES if n_parts > 1 and isinstance(technique, LandmarkTechnique) else ALTERNATIVES[-1:]


def _checked(plan: ResolvedPlan) -> ResolvedPlan:
    """Return the plan; raise if its components do not fit together, or need a package that is missing."""
    technique = plan.technique
    if isinstance(technique, Chooser):
        return plan  # what it chooses for a graph is checked then
    if technique.needs_extra is not None:
        technique.needs_extra.check(f"the technique {technique.name}")
    plan.refiner.check(technique)
    if plan.reconciler.needs_landmarks:
        landmark_technique(technique, plan.n_parts)
    return plan


def landmark_technique(technique: Technique, n_parts: int) -> LandmarkTechnique:
    """Return the technique as one that embeds landmarks; refuse one that does not, and a single part."""
    if not isinstance(technique, LandmarkTechnique):
        raise InputError(
            f"{technique.name} does not support --reconcile backbone: it embeds no landmarks. "
            "Use --reconcile consensus."
        )
    if n_parts == 1:
        raise InputError("--reconcile backbone needs at least two parts")
    return technique


def _check_nodes(sizes: Sequence[int], technique: Technique) -> None:
    """Refuse nodes that are too small even for an empty subgraph, and say how to plan without them."""
    least = technique.footprint().fixed
    large = [size for size in sizes if size > least]
    if len(large) < len(sizes):
        others = f", or plan without such nodes: --memory {','.join(map(str, large))}" if large else ""
        raise InfeasibleError(
            f"--memory auto uses every node with a core. The smallest has {format_bytes(min(sizes))} for a worker; "
            f"{technique.name} needs {format_bytes(least)} before it holds a vertex. Start that node with --num-cpus=0"
            f"{others}"
        )

"""Report: how an embedding was computed, in numbers with names; what `parge embed --json` prints."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from parge.errors import InputError
from parge.values import Settings, Value, plain

T = TypeVar("T")


def known(value: T | None, what: str) -> T:
    """Return what a report says; refuse a report that does not say it."""
    if value is None:
        raise InputError(f"the report does not say {what}: use the report that the run itself returned")
    return value


@dataclass(frozen=True)
class EdgeCounts(Value):
    """Where the edges of a decomposed graph are; every edge is counted once.

    Parameters
    ----------
    inside : int
        Both ends are own vertices of one part.
    at_anchors : int
        An end is an anchor, so that a subgraph holds the edge.
    in_halos : int
        Between two parts, at least one of which has the other end in its halo.
    lost : int
        Between two parts, neither of which holds the other end as a vertex of its own kind: where subgraphs are
        with a context the edge only adds to the weight of super-vertices, else nobody sees it.
    """

    inside: int
    at_anchors: int
    in_halos: int
    lost: int


@dataclass(frozen=True, kw_only=True)
class Part(Value):
    """One subgraph: its size against its limits, and what its worker took.

    Parameters
    ----------
    vertices : int
        All that its worker holds: `own` vertices, the anchors, and where it has a context a `halo` and `lumps`.
    own, halo, lumps : int
        Of those, the ones beside the anchors, of which every subgraph holds the same; lumps are super-vertices.
    capacity : int
        The most vertices it may hold.
    edges : int
        Edges that its worker holds; a super-vertex's edges to one vertex are one.
    projected_bytes : int
        The most memory of its worker.
    kept_edges : float
        Share of the graph's edges at its own vertices that it holds as they are.
    budget_bytes : int, optional
        What its worker has, where the plan says it in bytes.
    peak_bytes : int, optional
        The most memory of its worker, measured. None before the run, and in files.
    seconds : float, optional
        How long its worker embedded. None before the run, and in files.
    """

    vertices: int
    own: int
    halo: int = 0
    lumps: int = 0
    capacity: int
    edges: int
    projected_bytes: int
    kept_edges: float
    budget_bytes: int | None = None
    peak_bytes: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Seconds(Value):
    """How long each stage took by the clock, without reading the graph and writing vectors; stages do not overlap.

    Parameters
    ----------
    decompose : float, optional
        To choose parts and anchors.
    prepare : float, optional
        What one machine did for all workers before they began.
    embed : float, optional
        All workers, or the slowest of them where they ran elsewhere.
    reconcile : float, optional
        To make one space of the parts.
    refine : float, optional
        The pass over the whole graph.
    total : float, optional
        The sum.
    """

    decompose: float | None = None
    prepare: float | None = None
    embed: float | None = None
    reconcile: float | None = None
    refine: float | None = None
    total: float | None = None

    def stages(self) -> list[tuple[str, float]]:
        """Return the stages that took any time, by name and in order."""
        return [(name, took) for name, took in self.to_json().items() if name != "total" and took > 0]


@dataclass(frozen=True)
class Residual(Value):
    """How the anchors of one subgraph agree with the mean of the others'.

    Residuals are relative, ``|X - M| / sqrt((|X|^2 + |M|^2) / 2)``: 0 where they agree, about 1.41 where the
    spaces have nothing to do with each other, however many subgraphs there are.

    Parameters
    ----------
    before, after : float
        With the vectors as computed, and as mapped.
    held_out : float, optional
        As mapped by a reconciler that has not seen these anchors (every fifth): what to expect of vertices that
        are no anchors. None with fewer than 5 anchors or 2 subgraphs.
    smallest_singular_value : float
        Of the subgraph's anchor rows H_i; 0 where they span fewer than `dim` directions. What a rotation does
        along directions that the anchors hardly have is decided by noise.
    n_anchors, dim : int
        Fewer anchors than dimensions cannot determine a rotation.
    """

    NULLS: ClassVar[frozenset[str]] = frozenset({"held_out"})

    before: float
    after: float
    held_out: float | None
    smallest_singular_value: float
    n_anchors: int
    dim: int


@dataclass(frozen=True)
class Helped(Value):
    """How far anchors are off on average over the subgraphs, as residuals are.

    Parameters
    ----------
    before, after : float
        With the vectors as computed, and as mapped.
    held_out : float
        As mapped by a reconciler that has not seen these anchors.
    """

    before: float
    after: float
    held_out: float


@dataclass(frozen=True, kw_only=True)
class Reconciled(Value):
    """How the spaces of the parts became one.

    Parameters
    ----------
    reconciler : str, optional
        Its name.
    residuals : tuple of Residual
        How well the spaces meet, one entry per subgraph.
    helped : Helped, optional
        What the maps were good for, where anchors were held out.
    gave_way : bool
        Whether the spaces were left as they are, because anchors that were held out lie nearer so.
    """

    NULLS: ClassVar[frozenset[str]] = frozenset({"helped"})

    reconciler: str | None = None
    residuals: tuple[Residual, ...] = ()
    helped: Helped | None = None
    gave_way: bool = False


@dataclass(frozen=True, kw_only=True)
class Refined(Value):
    """What the pass over the whole graph did.

    Parameters
    ----------
    name : str, optional
        Of the pass; ``none`` where there was none.
    rounds : int, optional
        Of whitened propagation.
    changes : tuple of float, optional
        How much each round after the first changed the vectors.
    steps : int, optional
        Of the subspace iteration.
    products : int, optional
        Products with the adjacency matrix of a propagation.
    others : Settings
        What a pass of somebody else tells.
    """

    name: str | None = None
    rounds: int | None = None
    changes: tuple[float, ...] | None = None
    steps: int | None = None
    products: int | None = None
    others: Settings = field(default_factory=Settings)

    @classmethod
    def from_json(cls, data: Any, where: str = "") -> Self:
        """Return what JSON says of a pass; one of somebody else may mean something else by our names."""
        try:
            return super().from_json(data, where)
        except InputError:
            if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
                raise
            return cls(name=data["name"], others=Settings({key: data[key] for key in data if key != "name"}))


@dataclass(frozen=True, kw_only=True)
class Coordinator(Value):
    """What the process took that decomposed and merged, and how its memory decided; nothing in files.

    Parameters
    ----------
    partitioner : str, optional
        The one that its memory had room for; this and all but the last are None without ``coordinator_memory``.
    rows : str, optional
        Where the graph was: ``memory``, or memory-mapped ``files``.
    limit_bytes, room_bytes : int, optional
        Its most bytes, and what was left of them when the partitioner was chosen.
    projected_bytes : Settings, optional
        What each partitioner was projected to take, by name.
    lumps, backbone_bytes : int, optional
        How many super-vertices a backbone has, and the bytes that preparing it takes.
    peak_bytes : int, optional
        The most memory it had, measured.
    others : Settings
        What later versions tell.
    """

    partitioner: str | None = None
    rows: str | None = None
    limit_bytes: int | None = None
    room_bytes: int | None = None
    projected_bytes: Settings | None = None
    lumps: int | None = None
    backbone_bytes: int | None = None
    peak_bytes: int | None = None
    others: Settings = field(default_factory=Settings)


@dataclass(frozen=True, kw_only=True, eq=False)
class Report(Value, dict[str, Any]):
    """How an embedding was computed.

    What a report does not say is None or empty: an embedding that parge did not compute has an empty report, and
    files hold what is equal for equal runs alone (no times, no measured memory, no notices).

    A report is also a dict of its own JSON, to be read and not changed: ``report["parts"][3]["seconds"]`` is
    ``report.parts[3].seconds``, and `json.dumps` takes it.

    Parameters
    ----------
    vertices, edges : int, optional
        Of the graph.
    dim : int, optional
        Columns of the vectors.
    technique : str, optional
        What embedded the subgraphs.
    anchors : int, optional
        Vertices that every subgraph holds.
    edge_counts : EdgeCounts, optional
        Where the edges are.
    lost_edges : float, optional
        Share of the edges that join two parts and that neither holds.
    parts : tuple of Part
        One entry per subgraph.
    warnings : tuple of str
        What a user should know before trusting the result.
    notices : tuple of str
        What was done to the input, and which options had no effect.
    seconds : Seconds
        How long each stage took.
    reconcile : Reconciled
        How the spaces became one, and how well they meet.
    refine : Refined
        What the pass over the whole graph did.
    retries : tuple of str
        Which workers were begun again, and why.
    coordinator : Coordinator
        What the process took that decomposed and merged.
    plan : Settings
        The fields of the `parge.Plan` that was carried out, with nothing left open, but the technique.
    parge : str, optional
        The version that computed it.
    others : Settings
        Whatever else the JSON says.

    Examples
    --------
    >>> report = Report.from_json({"refine": {"name": "whiten", "rounds": 7}, "warnings": ["few anchors"]})
    >>> report.refine.rounds, report.warnings, report.seconds.embed
    (7, ('few anchors',), None)
    >>> report["refine"]
    {'name': 'whiten', 'rounds': 7}
    """

    vertices: int | None = None
    edges: int | None = None
    dim: int | None = None
    technique: str | None = None
    anchors: int | None = None
    edge_counts: EdgeCounts | None = None
    lost_edges: float | None = None
    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    seconds: Seconds = Seconds()
    reconcile: Reconciled = Reconciled()
    refine: Refined = Refined()
    retries: tuple[str, ...] = ()
    coordinator: Coordinator = Coordinator()
    plan: Settings = field(default_factory=Settings)
    parge: str | None = None
    others: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        dict.update(self, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the report as ``parge embed --json`` prints it, without what it does not say."""
        # Of a run, empty lists are told as well: the warnings in files, too, the others with what was measured.
        told = {"warnings"} if self.parts else set()
        told |= {"notices", "retries"} if self.parts and self.seconds != Seconds() else set()
        found = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in told or not (value is None or value == () or value in _NOTHING):
                found[item.name] = plain(value)
        others = found.pop("others", {})
        return {**found, **others}

    @classmethod
    def from_json(cls, data: Any, where: str = "") -> Self:
        """Return the report that JSON describes, also that of an earlier version; refuse what is none.

        What an earlier version did not say is left out. (Without a halo and super-vertices, all vertices but the
        anchors are a part's own.)
        """
        return cls(**cls._read(_with_own(data), where or "the report"))

    @classmethod
    def of(cls, report: Any) -> Self:
        """Return a report as it is, or the one that a plain dict describes."""
        return report if isinstance(report, cls) else cls.from_json(report)

    @property
    def is_measured(self) -> bool:
        """Whether the report is that of a run that ended, with its times and its memory; files hold neither."""
        measured = all(part.seconds is not None and part.peak_bytes is not None for part in self.parts)
        return bool(self.parts) and measured and self.seconds.total is not None and self.reconcile != Reconciled()

    @property
    def worker_seconds(self) -> list[float]:
        """How long each worker took; refused where it was not measured."""
        return [known(part.seconds, "how long the workers took") for part in self.parts]

    @property
    def worker_peaks(self) -> list[int]:
        """Most bytes of each worker, measured; refused where they were not."""
        return [known(part.peak_bytes, "how much memory the workers took") for part in self.parts]

    def reproducible(self) -> Self:
        """Return the report without what was measured and who did the work: equal for equal runs, and so are files.

        Notices on how a graph file was read are left out, too: who finishes a run by its folder never saw that file.
        """
        return replace(
            self,
            parts=tuple(replace(part, peak_bytes=None, seconds=None) for part in self.parts),
            seconds=Seconds(),
            notices=(),
            retries=(),
            coordinator=Coordinator(),
            plan=Settings({name: value for name, value in self.plan.items() if name not in WHERE}),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError("a report cannot be changed: make another one by dataclasses.replace")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


# Fields of a plan that say where its work is done, which does not change the result.
WHERE = frozenset({"engine", "address", "workers", "jobs", "coordinator_memory"})

_NOTHING = (Seconds(), Reconciled(), Refined(), Coordinator(), Settings())


def _with_own(data: Any) -> Any:
    """Return the JSON of a report with the own vertices of every part, which the first versions did not tell."""
    if not isinstance(data, Mapping) or not isinstance(data.get("parts"), list | tuple):
        return data
    parts = [_with_rest(part, data.get("anchors")) for part in data["parts"]]
    return {**data, "parts": parts}


def _with_rest(part: Any, anchors: Any) -> Any:
    if not isinstance(part, Mapping) or "own" in part:
        return part
    counts = [part.get("vertices", 0), 0 if anchors is None else anchors, part.get("halo", 0), part.get("lumps", 0)]
    if not all(type(count) is int for count in counts):
        return part
    return {**part, "own": max(0, counts[0] - sum(counts[1:]))}

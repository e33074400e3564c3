"""What each stage of a run reports, as typed numbers; a `parge.Report` holds one of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from parge.errors import InputError
from parge.values import Settings, Value


@dataclass(frozen=True)
class EdgeCounts(Value):
    """Where the edges of a decomposed graph are; every edge is counted once.

    Parameters
    ----------
    inside : int
        Both ends are own vertices of one part.
    at_anchors : int
        At least one end is an anchor, so a subgraph holds the edge.
    in_halos : int
        Between two parts, at least one of which has the other end in its halo.
    lost : int
        Cut edges at no anchor and in no halo: no worker sees them, or only as weight of super-vertices.
    """

    inside: int
    at_anchors: int
    in_halos: int
    lost: int


@dataclass(frozen=True, kw_only=True)
class Part(Value):
    """One subgraph: its size and limits, and the time and memory of its worker.

    Parameters
    ----------
    vertices : int
        All vertices that its worker holds: own vertices, anchors, halo and super-vertices.
    own, halo, supervertices : int
        The vertices without the anchors, which are the same in every subgraph. The JSON key of the last is ``lumps``.
    capacity : int
        Maximum number of vertices.
    edges : int
        Edges that its worker holds; several edges of a super-vertex to one vertex count once.
    projected_bytes : int
        Upper bound on the memory of its worker.
    kept_edges : float
        Share of the graph's edges at its own vertices that it holds unchanged.
    budget_bytes : int, optional
        Memory of its worker, if the plan gives it in bytes.
    peak_bytes : int, optional
        Measured peak memory of its worker. None before the run, and in files.
    seconds : float, optional
        Time of its worker. None before the run, and in files.
    projected_seconds : float, optional
        About how long its worker takes. Plans have it, runs and files do not.
    """

    KEYS: ClassVar[Mapping[str, str]] = {"supervertices": "lumps"}
    vertices: int
    own: int
    halo: int = 0
    supervertices: int = 0
    capacity: int
    edges: int
    projected_bytes: int
    kept_edges: float
    budget_bytes: int | None = None
    peak_bytes: int | None = None
    seconds: float | None = None
    projected_seconds: float | None = None


@dataclass(frozen=True)
class Summary(Value):
    """A decomposition in numbers: `edge_counts` says where the edges are, `lost_edges` is the share of lost ones."""

    vertices: int
    edges: int
    dim: int
    technique: str
    anchors: int
    edge_counts: EdgeCounts
    lost_edges: float
    parts: tuple[Part, ...]
    warnings: tuple[str, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Seconds(Value):
    """Wall time of each stage, without reading the graph and writing vectors; stages do not overlap.

    Parameters
    ----------
    decompose : float, optional
        To choose parts and anchors.
    prepare : float, optional
        Work of one machine for all workers before they start.
    embed : float, optional
        All workers, or the slowest of them if they ran on other machines.
    reconcile : float, optional
        To bring the parts into one space.
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
    """How well the anchors of one subgraph agree with the mean of the other subgraphs.

    Residuals are relative, ``|X - M| / sqrt((|X|^2 + |M|^2) / 2)``: 0 if they agree, about 1.41 if the spaces are
    unrelated, for any number of subgraphs.

    Parameters
    ----------
    before, after : float
        Of the vectors before and after alignment.
    held_out : float, optional
        After an alignment that did not use these anchors (every fifth one): what to expect for vertices that are not
        anchors. None with fewer than 5 anchors or 2 subgraphs.
    smallest_singular_value : float
        Of the subgraph's anchor rows H_i; 0 if they span fewer than `dim` directions. Along directions in which the
        anchors hardly vary, noise decides the rotation.
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
    """Mean of each residual of the anchors over all subgraphs; see `Residual`."""

    before: float
    after: float
    held_out: float


@dataclass(frozen=True, kw_only=True)
class Reconciled(Value):
    """How the parts were brought into one space.

    Parameters
    ----------
    reconciler : str, optional
        Its name.
    residuals : tuple of Residual
        How well the spaces agree, one entry per subgraph.
    helped : Helped, optional
        How much the alignment helped, if anchors were held out.
    fell_back : bool
        Whether the alignment was skipped because it did not help on held-out anchors.
    """

    KEYS: ClassVar[Mapping[str, str]] = {"fell_back": "gave_way"}
    NULLS: ClassVar[frozenset[str]] = frozenset({"helped"})

    reconciler: str | None = None
    residuals: tuple[Residual, ...] = ()
    helped: Helped | None = None
    fell_back: bool = False


@dataclass(frozen=True, kw_only=True)
class Refined(Value):
    """What the pass over the whole graph did.

    Parameters
    ----------
    name : str, optional
        Name of the pass; ``none`` if there was none.
    rounds : int, optional
        Rounds of whitened propagation.
    changes : tuple of float, optional
        How much each round after the first changed the vectors.
    steps : int, optional
        Steps of the subspace iteration.
    products : int, optional
        Products with the adjacency matrix of a propagation.
    factor : float, optional
        What all vectors were multiplied by, where the pass did nothing else.
    others : Settings
        What the pass of a plug-in reports.
    """

    name: str | None = None
    rounds: int | None = None
    changes: tuple[float, ...] | None = None
    steps: int | None = None
    products: int | None = None
    factor: float | None = None
    others: Settings = field(default_factory=Settings)

    @classmethod
    def of(cls, done: "Refined | Mapping[str, Any]", name: str | None = None) -> "Refined":
        """Return what a pass of that name did, as it returned it; passes of other packages may return a mapping.

        >>> Refined.of({"rounds": 3}, "whiten") == Refined.of(Refined(rounds=3), "whiten")
        True
        """
        found = done if isinstance(done, Refined) else cls.from_json({key: done[key] for key in done if key != "name"})
        return replace(found, name=name)

    @classmethod
    def from_json(cls, data: Any, where: str = "") -> Self:
        """Return the JSON of a pass; the pass of a plug-in may use our names with another meaning."""
        try:
            return super().from_json(data, where)
        except InputError:
            if not isinstance(data, Mapping) or not isinstance(data.get("name", ""), str):
                raise
            return cls(name=data.get("name"), others=Settings({key: data[key] for key in data if key != "name"}))


@dataclass(frozen=True, kw_only=True)
class Coordinator(Value):
    """Memory of the coordinator, which decomposes and merges, and what it decided; not stored in files.

    Parameters
    ----------
    partitioner : str, optional
        The partitioner that fits into its memory. This and all but the last are None without ``coordinator_memory``.
    rows : str, optional
        Where the graph was: ``memory``, or memory-mapped ``files``.
    limit_bytes, room_bytes : int, optional
        Its memory limit, and what was left of it when the partitioner was chosen.
    projected_bytes : Settings, optional
        Projected memory of each partitioner, by name.
    landmarks, backbone_bytes : int, optional
        Number of landmarks of a backbone, and the bytes needed to prepare it.
    peak_bytes : int, optional
        Measured peak memory.
    others : Settings
        Fields of later versions.
    """

    KEYS: ClassVar[Mapping[str, str]] = {"landmarks": "lumps"}
    partitioner: str | None = None
    rows: str | None = None
    limit_bytes: int | None = None
    room_bytes: int | None = None
    projected_bytes: Settings | None = None
    landmarks: int | None = None
    backbone_bytes: int | None = None
    peak_bytes: int | None = None
    others: Settings = field(default_factory=Settings)


@dataclass(frozen=True, kw_only=True)
class Took(Value):
    """What a stage took in one shard.

    Parameters
    ----------
    peak_bytes : int
        Peak memory.
    seconds : float
        Processor time.
    sent_bytes : int
        Bytes of arrays sent to other processes.
    """

    peak_bytes: int
    seconds: float
    sent_bytes: int


@dataclass(frozen=True, kw_only=True)
class ShardStage(Took):
    """What a stage took in one shard, for the report.

    Parameters
    ----------
    arcs : int, optional
        Neighbours of its vertices, after reading.
    rows_bytes : int, optional
        Bytes of the rows that were split.
    """

    arcs: int | None = None
    rows_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class ShardStages(Value):
    """What each stage took in one shard."""

    read: ShardStage | None = None
    decompose: ShardStage | None = None
    prepare: ShardStage | None = None
    refine: ShardStage | None = None


@dataclass(frozen=True, kw_only=True)
class Shard(Value):
    """One shard of a run in shards.

    Parameters
    ----------
    peak_bytes : int
        Peak memory over all stages.
    stages : ShardStages, optional
        What each stage took.
    """

    peak_bytes: int
    stages: ShardStages | None = None


@dataclass(frozen=True)
class Tried(Value):
    """A technique that was tried on a sample, and how well it separated held-out edges from pairs drawn by degree."""

    technique: str
    roc_auc: float


@dataclass(frozen=True)
class TechniqueChoice(Value):
    """What ``technique="auto"`` chose, and why.

    Parameters
    ----------
    technique : str
        Name of the technique.
    because : str
        The reason.
    tried : tuple of Tried
        The techniques that were compared; the first is taken in case of doubt.
    vertices, held_out : int, optional
        Size of the sample on which they were compared, and edges that were held out of it.
    """

    technique: str
    because: str
    tried: tuple[Tried, ...] = ()
    vertices: int | None = None
    held_out: int | None = None

    def __str__(self) -> str:
        """Return one sentence.

        >>> str(TechniqueChoice("blend", "it was best", (Tried("blend", 0.91), Tried("spectral", 0.9)), 2000, 500))
        'auto chose blend: it was best (ROC-AUC on 500 edges of 2,000 vertices: blend .910, spectral .900)'
        """
        scores = ", ".join(f"{each.technique} {each.roc_auc:.3f}".replace(" 0.", " .") for each in self.tried)
        sample = f" (ROC-AUC on {self.held_out:,} edges of {self.vertices:,} vertices: {scores})" if scores else ""
        return f"auto chose {self.technique}: {self.because}{sample}"

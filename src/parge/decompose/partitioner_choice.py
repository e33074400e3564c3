"""Which partitioner the coordinator's memory has room for, chosen from projected bytes and said in words."""

from dataclasses import dataclass, replace

from parge.decompose.anchors import Decomposer
from parge.decompose.decomposition import Decomposition
from parge.decompose.limits import Limits
from parge.decompose.partitioners import SplitMemory, partitioner_named
from parge.decompose.supervertices import NEAR_SHARE
from parge.errors import InfeasibleError
from parge.events import OnStep, ignore_step
from parge.graph.graph import Counted, Graph
from parge.memory import format_bytes, private_bytes
from parge.stage_reports import Coordinator
from parge.storage import MEMORY, storage_like
from parge.values import Settings

# `SplitMemory.per_early_edge` counts up to here.
_EARLY_EDGES = 6_000_000

# Blocks of rows in flight.
_FIXED = 3_000_000

# What stays of a decomposition into landmarks while a backbone is prepared, KaMinPar's heap included: 1 to 17 MB on
# graphs of 3,000 to 100,000 vertices, 31 MB on one of 300,000 (planted, 2 to 32 parts).
_CONTEXT_FIXED, _CONTEXT_PER_VERTEX = 20_000_000, 60


@dataclass(frozen=True)
class PartitionerChoice:
    """A partitioner that fits, and the memory that each was projected to need in addition to the graph."""

    partitioner: str  # kaminpar, kaminpar-compressed or streaming: the first of them that fits
    in_files: bool  # whether the graph is in memory-mapped files
    # Most bytes of the coordinator, and what was left of them.
    limit: int
    free: int
    projected: dict[str, int]  # bytes of each partitioner
    # How many landmarks a backbone has, and bytes while it is prepared; 0 where there is none.
    landmarks: int = 0
    backbone: int = 0

    @property
    def is_first(self) -> bool:
        """Whether the partitioner is the one that was asked for, not a smaller one."""
        return next(iter(self.projected)) == self.partitioner

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} {format_bytes(size)}" for name, size in self.projected.items())
        where = "in memory-mapped files" if self.in_files else "in memory"
        backbone = f"; to prepare a backbone of {self.landmarks:,} landmarks: {format_bytes(self.backbone)}"
        return (
            f"of the coordinator's {format_bytes(self.limit)}, {format_bytes(max(0, self.free))} are left with the "
            f"graph {where}; projected memory to split it: {sizes}; chosen: "
            f"{self.partitioner}{backbone if self.landmarks else ''}"
        )

    def report(self) -> Coordinator:
        """Return the choice as the report has it."""
        return Coordinator(
            partitioner=self.partitioner,
            rows="files" if self.in_files else "memory",
            limit_bytes=self.limit,
            room_bytes=self.free,
            projected_bytes=Settings(self.projected),
            landmarks=self.landmarks or None,
            backbone_bytes=self.backbone if self.landmarks else None,
        )


def choose(graph: Graph, limit: int, asked: str = "kaminpar") -> PartitionerChoice:
    """Return the best partitioner that fits in the memory left; raise where none does.

    A partitioner other than kaminpar is used as requested, or refused.
    """
    in_files = storage_like(graph.indices) is not MEMORY
    names = (asked, *partitioner_named(asked).smaller)
    known = {name: partitioner_named(name).memory for name in names}
    projected = {name: _projected(memory, graph, in_files) for name, memory in known.items() if memory is not None}
    free = memory_left(limit)
    fitting = [name for name, size in projected.items() if size <= free]
    if not fitting:
        least = names[-1]
        in_passes = partitioner_named(least).around_anchors is not None
        how = "even splitting the graph in passes over its rows" if in_passes else f"splitting it with {least}"
        other = "" if in_passes else ", or omit --partitioner"
        raise InfeasibleError(
            f"the coordinator has {format_bytes(max(0, free))} left of {format_bytes(limit)}, but {how} needs "
            f"{format_bytes(projected[least])}. Give --coordinator-memory "
            f"{-(-(limit - free + projected[least]) // 10**6)}MB or more{other}"
        )
    return PartitionerChoice(fitting[0], in_files, limit, free, projected)


def unprojected(partitioner: str, n_parts: int) -> tuple[str, ...]:
    """Return a notice where the coordinator's memory is limited and the memory of the partitioner is unknown."""
    if partitioner_named(partitioner).memory is not None or n_parts == 1:
        return ()
    return (
        f"--coordinator-memory does not choose the partitioner here: {partitioner} is requested, and its memory is not "
        "projected. With --partitioner kaminpar, one that fits is chosen.",
    )


def memory_left(limit: int) -> int:
    """Return what is left of the coordinator's memory."""
    return limit - private_bytes()


def context_bytes(graph: Counted, n_parts: int) -> int:
    """Return the most memory that a decomposition into landmarks keeps besides the graph, nearby vertices included."""
    near = min(int(NEAR_SHARE * graph.n_vertices) * n_parts, 2 * graph.n_edges)
    return _CONTEXT_FIXED + _CONTEXT_PER_VERTEX * graph.n_vertices + 8 * near


def _projected(memory: SplitMemory, graph: Graph, in_files: bool) -> int:
    n, m = graph.n_vertices, graph.n_edges
    size = _FIXED + memory.per_vertex * n + memory.per_early_edge * min(m, _EARLY_EDGES) + memory.per_edge * m
    if memory.copies_rows and not in_files:
        size += graph.indices.itemsize * 2 * m + (0 if graph.weights is None else 8 * m)
    return size


@dataclass(frozen=True)
class ChosenDecomposer(Decomposer):
    """A decomposer whose partitioner was chosen by the coordinator's memory, with a notice of the choice."""

    decomposer: Decomposer
    choice: PartitionerChoice

    def decompose(self, graph: Graph, limits: Limits, *, on_step: OnStep = ignore_step) -> Decomposition:
        """Decompose as chosen."""
        on_step(str(self.choice))
        found = self.decomposer.decompose(graph, limits, on_step=on_step)
        return replace(found, notices=(*found.notices, str(self.choice)))

"""How long every stage takes, what it holds, and what goes through disks and the network."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

from parge.errors import InputError
from parge.estimate.constants import constants
from parge.estimate.question import Question
from parge.memory import BASE_BYTES, format_bytes
from parge.refine.base import BUDGET, Workspace, refiners
from parge.techniques.base import Technique

HOUR, DAY = 3600.0, 86_400.0

EMBED = "embed"
"""The stage of the workers."""

# Of a worker's memory, what anchors and the edges among them may take.
_ANCHORS_SHARE = 0.10

# Bytes of a part folder: offset, id and number of a vertex; two stored neighbours per edge.
_FOLDER = 24.0, 8.0

# Bytes of the rows: an offset per vertex, two stored neighbours per edge.
_ROWS = 8.0, 8.0

# Passes over the rows to choose anchors and split by streaming, five of them a split: with many anchors (1 % of the
# vertices or more; so it was measured) the split is made four times, with fewer twice.
_PASSES_MANY, _PASSES_FEW, _MANY = 29, 13, 0.01

# The constant of a pass is of this many rounds of `whiten`.
_ROUNDS_MEASURED = 3

# Bytes of a vertex that a pass cannot do without: 4 columns and what they become, and the sum of its row.
REFINE_BYTES = 4 * 8 + 12


@dataclass(frozen=True)
class Stage:
    """One stage: how long it takes, what it holds and moves."""

    name: str
    machines: int  # how many work at once, one core each
    seconds: float  # of each: at work, then waiting for the disk, then for the network; as if nothing overlapped
    core_seconds: float  # those at work
    # Bytes that each holds, and that each reads from and writes to its disk.
    memory: float = 0.0
    disk: float = 0.0
    network: float = 0.0  # bytes through the coordinator's port
    how: str = ""  # which way it is done

    def price(self, question: Question) -> float | None:
        """Return what the stage costs, as far as prices are given."""
        if question.price_core_hour is None and question.price_gb is None:
            return None
        cores = (question.price_core_hour or 0.0) * self.machines * self.seconds / HOUR
        return cores + (question.price_gb or 0.0) * self.network / 1e9


@dataclass(frozen=True)
class Sizes:
    """What a question comes to, in counts and bytes: every number that a stage is a product of.

    >>> from parge.techniques.deepwalk import DeepWalk
    >>> Sizes(Question(vertices=1000, edges=5000, workers=1), DeepWalk(dim=32)).vectors
    128000.0
    """

    question: Question  # how large the graph is, and what the machines have
    technique: Technique  # embeds the parts
    refine: str | None = None  # the pass over the whole graph; by default the technique's own
    backbone: bool = True  # whether parts that are written in memory have a backbone
    usual: bool = False  # count the rounds that a pass usually takes, instead of those to plan for

    @cached_property
    def known(self) -> dict[str, float]:
        """The measured constants."""
        return {name: constant.value for name, constant in constants().items()}

    @property
    def width(self) -> float:
        """Dimensions, as a share of those that were measured."""
        return self.technique.dim / 128

    @cached_property
    def workers(self) -> int:
        """Those asked for, or the fewest that hold the graph."""
        return self.question.workers or self.fewest_workers()

    @cached_property
    def anchors(self) -> float:
        """Anchors that take a tenth of a worker's memory, but no more than a tenth of the vertices; one has none."""
        return 0.0 if self.workers == 1 else self._affordable_anchors

    @cached_property
    def _affordable_anchors(self) -> float:
        free = _ANCHORS_SHARE * self.question.memory
        low, high = 0.0, 0.1 * self.question.vertices
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.anchor_memory(middle) <= free else (low, middle)
        return float(int(low))

    def edges_among(self, anchors: float) -> float:
        """Return the edges among the anchors, which every worker holds.

        Anchors are hubs. Where degrees follow a power law of exponent 2.5, the top share s of the vertices has s^(1/3)
        of all ends, so s^(2/3) of the edges have both ends there. The benchmark finds a little less.
        """
        share: float = (anchors / self.question.vertices) ** (2 / 3)
        return self.known["anchor_edges"] * self.question.edges * share

    def anchor_memory(self, anchors: float) -> float:
        """Return the bytes of that many anchors, with the edges among them, in every worker."""
        one = self.technique.footprint()
        return one.per_vertex * anchors + one.per_edge * self.edges_among(anchors)

    def fewest_workers(self) -> int:
        """Return how many workers hold the graph when every one holds the anchors, too."""
        one, asked = self.technique.footprint(), self.question
        whole = one.per_vertex * asked.vertices + one.per_edge * asked.edges
        if one.fixed + whole <= asked.memory:
            return 1
        shared = one.fixed + self.anchor_memory(self._affordable_anchors)
        if shared >= asked.memory:
            raise InputError(
                f"a worker of memory={format_bytes(asked.memory)} has nothing left after the {format_bytes(shared)} "
                "that every worker needs: increase memory="
            )
        return max(2, ceil(whole / (asked.memory - shared)))

    @property
    def own_vertices(self) -> float:
        """Vertices of a worker, anchors included."""
        return self.question.vertices / self.workers + self.anchors

    @property
    def own_edges(self) -> float:
        """Edges of a worker."""
        return self.question.edges / self.workers + self.edges_among(self.anchors)

    @property
    def worker_memory(self) -> float:
        """Bytes that a worker holds."""
        one = self.technique.footprint()
        return one.fixed + one.per_vertex * self.own_vertices + one.per_edge * self.own_edges

    @property
    def in_memory(self) -> bool:
        """Whether the coordinator reads and splits the graph in its memory."""
        return self.known["coordinator_memory"] * self.question.edges <= self.question.coordinator

    @property
    def text(self) -> float:
        """Bytes of the edge list: two numbers per line."""
        return 2.0 * (len(str(self.question.vertices - 1)) + 1) * self.question.edges

    @property
    def rows(self) -> float:
        """Bytes of the sorted rows."""
        return _ROWS[0] * self.question.vertices + _ROWS[1] * self.question.edges

    @property
    def folder(self) -> float:
        """Bytes of one part folder."""
        return _FOLDER[0] * self.own_vertices + _FOLDER[1] * self.own_edges

    @property
    def vectors(self) -> float:
        """Bytes of all vectors."""
        return 4.0 * self.technique.dim * self.question.vertices

    @property
    def results(self) -> float:
        """Bytes of the workers' vectors, every anchor once a worker."""
        return self.vectors + 4.0 * self.technique.dim * self.anchors * self.workers

    @property
    def run_folder(self) -> float:
        """Bytes of the coordinator's disk while it refines: the run, its vectors merged, and as much again twice."""
        return self.rows + self.workers * self.folder + self.results + 3 * self.vectors

    def passed(self, size: float, times: float) -> float:
        """Return the bytes that a disk moves for passes over a file: one pass where memory keeps it, else all."""
        return size * (times if size > self.question.coordinator else 1.0)


def stages(sizes: Sizes) -> tuple[Stage, ...]:
    """Return the stages of a run, in order; a pass that the technique does not take, or one worker, is left out."""
    found = (*splitting(sizes, in_memory=sizes.in_memory), embedding(sizes), *_merging(sizes))
    refine = refining(sizes)
    return (*found, *([] if refine is None else [refine]), _write(sizes))


def splitting(sizes: Sizes, *, in_memory: bool) -> tuple[Stage, Stage, Stage]:
    """Return what the coordinator does before anybody embeds: it reads, decomposes and sends the parts."""
    asked, known, m = sizes.question, sizes.known, sizes.question.edges
    sent = sizes.workers * sizes.folder
    if in_memory:
        memory, written = known["coordinator_memory"] * m, "write_parts" if sizes.backbone else "cut_out"
        return (
            _stage(asked, "read", known["read"] * m, memory=memory, disk=sizes.text + sizes.rows, how="in memory"),
            _stage(asked, "decompose", known["decompose"] * m, memory=memory, how="KaMinPar"),
            _stage(asked, "send parts", known[written] * m, memory=memory, disk=2 * sent, network=sent),
        )
    memory = known["stream_memory"] * asked.vertices
    passes = _PASSES_MANY if sizes.anchors >= _MANY * asked.vertices else _PASSES_FEW
    # What sorting has in files is written and read once; what it leaves is copied into the run folder.
    sorting = sizes.text + sizes.passed(known["sort_disk"] * m, 2) + sizes.rows
    return (
        _stage(asked, "read", known["sort"] * m, memory=memory, disk=sorting, how="sorted in files"),
        _stage(
            asked,
            "decompose",
            known["stream"] * m * passes / _PASSES_MANY,
            memory=memory,
            disk=sizes.passed(sizes.rows, passes),
            how="streaming partitioner",
        ),
        _stage(asked, "send parts", known["cut_out"] * m, memory=memory, disk=sizes.rows + 2 * sent, network=sent),
    )


def embedding(sizes: Sizes) -> Stage:
    """Return the workers' stage; each reads its folder and writes its vectors."""
    technique, workers = sizes.technique, sizes.workers
    disk = sizes.folder + sizes.results / workers
    work = _embed_seconds(sizes) / workers
    return _stage(
        sizes.question, EMBED, work, machines=workers, memory=sizes.worker_memory, disk=disk, how=technique.name
    )


def _merging(sizes: Sizes) -> tuple[Stage, Stage]:
    """Return the vectors' way into one file: sent and written, then checked, mapped and written again."""
    asked, work = sizes.question, sizes.known["reconcile"] * sizes.question.vertices * sizes.width
    merged = sizes.passed(sizes.results, 2) + sizes.vectors
    return (
        _stage(asked, "collect", 0.0, disk=sizes.results, network=sizes.results),
        _stage(asked, "reconcile, merge", work, memory=_merge_memory(sizes), disk=merged),
    )


@dataclass(frozen=True)
class Imagined:
    """The counts of a graph that nobody has."""

    n_vertices: int
    n_edges: int
    features: None = None


def refining(sizes: Sizes) -> Stage | None:
    """Return the pass over the whole graph, if there is one.

    Columns go through memory in groups. A round reads the rows once per group. Of the two matrices of vectors it reads
    one, and reads and writes the other. Whitening then passes over both, five times in all.
    """
    asked = sizes.question
    name = sizes.refine or sizes.technique.refine_for(Imagined(asked.vertices, asked.edges))
    refiner = refiners.get(name)()
    if refiner.is_identity or (sizes.workers == 1 and not sizes.technique.refines_whole):
        return None
    rounds = refiner.rounds_usual if sizes.usual else refiner.rounds_planned
    work = sizes.known["refine"] * asked.edges * sizes.width * rounds / _ROUNDS_MEASURED
    workspace = Workspace(budget=min(BUDGET, asked.coordinator // 3))
    groups = len(workspace.columns(asked.vertices, sizes.technique.dim, bytes_per_entry=8))
    disk = sizes.passed(sizes.rows, rounds * groups) + sizes.passed(2 * sizes.vectors, rounds * (3 * groups + 5) / 2)
    memory = max(_merge_memory(sizes), REFINE_BYTES * asked.vertices)
    return _stage(asked, "refine", work, memory=memory, disk=disk, how=name)


def _write(sizes: Sizes) -> Stage:
    work = sizes.known["write"] * sizes.question.vertices * sizes.width
    return _stage(sizes.question, "write", work, memory=_merge_memory(sizes), disk=2 * sizes.vectors)


def _merge_memory(sizes: Sizes) -> float:
    """Return what was measured, or less: of a small graph's columns, in and out, or where there is less memory."""
    small = BASE_BYTES + 8.0 * sizes.technique.dim * sizes.question.vertices
    return min(sizes.known["merge_memory"], small, float(sizes.question.coordinator))


def _stage(
    question: Question,
    name: str,
    core_seconds: float,
    *,
    machines: int = 1,
    memory: float = 0.0,
    disk: float = 0.0,
    network: float = 0.0,
    how: str = "",
) -> Stage:
    seconds = core_seconds + disk / question.disk_speed + network / question.network_speed
    return Stage(name, machines, seconds, core_seconds, memory, disk, network, how)


def _embed_seconds(sizes: Sizes) -> float:
    """Return the seconds of all workers: per vertex or per edge, whichever the work grows with."""
    known, technique = constants(), sizes.technique
    found = known.get(f"embed_{technique.name}")
    if found is None:
        measured = ", ".join(sorted(name.removeprefix("embed_") for name in known if name.startswith("embed_")))
        raise InputError(f"{technique.name} has not been measured on large graphs; estimates are for {measured}")
    count = sizes.question.edges if found.per_edge else sizes.question.vertices
    return found.value * count * technique.relative_work

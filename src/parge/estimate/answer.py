"""Time, memory, network and price of a run that nobody has made yet, by multiplication from measured constants."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from math import ceil
from typing import Any

from parge.errors import InputError
from parge.memory import format_bytes, parse_bytes
from parge.techniques.base import Technique
from parge.techniques.walk_settings import SkipGramWalks

HOUR, DAY = 3600.0, 86_400.0

# Of a worker's memory, what anchors and the edges among them may take.
_ANCHORS_SHARE = 0.10

# Bytes of a part folder: offset, id and number of a vertex; two stored neighbours an edge.
_FOLDER = 24.0, 8.0


@dataclass(frozen=True)
class Constant:
    """A measured number and the benchmark that prints it."""

    value: float
    unit: str
    source: str


def constants() -> dict[str, Constant]:
    """Return the measured constants by name; they are kept in one file of the package, ``constants.json``."""
    found = json.loads(files("parge").joinpath("constants.json").read_text())
    return {name: Constant(**entry) for name, entry in found.items()}


@dataclass(frozen=True)
class Question:
    """What is to be estimated.

    Parameters
    ----------
    vertices, edges : float
        Size of the graph.
    workers : int, optional
        How many machines; as few as hold the graph unless given.
    memory, coordinator, disk : int
        Bytes of a worker, of the coordinator, and of its disk.
    price_core_hour, price_gb : float, optional
        Price of a core for an hour, and of a gigabyte sent.
    """

    vertices: float
    edges: float
    workers: int | None = None
    memory: int = 64 * 10**9
    coordinator: int = 64 * 10**9
    disk: int = 10 * 10**12
    price_core_hour: float | None = None
    price_gb: float | None = None

    @staticmethod
    def of(pairs: dict[str, str]) -> "Question":
        """Return the question of ``key=value`` texts, such as ``{"vertices": "2e9", "memory": "64GB"}``."""
        unknown = sorted(set(pairs) - set(_READ))
        missing = [name for name in ("vertices", "edges") if name not in pairs]
        if unknown or missing:
            wrong = f"it does not know {', '.join(unknown)}" if unknown else f"{' and '.join(missing)} must be given"
            known = ", ".join(f"{name}=" for name in (*_READ, "dim", "technique"))
            raise InputError(f"--estimate takes {known}; {wrong}")
        return Question(**{name: _READ[name](name, text) for name, text in pairs.items()})


def _positive(name: str, text: str) -> float:
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        value = float("nan")
    if not 0 < value < 1e30:
        raise InputError(f"{name} must be a number over 0, such as 2e9; got {text!r}")
    return value


def _count(name: str, text: str) -> int:
    return max(1, round(_positive(name, text)))


def _size(_name: str, text: str) -> int:
    return parse_bytes(text)


_READ: dict[str, Callable[[str, str], Any]] = {
    "vertices": _positive,
    "edges": _positive,
    "workers": _count,
    "memory": _size,
    "coordinator": _size,
    "disk": _size,
    "price_core_hour": _positive,
    "price_gb": _positive,
}


@dataclass(frozen=True)
class Stage:
    """One stage: how long it takes, what it holds and sends.

    Parameters
    ----------
    machines : int
        How many work at once, one core each.
    seconds : float
        Of each.
    memory, network : float
        Bytes that each holds, and that are sent in all.
    """

    name: str
    machines: int
    seconds: float
    memory: float = 0.0
    network: float = 0.0
    how: str = ""

    def price(self, question: Question) -> float | None:
        """Return what the stage costs, as far as prices are given."""
        if question.price_core_hour is None and question.price_gb is None:
            return None
        cores = (question.price_core_hour or 0.0) * self.machines * self.seconds / HOUR
        return cores + (question.price_gb or 0.0) * self.network / 1e9


@dataclass(frozen=True)
class Break:
    """Something that does not fit beyond a size: what it needs, what it has, and what would take its place."""

    what: str
    needs: str
    limit: str
    share: float
    edges: float
    instead: str


@dataclass(frozen=True)
class Estimate:
    """The answer: stages in order, and what breaks as the graph grows, first to last."""

    question: Question
    workers: int
    anchors: float
    stages: tuple[Stage, ...]
    breaks: tuple[Break, ...]

    @property
    def seconds(self) -> float:
        """All stages, one after the other."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def core_hours(self) -> float:
        """Hours of all cores."""
        return sum(stage.machines * stage.seconds for stage in self.stages) / HOUR

    @property
    def network(self) -> float:
        """Bytes sent."""
        return sum(stage.network for stage in self.stages)

    @property
    def price(self) -> float | None:
        """Price of all stages, as far as prices are given."""
        prices = [stage.price(self.question) for stage in self.stages]
        return sum(price for price in prices if price is not None) if any(p is not None for p in prices) else None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "vertices": self.question.vertices,
            "edges": self.question.edges,
            "workers": self.workers,
            "anchors": self.anchors,
            "stages": [{**vars(stage), "price": stage.price(self.question)} for stage in self.stages],
            "seconds": self.seconds,
            "core_hours": self.core_hours,
            "network": self.network,
            "price": self.price,
            "breaks": [vars(item) for item in self.breaks],
        }


def estimate(question: Question, technique: Technique) -> Estimate:
    """Return what a run costs, stage by stage, and where it breaks first (docs/estimate.md has the arithmetic)."""
    known = {name: constant.value for name, constant in constants().items()}
    anchors = _anchors(question, technique, known)
    workers = question.workers or _fewest_workers(question, technique, anchors, known)
    stages = _stages(question, technique, workers, anchors, known)
    return Estimate(question, workers, anchors, stages, _breaks(question, technique, known))


def edges_among(question: Question, anchors: float, known: dict[str, float]) -> float:
    """Return the edges among the anchors, which every worker holds.

    Anchors are hubs. Where degrees follow a power law of exponent 2.5, the top share s of the vertices has s^(1/3) of
    all ends, so s^(2/3) of the edges have both ends there; the benchmark finds a little less.
    """
    share: float = (anchors / question.vertices) ** (2 / 3)
    return known["anchor_edges"] * question.edges * share


def _anchors(question: Question, technique: Technique, known: dict[str, float]) -> float:
    """Return how many anchors take a tenth of a worker's memory, but no more than a tenth of the vertices."""
    one, room = technique.footprint(), _ANCHORS_SHARE * question.memory
    low, high = 0.0, 0.1 * question.vertices
    for _ in range(60):
        middle = (low + high) / 2
        taken = one.per_vertex * middle + one.per_edge * edges_among(question, middle, known)
        low, high = (middle, high) if taken <= room else (low, middle)
    return float(int(low))


def _fewest_workers(question: Question, technique: Technique, anchors: float, known: dict[str, float]) -> int:
    """Return how many workers hold the graph when every one holds the anchors, too."""
    one = technique.footprint()
    shared = one.fixed + one.per_vertex * anchors + one.per_edge * edges_among(question, anchors, known)
    room = question.memory - shared
    if room <= 0:
        raise InputError(
            f"a worker of {format_bytes(question.memory)} has no room beside the {format_bytes(shared)} that every one "
            "takes: give memory= more"
        )
    return max(1, ceil((one.per_vertex * question.vertices + one.per_edge * question.edges) / room))


def _walk_share(technique: Technique) -> float:
    """Return the work of a vertex against that of the measured setting: 10 walks of 40, window 5, 5 negatives."""
    share = technique.dim / 128
    if isinstance(technique, SkipGramWalks):
        steps, pairs = technique.walks * technique.walk_length, (technique.window + 1) * (technique.negatives + 1)
        share *= steps * pairs / (10 * 40 * 6 * 6)
    return share


def _embed_seconds(question: Question, technique: Technique) -> float:
    """Return the seconds of all workers: so much a vertex, or an edge, whichever the work grows with."""
    known = constants()
    found = known.get(f"embed_{technique.name}")
    if found is None:
        measured = ", ".join(sorted(name.removeprefix("embed_") for name in known if name.startswith("embed_")))
        raise InputError(f"nobody has measured {technique.name} at size; estimates are for {measured}")
    count = question.edges if found.unit.startswith("seconds an edge") else question.vertices
    return found.value * count * _walk_share(technique)


def _stages(
    question: Question, technique: Technique, workers: int, anchors: float, known: dict[str, float]
) -> tuple[Stage, ...]:
    n, m, width = question.vertices, question.edges, technique.dim / 128
    one = technique.footprint()
    in_memory = known["coordinator_memory"] * m <= question.coordinator
    among = edges_among(question, anchors, known) if workers > 1 else 0.0
    own_vertices, own_edges = n / workers + anchors, m / workers + among
    vectors = 4.0 * technique.dim * n
    folders = workers * (_FOLDER[0] * own_vertices + _FOLDER[1] * own_edges)
    memory = known["coordinator_memory"] * m if in_memory else known["stream_memory"] * n
    read, split, cut = ("read", "decompose", "write_parts") if in_memory else ("sort", "stream", "cut_out")
    return (
        Stage("read", 1, known[read] * m, memory, how="in memory" if in_memory else "sorted in files"),
        Stage("decompose", 1, known[split] * m, memory, how="KaMinPar" if in_memory else "streaming partitioner"),
        Stage("send parts", 1, known[cut] * m, network=folders),
        Stage(
            "embed",
            workers,
            _embed_seconds(question, technique) / workers,
            one.fixed + one.per_vertex * own_vertices + one.per_edge * own_edges,
            how=technique.name,
        ),
        Stage("collect", 1, 0.0, network=vectors + 4.0 * technique.dim * anchors * workers),
        Stage("reconcile, merge", 1, known["reconcile"] * n * width, known["merge_memory"]),
        Stage("refine", 1, known["refine"] * m * width, known["merge_memory"]),
        Stage("write", 1, known["write"] * n * width, known["merge_memory"]),
    )


def _breaks(question: Question, technique: Technique, known: dict[str, float]) -> tuple[Break, ...]:
    """Return what grows with the graph against what is there, the first to break first."""
    n, m, one = question.vertices, question.edges, technique.footprint()
    serial = (known["sort"] + known["stream"] + known["cut_out"]) * m
    tenth = one.per_vertex * 0.1 * n + one.per_edge * edges_among(question, 0.1 * n, known)
    candidates = [
        (
            "the coordinator reads, sorts and splits alone",
            serial,
            DAY,
            duration,
            "workers read and sort a slice of the file each and stream it against shared counts of the parts (buffered "
            "restreaming); the coordinator adds counts",
        ),
        (
            "one row of numbers a vertex in the coordinator",
            known["stream_memory"] * n,
            float(question.coordinator),
            format_bytes,
            "parts and cut degrees in shards by vertex, one worker each; anchors by a threshold on the degree",
        ),
        (
            "sorting takes the coordinator's disk",
            known["sort_disk"] * m,
            float(question.disk),
            format_bytes,
            "the rows stay in the slices that workers have sorted; nobody holds all of them",
        ),
        (
            "a tenth of the vertices as anchors in every worker",
            tenth,
            float(question.memory),
            format_bytes,
            "fewer anchors (so many as take a tenth of a worker's memory are estimated here), or a backbone, whose "
            "lumps are a few thousand whatever the graph; past that, anchors shared by groups of workers, in a tree",
        ),
        (
            "all vectors pass through one network port (10 Gbit/s)",
            4.0 * technique.dim * n / 1.25e9,
            DAY,
            duration,
            "each worker maps and writes its own vectors: only anchors travel",
        ),
        (
            "the pass over the whole graph is one machine's",
            known["refine"] * m * technique.dim / 128,
            DAY,
            duration,
            "each worker refines its part and sends the rows its neighbours need, a round at a time",
        ),
    ]
    found = [
        Break(what, show(needs), show(limit), needs / limit, m * limit / needs, instead)
        for what, needs, limit, show, instead in candidates
    ]
    return tuple(sorted(found, key=lambda item: item.edges))


def duration(seconds: float) -> str:
    """Show a time.

    >>> duration(0.5), duration(90), duration(7200), duration(864000)
    ('0.5 s', '1.5 min', '2.0 h', '10 days')
    """
    for unit, scale in (("days", DAY), ("h", HOUR), ("min", 60.0)):
        if seconds >= scale * (2 if unit == "days" else 1):
            value = seconds / scale
            return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
    return f"{seconds:.1f} s"

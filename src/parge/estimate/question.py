"""What is to be estimated: read from ``key=value`` texts, and refused where such a graph or machine is impossible."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from parge.errors import InputError
from parge.memory import parse_bytes
from parge.numbers import check_number, check_whole, read_number, read_whole, shown

# Larger than any real count; numbers under it keep all products below the largest float.
_MOST = 10**30


@dataclass(frozen=True)
class Question:
    """What is to be estimated."""

    # Size of the graph.
    vertices: int
    edges: int
    workers: int | None = None  # how many machines; as few as hold the graph unless given
    # Bytes of a worker, of the coordinator, and of its disk.
    memory: int = 64 * 10**9
    coordinator: int = 64 * 10**9
    disk: int = 10 * 10**12
    # Bytes per second of every machine's disk (by default a plain SSD), and of its network port (by default 10 Gbit/s).
    disk_speed: int = 500 * 10**6
    network_speed: int = 1_250_000_000
    # Price of a core for an hour, and of a gigabyte sent.
    price_core_hour: float | None = None
    price_gb: float | None = None

    def __post_init__(self) -> None:
        for name in ("vertices", "edges", "memory", "coordinator", "disk", "disk_speed", "network_speed"):
            check_whole(name, getattr(self, name), 1, _MOST)
        if self.workers is not None:
            check_whole("workers", self.workers, 1, _MOST)
        for name in ("price_core_hour", "price_gb"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 0, _MOST)
        pairs = self.vertices * (self.vertices - 1) / 2
        if self.edges > pairs:
            raise InputError(
                f"edges={self.edges:g} is more than the {pairs:g} pairs of vertices={self.vertices:g}: give fewer "
                "edges (count each once) or more vertices"
            )
        if self.workers is not None and self.workers > self.vertices:
            raise InputError(
                f"workers={self.workers:g} is more than vertices={self.vertices:g}: give at most one worker per vertex"
            )

    @staticmethod
    def of(pairs: dict[str, str]) -> "Question":
        """Return the question of ``key=value`` texts, such as ``{"vertices": "2e9", "memory": "64GB"}``."""
        unknown = sorted(set(pairs) - set(_READ))
        missing = [name for name in ("vertices", "edges") if name not in pairs]
        if unknown or missing:
            wrong = f"unknown: {', '.join(unknown)}" if unknown else f"{' and '.join(missing)} must be given"
            known = ", ".join(f"{name}=" for name in (*_READ, "dim", "technique"))
            raise InputError(f"{wrong}; an estimate takes {known}")
        return Question(**{name: _READ[name](name, text) for name, text in pairs.items()})


def _count(name: str, text: str) -> int:
    return read_whole(f"{name}=", text, 1, _MOST)


def _price(name: str, text: str) -> float:
    return read_number(f"{name}=", text.replace("_", ""), 0, _MOST)


def _bytes(what: str, unit: str = "") -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        try:
            return parse_bytes(text.strip().removesuffix(unit))
        except InputError as error:
            raise InputError(f"{name}= must be {what}; got {shown(text)}") from error

    return read


_SIZE, _SPEED = "a size of at least 1 MB, such as", "bytes per second, at least 1 MB, such as"
_READ: dict[str, Callable[[str, str], Any]] = {
    "vertices": _count,
    "edges": _count,
    "workers": _count,
    "memory": _bytes(f"{_SIZE} 64GB"),
    "coordinator": _bytes(f"{_SIZE} 64GB"),
    "disk": _bytes(f"{_SIZE} 10TB"),
    "disk_speed": _bytes(f"{_SPEED} 500MB", "/s"),
    "network_speed": _bytes(f"{_SPEED} 1.25GB (10 Gbit/s)", "/s"),
    "price_core_hour": _price,
    "price_gb": _price,
}

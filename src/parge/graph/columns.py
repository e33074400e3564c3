"""Which columns of a table of edges are the source, the target and the weight, by their names."""

from collections.abc import Sequence
from dataclasses import dataclass

from parge.errors import InputError

_SOURCE = {"source", "src", "from", "node1", "node_1", "id1", "id_1", "vertex1", "vertex_1", "head"}
_TARGET = {
    "target",
    "dst",
    "dest",
    "destination",
    "to",
    "node2",
    "node_2",
    "id2",
    "id_2",
    "vertex2",
    "vertex_2",
    "tail",
}
_WEIGHT = {"weight", "weights", "edge_weight", "w"}


@dataclass(frozen=True)
class Columns:
    """Places of the columns that make an edge; `weight` is None where edges have none."""

    source: int
    target: int
    weight: int | None = None

    @property
    def used(self) -> tuple[int, ...]:
        """All places, in the order source, target, weight."""
        return (self.source, self.target) if self.weight is None else (self.source, self.target, self.weight)


def by_name(names: Sequence[str]) -> Columns | None:
    """Find the columns by names in common use, or return None.

    >>> by_name(["Id", "Source", "Target", "Weight"])
    Columns(source=1, target=2, weight=3)
    """
    plain = [_plain(name) for name in names]
    source, target, weight = (_first(plain, known) for known in (_SOURCE, _TARGET, _WEIGHT))
    return None if source is None or target is None else Columns(source, target, weight)


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").removesuffix("_id").removesuffix("id") or name


def _first(names: Sequence[str], known: set[str]) -> int | None:
    return next((place for place, name in enumerate(names) if name in known), None)


def asked_for(names: Sequence[str], source: str | None, target: str | None, weight: str | None) -> Columns:
    """Find columns by the names given, else by names in common use, else by place: the first two.

    >>> asked_for(["a", "b", "weight"], None, None, None)
    Columns(source=0, target=1, weight=2)
    """
    if len(names) < 2:
        raise InputError(f"edges need two columns, source and target; found {', '.join(map(repr, names)) or 'none'}")
    usual = by_name(names) or Columns(0, 1, _first([_plain(name) for name in names], _WEIGHT))
    return Columns(
        usual.source if source is None else _place(names, source),
        usual.target if target is None else _place(names, target),
        usual.weight if weight is None else _place(names, weight),
    )


def _place(names: Sequence[str], wanted: str) -> int:
    if wanted not in names:
        raise InputError(f"there is no column {wanted!r}; the columns are {', '.join(map(repr, names))}")
    return list(names).index(wanted)

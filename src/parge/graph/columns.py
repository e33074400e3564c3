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
_WEIGHT = {"weight", "weights", "edge_weight", "w", "value"}


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


def by_place(names: Sequence[str], n_columns: int) -> Columns:
    """Take the first two columns, and as weights the one called so, else the third; the same in every format.

    >>> by_place(["a", "b", "year", "weight"], 4), by_place([], 3)
    (Columns(source=0, target=1, weight=3), Columns(source=0, target=1, weight=2))
    """
    weight = _first([_plain(name) for name in names[2:n_columns]], _WEIGHT)
    return Columns(0, 1, weight + 2 if weight is not None else 2 if n_columns > 2 else None)


def ignored_notice(names: Sequence[str], columns: Columns, n_columns: int, *, weighted: bool = True) -> tuple[str, ...]:
    """Say which columns are not read, and how to read one of them as weights where there are none."""
    shown = [
        repr(names[place]) if place < len(names) else str(place + 1)
        for place in range(n_columns)
        if place not in columns.used
    ]
    if not shown:
        return ()
    hint = ". None of them is read as weights; to use one, name it (weight=, --weight)"
    return (f"columns ignored: {', '.join(shown)}{hint if weighted and columns.weight is None else ''}",)


def is_guessed(names: Sequence[str], columns: Columns, weight: str | None) -> bool:
    """Return whether a column is read as weights only because of its place, not by request or by its name.

    >>> [is_guessed(["a", "b", name], Columns(0, 1, 2), None) for name in ("year", "Weight")]
    [True, False]
    """
    if columns.weight is None or weight is not None:
        return False
    return columns.weight >= len(names) or _plain(names[columns.weight]) not in _WEIGHT


def guessed_notice(names: Sequence[str], columns: Columns, weight: str | None) -> tuple[str, ...]:
    """Say that a column is read as weights whose name does not say so; one without a name is the usual third column."""
    if columns.weight is None or columns.weight >= len(names) or not is_guessed(names, columns, weight):
        return ()
    return (
        f"the column {names[columns.weight]!r} is read as weights because it is the third. To ignore it, give "
        "--unweighted (weighted=False; for a frame, pass only its first two columns).",
    )


def unread_notice(names: Sequence[str]) -> tuple[str, ...]:
    """Say which attributes of edges hold numbers and are not read, where no attribute is read as weights."""
    if not names:
        return ()
    shown = ", ".join(map(repr, names))
    return (
        f"edge attributes ignored: {shown}. None of them is read as weights; to use one, name it (weight=, --weight)",
    )


def missing_notice(n_edges: int, name: str) -> tuple[str, ...]:
    """Say how many edges have no weight where others have."""
    return (f"{n_edges:,} edges have no attribute {name!r} and get weight 1",) if n_edges else ()


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").removesuffix("_id").removesuffix("id") or name


def _first(names: Sequence[str], known: set[str]) -> int | None:
    return next((place for place, name in enumerate(names) if name in known), None)


def asked_for(names: Sequence[str], source: str | None, target: str | None, weight: str | None) -> Columns:
    """Find columns by the names given, else by names in common use, else by place: the first two, and the third.

    >>> asked_for(["a", "b", "weight"], None, None, None)
    Columns(source=0, target=1, weight=2)
    """
    if len(names) < 2:
        raise InputError(f"edges need two columns, source and target; found {', '.join(map(repr, names)) or 'none'}")
    usual = by_name(names) or by_place(names, len(names))
    ends = (
        usual.source if source is None else place_of(names, source),
        usual.target if target is None else place_of(names, target),
    )
    found = usual.weight if weight is None else place_of(names, weight)
    # A third column by its place alone is no weight if it is named as an end.
    return Columns(*ends, None if weight is None and found in ends else found)


def place_of(names: Sequence[str], wanted: str) -> int:
    """Return the place of the column of this name, or raise `InputError` with the known names."""
    if wanted not in names:
        raise InputError(f"there is no column {wanted!r}; the columns are {', '.join(map(repr, names))}")
    return list(names).index(wanted)

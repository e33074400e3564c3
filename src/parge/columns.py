"""Columns of a table of edges: which are the source, the target and the weight; the same in every format."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from parge.errors import InputError
from parge.numbers import shown

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
# What a column is called that numbers rows or dates them; where two others are there, it is no end of an edge.
_NO_END = {"id", "ids", "index", "unnamed:_0", "row", "row_number", "edge", "edges", "key", "", "date", "day", "year"}
_NO_END |= {"time", "datetime", "timestamp", "ts", "when", "month", "created_at", "type", "label"}


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


# What delimiters are called on a command line.
_DELIMITERS = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "blanks": " "}


@dataclass(frozen=True)
class Wanted:
    r"""How the columns of edges are read; what is None is found by itself.

    >>> Wanted(source=2, delimiter="tab")
    Wanted(source='2', target=None, weight=None, weighted=True, delimiter='\t', header=None)
    """

    # Columns by their names, or by their numbers from 1.
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    weighted: bool = True  # whether weights are read
    # What separates the columns of text: one character, or ``tab``, ``comma``, ``semicolon``, ``pipe``, ``space`` (any
    # run of blanks).
    delimiter: str | None = None
    header: bool | None = None  # whether the first line of text names the columns

    def __post_init__(self) -> None:
        for name in ("source", "target", "weight"):
            given = getattr(self, name)
            if given is not None and (isinstance(given, bool) or not isinstance(given, str | int)):
                raise InputError(f"{name} must be the name or the number of a column; got {shown(given)}")
            object.__setattr__(self, name, None if given is None else str(given))
        if self.weight is not None and not self.weighted:
            raise InputError(
                f"both the weights {self.weight!r} and no weights are asked for. Give only one of weight and "
                "unweighted."
            )
        if self.header not in (None, True, False):
            raise InputError(f"header must be True or False; got {shown(self.header)}")
        object.__setattr__(self, "delimiter", _checked_delimiter(self.delimiter))

    @property
    def columns(self) -> list[str]:
        """The columns that are asked for."""
        return [name for name in (self.source, self.target, self.weight) if name is not None]

    @property
    def of_text(self) -> list[str]:
        """Names of the settings given that only text has."""
        return [name for name in ("delimiter", "header") if getattr(self, name) is not None]


def _checked_delimiter(given: Any) -> str | None:
    if given is None:
        return None
    mark = _DELIMITERS.get(given, given) if isinstance(given, str) else ""
    if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in "\"'\r\n\0.#%{}":
        raise InputError(
            f"a delimiter is one character, such as ';', or tab, comma, semicolon, pipe, space; got {shown(given)}"
        )
    return mark


ALL_FOUND = Wanted()
"""Nothing is asked for."""


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
        repr(names[place]) if place < len(names) else f"number {place + 1}"
        for place in range(n_columns)
        if place not in columns.used
    ]
    if not shown:
        return ()
    hint = ". The edges have no weights; to read one as weights, name it (weight=, --weight)"
    column = "column" if len(shown) == 1 else "columns"
    return (f"{column} ignored: {', '.join(shown)}{hint if weighted and columns.weight is None else ''}",)


def is_guessed(names: Sequence[str], columns: Columns, wanted: Wanted) -> bool:
    """Return whether a column is read as weights only because of its place, not by request or by its name.

    >>> [is_guessed(["a", "b", name], Columns(0, 1, 2), Wanted()) for name in ("year", "Weight")]
    [True, False]
    """
    if columns.weight is None or wanted.weight is not None:
        return False
    return columns.weight >= len(names) or _plain(names[columns.weight]) not in _WEIGHT


def guessed_notice(names: Sequence[str], columns: Columns, wanted: Wanted) -> tuple[str, ...]:
    """Say that a column is read as weights whose name does not say so; one without a name is the usual third column."""
    if columns.weight is None or columns.weight >= len(names) or not is_guessed(names, columns, wanted):
        return ()
    return (
        f"the column {names[columns.weight]!r} is read as weights because it is the third. To ignore it, give "
        "--unweighted (weighted=False; for a frame, pass only its first two columns).",
    )


def refuse_late(part: object, names: Sequence[str], first: Sequence[str]) -> None:
    """Refuse a further part of an edge list that has a column of weights where the first part has none.

    >>> refuse_late("b.csv", ["a", "w"], ["a", "weight"])
    """
    place, known = (_first([_plain(name) for name in each], _WEIGHT) for each in (names, first))
    if place is not None and known is None:
        raise InputError(
            f"{part} has the column {names[place]!r}, which the first part does not have. Give all parts weights, or "
            "ignore them (weighted=False, --unweighted)."
        )


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").removesuffix("_id").removesuffix("id") or name


def _first(names: Sequence[str], known: set[str]) -> int | None:
    return next((place for place, name in enumerate(names) if name in known), None)


def asked_for(names: Sequence[str], wanted: Wanted, n_columns: int | None = None) -> Columns:
    """Find columns by the names given, else by names in common use, else by place: the first two, and the third.

    `names` are empty where there is no header; `n_columns` is given where there are not as many as names.

    >>> asked_for(["a", "b", "weight"], Wanted())
    Columns(source=0, target=1, weight=2)
    >>> asked_for(["when", "who", "whom"], Wanted(source="who", target="3"))
    Columns(source=1, target=2, weight=None)
    """
    n_columns = len(names) if n_columns is None else n_columns
    if n_columns < 2:
        raise InputError(f"edges need two columns, source and target; found {', '.join(map(repr, names)) or 'none'}")
    usual = by_name(names)
    if usual is None or max(usual.used) >= n_columns:
        _refuse_doubtful(names, n_columns, wanted)
        usual = by_place(names, n_columns)
    source, target, weight = (
        found if name is None else place_of(names, n_columns, name)
        for found, name in zip(
            (usual.source, usual.target, usual.weight), (wanted.source, wanted.target, wanted.weight), strict=True
        )
    )
    assert source is not None
    assert target is not None
    _refuse_same(names, source, target, weight, wanted)
    # A third column by its place alone is no weight if it is named as an end.
    return Columns(source, target, None if wanted.weight is None and weight in (source, target) else weight)


def _refuse_doubtful(names: Sequence[str], n_columns: int, wanted: Wanted) -> None:
    """Refuse to take the first two columns for the ends where a name says that one of them is none."""
    if (wanted.source and wanted.target) or n_columns < 3 or len(names) < n_columns:
        return
    plain = [_plain(name) for name in names[:n_columns]]
    ends = sum(name not in _NO_END and name not in _WEIGHT for name in plain)
    odd = next((i for i in (0, 1) if plain[i] in _NO_END or plain[i] in _WEIGHT), None)
    if odd is not None and ends >= 2 and not (wanted.source or wanted.target):
        raise InputError(
            f"the columns are {', '.join(map(repr, names))}, and {names[odd]!r} is hardly an end of an edge. Name the "
            "columns of the two ends (source= and target=, --source and --target)."
        )


def _refuse_same(names: Sequence[str], source: int, target: int, weight: int | None, wanted: Wanted) -> None:
    """Refuse one column for two purposes."""
    called = repr(names[source]) if source < len(names) else str(source + 1)
    if source == target:
        both = "" if wanted.source and wanted.target else " Give both (source= and target=, --source and --target)."
        raise InputError(f"the column {called} would be the source and the target of every edge.{both}")
    if wanted.weight is not None and weight in (source, target):
        raise InputError(f"the column {wanted.weight!r} cannot be the weight: it is an end of the edges")


def place_of(names: Sequence[str], n_columns: int, wanted: str) -> int:
    """Return the place of the column of this name, else number; raise `InputError` with the known names."""
    if wanted in names:
        return list(names).index(wanted)
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 and 1 <= int(wanted) <= n_columns:
        return int(wanted) - 1
    there = ", ".join(map(repr, names)) if names else f"the numbers 1 to {n_columns}"
    raise InputError(
        f"there is no column {wanted!r}; the columns are {there}. Name them with --source, --target and --weight "
        "(source=, target= and weight= in Python)."
    )

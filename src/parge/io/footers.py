"""What a Parquet file says of itself: the account of its columns in the footer, and the headers of its pages.

It is read here, and not by pyarrow. Where the account of a column is damaged, pyarrow ends the process: its wrapper
lets an error of C++ pass (seen with version 26). And it would unpack pages that stand for more values than the account
has.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from parge.errors import InputError
from parge.io.thrift import Fields, Walk, listed, structure
from parge.memory import refuse_over_budget

_MAGIC, _TAIL = b"PAR1", 8

# What pyarrow and the walk make of a byte of the footer; measured with columns that say as little as they may.
_TIMES = 60

# A page's header is read with this many bytes, then with more: it may hold the least and the greatest string.
_HEADER, _LARGEST_HEADER = 1 << 10, 1 << 24

# Numbers of Parquet's own: encodings of strings as differences, and kinds of pages with data.
_DELTAS = {6, 7}
_DATA, _DATA_2 = 0, 3

# Columns of columns; real ones are a few deep.
_DEEPEST = 40

_ELEMENT: Fields = {4: ("name", Walk.text), 5: ("n_inner", Walk.integer)}
_CHUNK: Fields = {
    2: ("encodings", listed(Walk.integer)),
    5: ("n_values", Walk.integer),
    6: ("unpacked", Walk.integer),
    9: ("data", Walk.integer),
    11: ("dictionary", Walk.integer),
}
_GROUP: Fields = {1: ("columns", listed(structure({3: ("account", structure(_CHUNK))}))), 3: ("n_rows", Walk.integer)}
_FILE: Fields = {
    2: ("schema", listed(structure(_ELEMENT))),
    3: ("n_rows", Walk.integer),
    4: ("groups", listed(structure(_GROUP))),
}
_VALUES = structure({1: ("n_values", Walk.integer)})
_PAGE: Fields = {
    1: ("kind", Walk.integer),
    2: ("unpacked", Walk.integer),
    3: ("packed", Walk.integer),
    5: ("data", _VALUES),
    8: ("data_2", _VALUES),
}


@dataclass(frozen=True)
class Chunk:
    """The account of one leaf of the schema in one group of rows."""

    column: str  # name of the column of the table, of which a nested one has several leaves
    path: str  # names from the column to the leaf, with points between
    is_delta: bool  # whether strings are stored as differences to the one before
    n_values: int  # values, those in lists too
    unpacked: int  # bytes of all pages
    start: int  # where its pages begin


@dataclass(frozen=True)
class Group:
    """A group of rows."""

    n_rows: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Footer:
    """The account that a file gives of its rows."""

    n_rows: int
    groups: tuple[Group, ...]

    @property
    def chunks(self) -> list[Chunk]:
        """Those of all groups."""
        return [chunk for group in self.groups for chunk in group.chunks]

    def n_values(self, names: Collection[str]) -> int:
        """Return how many values the columns of these names have, those in lists too."""
        return sum(chunk.n_values for chunk in self.chunks if chunk.column in names)


def read_footer(path: Path) -> Footer:
    """Read the footer of a file; a damaged one is refused."""
    with _damage(path), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        tail = os.pread(file.fileno(), _TAIL, max(0, size - _TAIL))
        if tail[4:] != _MAGIC:
            raise ValueError("it does not end like a Parquet file")
        length = int.from_bytes(tail[:4], "little")
        if length > size - _TAIL - len(_MAGIC):
            raise ValueError(f"it declares a footer of {length:,} bytes, but the file has {size:,} bytes")
        refuse_over_budget(_TIMES * length, f"{path} has a footer of {length:,} bytes")
        found = Walk(os.pread(file.fileno(), length, size - _TAIL - length)).fields(_FILE)
        leaves = _leaves(found["schema"])
        return Footer(found["n_rows"], tuple(_group(group, leaves) for group in found["groups"]))


def _leaves(schema: list[dict[str, Any]]) -> list[list[str]]:
    """Return the names from a column to each of its leaves; the schema is a tree, its root first, written in depth."""
    left, found = [schema[0].get("n_inner", 0)], []
    names: list[str] = []
    for element in schema[1:]:
        while left[-1] == 0:
            left.pop()
            names.pop()
        left[-1] -= 1
        if element.get("n_inner"):
            left.append(element["n_inner"])
            names.append(element["name"])
        else:
            found.append([*names, element["name"]])
        if len(left) > _DEEPEST:
            raise ValueError("columns are nested too deep")
    return found


def _group(found: dict[str, Any], leaves: list[list[str]]) -> Group:
    chunks = zip(leaves, found["columns"], strict=True)  # by their order, as pyarrow takes them
    return Group(found["n_rows"], tuple(_chunk(names, chunk["account"]) for names, chunk in chunks))


def _chunk(names: list[str], found: dict[str, Any]) -> Chunk:
    dictionary, data = found.get("dictionary", 0), found["data"]
    start = dictionary if 0 < dictionary < data else data
    is_delta = bool(_DELTAS.intersection(found["encodings"]))
    return Chunk(names[0], ".".join(names), is_delta, found["n_values"], found["unpacked"], start)


def check_pages(path: Path, footer: Footer, names: Collection[str]) -> None:
    """Refuse a file whose pages, in the columns of these names, hold more or fewer values than its footer says.

    A page of a few bytes may expand to any number of values. One that is larger than the memory budget is refused, too.
    """
    with _damage(path), path.open("rb") as file:
        for chunk in footer.chunks:
            if chunk.column in names:
                _check_chunk(path, file, chunk)


def _check_chunk(path: Path, file: BinaryIO, chunk: Chunk) -> None:
    place, seen = chunk.start, 0
    while seen < chunk.n_values:
        page, place = _page(file, place)
        refuse_over_budget(page["unpacked"], f"{path} has a page of {page['unpacked']:,} bytes")
        place += page["packed"]
        if page["kind"] in (_DATA, _DATA_2):
            seen += page["data" if page["kind"] == _DATA else "data_2"]["n_values"]
    if seen != chunk.n_values:
        raise ValueError(f"it declares {chunk.n_values:,} values of {chunk.column!r}, but its pages hold {seen:,}")


def _page(file: BinaryIO, place: int) -> tuple[dict[str, Any], int]:
    """Return the header of the page that begins there, and where its data begin."""
    length = _HEADER
    while True:
        data = os.pread(file.fileno(), length, place)
        walk = Walk(data)
        try:
            return walk.fields(_PAGE), place + walk.place
        except IndexError:
            if len(data) < length or length >= _LARGEST_HEADER:
                raise
        length *= 16


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn what a damaged file leads to into an `InputError`."""
    try:
        yield
    except (ValueError, IndexError, OverflowError) as error:
        reason = "it ends too early" if isinstance(error, IndexError) else str(error)
        raise InputError(f"{path}: cannot be read as Parquet: {reason}. Is the file complete?") from error
    except KeyError as error:
        raise InputError(f"{path}: cannot be read as Parquet: its {error} is missing. Is the file complete?") from error

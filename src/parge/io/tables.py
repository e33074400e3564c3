"""Parquet files that others wrote, in batches; what they stand for is counted before it is made."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parge.ids import text_bytes
from parge.io.footers import Footer, Group, check_pages, read_footer
from parge.memory import refuse_expansion

# Text that one batch may stand for, and the fewest rows that are worth a batch.
_TEXT_AT_ONCE, _LEAST_ROWS = 64 << 20, 64

_REMEDY = "write it as text"

_TEXTS = {"string", "large_string", "string_view"}


@dataclass(frozen=True)
class Table:
    """An open Parquet file; of its accounts only those that `parge.io.footers` has read are asked for."""

    path: Path
    schema: Any
    _file: Any
    _footer: Footer

    @property
    def names(self) -> list[str]:
        """Those of the columns."""
        return list(self.schema.names)

    @property
    def n_rows(self) -> int:
        """How many rows there are, by the file's own account."""
        return self._footer.n_rows

    def n_values(self, names: Sequence[str]) -> int:
        """Return how many values the columns of these names have by the file's own account, those in lists too."""
        return self._footer.n_values(names)

    def batches(self, names: Sequence[str], n_rows: int, groups: Sequence[int] | None = None) -> Iterator[Any]:
        """Yield the columns of these names, at most `n_rows` rows at a time; of some row groups, or of all.

        A file that expands to far more than its size is refused (`parge.memory.refuse_expansion`).
        """
        packed, n_text = self.path.stat().st_size, 0
        what = f"{self.path} has {self.n_rows:,} rows"
        refuse_expansion(8 * self.n_values(names), packed, what, remedy=_REMEDY)
        check_pages(self.path, self._footer, names)
        for place, group in enumerate(self._footer.groups):  # one by one: arrow would read ahead over all of them
            if groups is not None and place not in groups:
                continue
            size = min(n_rows, _safe_rows(group, names))
            found = self._file.iter_batches(size, row_groups=[place], columns=list(names))
            for batch in _joined(found, size, n_rows):
                n_text += sum(map(text_bytes, batch.columns))
                refuse_expansion(n_text, packed, what, always=_TEXT_AT_ONCE, remedy=_REMEDY)
                yield batch


@contextmanager
def open_table(path: Path) -> Iterator[Table]:
    """Open a Parquet file so that strings that repeat stay places in a dictionary.

    A file of kilobytes may repeat a long string a million times. Arrow does not know how for strings that are stored
    as differences to the one before; these `Table.batches` reads in few rows at a time.
    """
    import pyarrow.parquet as pq

    footer = read_footer(path)
    with pq.ParquetFile(path) as plain:
        metadata, repeated = plain.metadata, _repeated(plain.schema_arrow, footer)
    options = {"metadata": metadata, "page_checksum_verification": True, "read_dictionary": repeated}
    with pq.ParquetFile(path, **options) as file:
        yield Table(path, file.schema_arrow, file, footer)


def _repeated(schema: Any, footer: Footer) -> list[str]:
    """Return the leaves that hold strings, without those of which arrow can make no dictionary."""
    types = {field.name: str(getattr(field.type, "value_type", field.type)) for field in schema}
    leaves = {chunk.path: chunk.column for chunk in footer.chunks}
    delta = {chunk.path for chunk in footer.chunks if chunk.is_delta}
    return [path for path, column in leaves.items() if types.get(column) in _TEXTS and path not in delta]


def _joined(found: Iterator[Any], size: int, n_rows: int) -> Iterator[Any]:
    """Join batches of few rows, as long as their text is short: every batch costs its reader time."""
    import pyarrow as pa

    if size == n_rows:
        yield from found
        return
    waiting: list[Any] = []
    rows = n_bytes = 0
    for batch in found:
        waiting.append(batch)
        rows, n_bytes = rows + len(batch), n_bytes + batch.nbytes
        if rows >= n_rows or n_bytes >= _TEXT_AT_ONCE:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, rows, n_bytes = [], 0, 0
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _safe_rows(group: Group, names: Sequence[str]) -> int:
    """Return how many rows cannot be much text, where strings may share a start with the one before.

    No string is longer than all that its column stores.
    """
    longest = max((c.unpacked for c in group.chunks if c.column in names and c.is_delta), default=0)
    return max(_LEAST_ROWS, _TEXT_AT_ONCE // longest) if longest else group.n_rows + 1

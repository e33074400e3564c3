"""Parquet files that others wrote, in batches; what they stand for is counted before it is made."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from parge.budget import refuse_expansion
from parge.ids import text_bytes

# Text that one batch may stand for, and the fewest rows that are worth a batch.
_TEXT_AT_ONCE, _LEAST_ROWS = 64 << 20, 64

_REMEDY = "write it as text"

_TEXTS = {"string", "large_string", "string_view"}


def text_options(file: Any) -> dict[str, Any]:
    """Return how to open a file again so that strings that repeat stay places in a dictionary.

    A file of kilobytes may repeat a long string a million times. Arrow does not know how for strings that are stored
    as differences to the one before; these `batches` reads in few rows at a time.
    """
    _check_chunks(file)
    leaves = [file.schema.column(i) for i in range(len(file.schema))]
    types = {field.name: str(getattr(field.type, "value_type", field.type)) for field in file.schema_arrow}
    delta = {chunk.path_in_schema for chunk in _chunks(file) if _is_delta(chunk)}
    texts = [leaf.path for leaf in leaves if types.get(leaf.path.partition(".")[0]) in _TEXTS]
    return {"page_checksum_verification": True, "read_dictionary": [path for path in texts if path not in delta]}


def _check_chunks(file: Any) -> None:
    """Read one row of every group: its reader raises where the account of a column is damaged.

    To ask pyarrow for a damaged account ends the process (seen with version 26).
    """
    for group in range(file.num_row_groups):
        next(iter(file.iter_batches(1, row_groups=[group])), None)


def n_values(file: Any, names: Sequence[str]) -> int:
    """Return how many values the columns of these names have by the file's own account, those in lists too."""
    return sum(chunk.num_values for chunk in _chunks(file) if _column(chunk) in names)


def batches(path: Path, file: Any, names: Sequence[str], n_rows: int) -> Iterator[Any]:
    """Yield the columns of these names, at most `n_rows` rows at a time.

    A file that stands for far more than its size is refused (`parge.budget.refuse_expansion`).
    """
    packed, n_text = path.stat().st_size, 0
    what = f"{path} has {file.metadata.num_rows:,} rows"
    refuse_expansion(8 * n_values(file, names), packed, what, remedy=_REMEDY)
    for group in range(file.num_row_groups):  # one by one: arrow would read ahead over all of them
        size = min(n_rows, _safe_rows(file.metadata.row_group(group), names))
        for batch in _joined(file.iter_batches(size, row_groups=[group], columns=list(names)), size, n_rows):
            n_text += sum(map(text_bytes, batch.columns))
            refuse_expansion(n_text, packed, what, always=_TEXT_AT_ONCE, remedy=_REMEDY)
            yield batch


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


def _safe_rows(group: Any, names: Sequence[str]) -> int:
    """Return how many rows cannot be much text, where strings may share a start with the one before.

    No string is longer than all that its column stores.
    """
    chunks = [group.column(i) for i in range(group.num_columns)]
    longest = max((c.total_uncompressed_size for c in chunks if _column(c) in names and _is_delta(c)), default=0)
    return max(_LEAST_ROWS, _TEXT_AT_ONCE // longest) if longest else group.num_rows + 1


def _chunks(file: Any) -> Iterator[Any]:
    for group in (file.metadata.row_group(i) for i in range(file.num_row_groups)):
        yield from (group.column(i) for i in range(group.num_columns))


def _column(chunk: Any) -> str:
    return str(chunk.path_in_schema.partition(".")[0])


def _is_delta(chunk: Any) -> bool:
    return any(name in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY") for name in chunk.encodings)

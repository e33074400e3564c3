"""Parquet files of edges."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from parge.columns import ALL_FOUND, Wanted, refuse_late
from parge.errors import InputError
from parge.graph.gather import EDGE_BYTES, Gatherer, gatherer
from parge.graph.graph import Graph
from parge.graph.table import EdgeTable, edge_columns
from parge.io.files import check_file, foreign_errors
from parge.io.footers import read_footer
from parge.io.tables import Table, open_table
from parge.memory import refuse_over_budget
from parge.storage import MEMORY, Files, Storage

# Rows read at a time; where memory is short, about a block of bytes.
_BATCH, _ROW_BYTES = 2**20, 32

# Rows read at a time where each process holds few of all.
_FEW = 2**17


def read_parquet(paths: Sequence[Path], wanted: Wanted = ALL_FOUND, *, storage: Storage = MEMORY) -> Graph:
    """Read the edges of Parquet files: columns by their names, else the first two and as weights the third."""
    n_rows = 0
    for path in paths:
        check_file(path)
        n_rows += read_footer(path).n_rows
        if storage is MEMORY:
            refuse_over_budget(EDGE_BYTES * n_rows, f"{path} has {n_rows:,} edges")
    reader: EdgeTable | None = None
    # An empty part may have no types, and says nothing of the columns of the others.
    filled = [path for path in paths if read_footer(path).n_rows]
    for path in filled or paths[:1]:
        with foreign_errors(path, "Parquet"), open_table(path) as table:
            if reader is None:
                reader = EdgeTable(table.names, edge_columns(table.schema, wanted), gatherer(storage), wanted)
            _add(reader, table, storage)
    assert reader is not None
    return reader.graph()


def _add(reader: EdgeTable, table: Table, storage: Storage) -> None:
    """Take in one file; its columns of edges are called as in the first."""
    missing = [name for name in reader.names if name not in table.names]
    if missing:
        raise InputError(
            f"it has no column {missing[0]!r}, which the first part has; its columns are "
            f"{', '.join(map(repr, table.names))}. Parts need the same columns."
        )
    if reader.weighted:
        refuse_late("it", table.names, reader.all_names)
    reader.begin()
    size = storage.block // _ROW_BYTES if isinstance(storage, Files) else _BATCH
    for batch in table.batches(reader.names, size):
        reader.add([batch.column(batch.schema.get_field_index(name)) for name in reader.names])
        if storage is MEMORY:
            refuse_over_budget(reader.projected_bytes, f"{table.n_rows:,} edges with such ids")


def parquet_notices(path: Path, wanted: Wanted = ALL_FOUND) -> tuple[str, ...]:
    """Return what there is to say of the columns of a file, before its edges are read."""
    check_file(path)
    with foreign_errors(path, "Parquet"), open_table(path) as table:
        return EdgeTable(table.names, edge_columns(table.schema, wanted), Gatherer(), wanted).notices


def gather_parquet(path: Path, groups: Sequence[int], wanted: Wanted = ALL_FOUND) -> Iterator[Gatherer]:
    """Yield the edges of some row groups of a Parquet file as they are given, some rows at a time."""
    check_file(path)
    with foreign_errors(path, "Parquet"), open_table(path) as table:
        reader = EdgeTable(table.names, edge_columns(table.schema, wanted), Gatherer(), wanted)
        for batch in table.batches(reader.names, _FEW, groups):
            reader.add([batch.column(batch.schema.get_field_index(name)) for name in reader.names])
            refuse_over_budget(reader.projected_bytes, f"{path} has edges with such ids")
            yield reader.taken()

"""Parquet files of edges."""

from pathlib import Path

from parge.graph.gather import EDGE_BYTES, gatherer
from parge.graph.graph import Graph
from parge.graph.table import EdgeTable, edge_columns
from parge.io.files import check_file, foreign_errors
from parge.io.tables import open_table
from parge.memory import refuse_over_budget
from parge.storage import MEMORY, Files, Storage

# Rows read at a time; where memory is short, so many that they are about a block of bytes.
_BATCH, _ROW_BYTES = 2**20, 32


def read_parquet(path: Path, *, weighted: bool = True, weight: str | None = None, storage: Storage = MEMORY) -> Graph:
    """Read the edges of a Parquet file: columns by their names, else the first two and as weights the third."""
    check_file(path)
    with foreign_errors(path, "Parquet"), open_table(path) as table:
        n_rows, names = table.n_rows, table.names
        if storage is MEMORY:
            refuse_over_budget(EDGE_BYTES * n_rows, f"{path} has {n_rows:,} edges")
        columns = edge_columns(table.schema, None, None, weight)
        reader = EdgeTable(names, columns, gatherer(storage), weighted=weighted, weight=weight)
        used = [names[place] for place in reader.columns.used]
        size = storage.block // _ROW_BYTES if isinstance(storage, Files) else _BATCH
        for batch in table.batches(used, size):
            reader.add([batch.column(batch.schema.get_field_index(name)) for name in used])
            if storage is MEMORY:
                refuse_over_budget(reader.projected_bytes, f"{n_rows:,} edges with such ids")
        return reader.graph()

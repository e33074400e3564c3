"""Vectors as Arrow batches, and as frames of other libraries: columns ``id`` and ``vector``, as in Parquet files."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from parge.errors import imported
from parge.ids import STRING
from parge.io.embeddings.common import Vectors, head_bytes, report_bytes
from parge.storage import release_pages, row_blocks
from parge.typing import FloatArray, IdArray

_ROWS = 65_536

# Of a batch, which a writer holds until it is complete.
_BATCH_BYTES = 8 << 20


def schema_of(table: Vectors) -> Any:
    """Return the schema: ``id``, ``vector`` (a list of fixed size), ``degree`` if known; the rest as metadata."""
    import pyarrow as pa

    number = pa.from_numpy_dtype(table.vectors.dtype)
    key = pa.string() if table.ids.dtype == STRING else pa.int64()
    columns, known = [("id", key), ("vector", pa.list_(number, table.dim))], {"parge": report_bytes(table.report)}
    if table.head is not None and table.degrees is not None:
        columns, known = [*columns, ("degree", pa.int64())], {**known, "parge.head": head_bytes(table.head)}
    return pa.schema(columns).with_metadata(known)


def batches(table: Vectors) -> Iterator[Any]:
    """Yield the rows as record batches; vectors are not copied where they lie in order."""
    import pyarrow as pa

    schema = schema_of(table)
    for rows in row_blocks(len(table.vectors), max(64, min(_ROWS, _BATCH_BYTES // (4 * table.dim)))):
        flat = pa.array(np.ascontiguousarray(table.vectors[rows]).ravel())
        arrays = [pa.array(table.ids[rows], schema.field("id").type)]
        arrays.append(pa.FixedSizeListArray.from_arrays(flat, table.dim))
        if table.degrees is not None and len(schema) > len(arrays):
            arrays.append(pa.array(table.degrees[rows], pa.int64()))
        yield pa.record_batch(arrays, schema=schema)
        release_pages(table.vectors)


def reader_of(table: Vectors) -> Any:
    """Return a reader that makes the batches one by one."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema_of(table), batches(table))


def to_pandas(vectors: FloatArray, ids: IdArray) -> Any:
    """Return a pandas frame: a row per vertex, its id as the index, a column per dimension."""
    pandas = imported("pandas", "this conversion")
    return pandas.DataFrame(vectors, index=pandas.Index(ids.tolist(), name="id"), copy=False)


def to_polars(table: Vectors) -> Any:
    """Return a Polars frame with the columns of the batches."""
    return imported("polars", "this conversion").from_arrow(reader_of(table).read_all())

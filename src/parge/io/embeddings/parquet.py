"""``.parquet``, Arrow: columns ``id``, ``vector`` (lists of fixed size), ``degree``; report and head in the schema."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError, imported
from parge.ids import STRING, TEXT_COPIES, decoded, ids_in, is_listed, joined, text_bytes
from parge.io.embeddings.common import Vectors, head_bytes, read_head, read_report, report_bytes
from parge.io.outputs import replacing
from parge.memory import refuse_over_budget
from parge.storage import release_pages, row_blocks
from parge.typing import FloatArray, IdArray, IntArray

if TYPE_CHECKING:
    from parge.io.tables import Table

_ROWS = 65_536

# Of a batch that is read, and of one that is written, which a writer holds until it is complete.
_READ_BYTES, _WRITTEN_BYTES = 64 << 20, 8 << 20

# What an id takes, as strings of arrow, Python and numpy.
_ID_BYTES = 200


def write_parquet(table: Vectors, path: Path) -> None:
    """Write one row group per batch of vertices."""
    from pyarrow import parquet

    schema = schema_of(table)
    # Bits of floats neither repeat nor compress: trying to costs time and saves nothing.
    with replacing(path) as file, parquet.ParquetWriter(file, schema, use_dictionary=False, compression="none") as out:
        for batch in batches(table):
            out.write_batch(batch)


def is_parquet(path: Path) -> bool:
    """Return whether a file has the columns and the report that `write_parquet` writes."""
    from pyarrow import parquet

    schema = parquet.read_schema(path)
    return schema.names in (["id", "vector"], ["id", "vector", "degree"]) and b"parge" in (schema.metadata or {})


def read_parquet(path: Path) -> Vectors:
    """Read the columns ``id`` and ``vector``; lists of any type are accepted if all have the same length."""
    from parge.io.tables import open_table  # not needed to write

    with open_table(path) as table:
        names = table.names
        if "id" not in names or "vector" not in names:
            raise InputError(f"the columns 'id' and 'vector' are needed; found: {', '.join(names) or 'none'}")
        n_rows, n_numbers = table.n_rows, table.n_values(["vector"])  # equal numbers take next to nothing in a file
        refuse_over_budget(
            2 * 8 * n_numbers + _ID_BYTES * n_rows, f"{path} has {n_rows:,} rows and {n_numbers:,} numbers in vectors"
        )
        vectors, ids = _read_batches(table)
        metadata = table.schema.metadata or {}
        head = read_head(metadata.get(b"parge.head"))
        degrees = _read_degrees(table) if head is not None and "degree" in names else None
    return Vectors(vectors, ids, read_report(metadata.get(b"parge")), head, degrees)


def _read_degrees(table: "Table") -> IntArray:
    blocks = [batch.column("degree").to_numpy(zero_copy_only=False) for batch in table.batches(("degree",), _ROWS)]
    return np.concatenate([np.zeros(0, np.int64), *blocks])


def _read_batches(table: "Table") -> tuple[NDArray[Any], IdArray]:
    path, n_rows, vectors, ids, done, n_text = table.path, table.n_rows, None, [], 0, 0
    kind = table.schema.field("vector").type
    dim = getattr(kind, "list_size", 0)
    refuse_over_budget(8 * n_rows * dim, f"{path} has {n_rows:,} vectors of {dim:,} numbers")
    size = max(1, min(_ROWS, _READ_BYTES // (8 * max(1, dim))))
    for batch in table.batches(("id", "vector"), size):
        block = _vectors_of(batch.column("vector"))
        if vectors is None:
            refuse_over_budget(n_rows * block.shape[1] * block.itemsize, f"{path} has {n_rows:,} vectors")
            vectors = np.empty((n_rows, block.shape[1]), block.dtype)
        if block.shape[1] != vectors.shape[1]:
            raise InputError(
                f"all vectors must have the same length; found {vectors.shape[1]} and {block.shape[1]} numbers"
            )
        if done + len(block) > n_rows:
            raise InputError(f"{n_rows:,} rows are declared, but more follow")
        vectors[done : done + len(block)] = block
        n_text += text_bytes(batch.column("id"))
        refuse_over_budget(TEXT_COPIES * n_text, f"{path} has at least {n_text:,} bytes of ids")
        if batch.column("id").null_count:
            raise InputError("the column 'id' has missing values")
        ids.append(ids_in(decoded(batch.column("id")), "the column 'id'"))
        done += len(block)
    if vectors is None:
        return np.empty((0, max(1, getattr(kind, "list_size", 1))), np.float32), np.zeros(0, np.int64)
    return vectors, joined(ids)


def _vectors_of(column: Any) -> NDArray[Any]:
    from pyarrow import types

    kind = column.type
    if not is_listed(kind):
        raise InputError(f"the column 'vector' must hold lists of numbers; it holds {kind}")
    flat = column.flatten()
    if column.null_count or flat.null_count:
        raise InputError("the column 'vector' has missing values")
    dim = len(flat) // max(1, len(column))
    if not types.is_fixed_size_list(kind):
        lengths = set(column.value_lengths().to_pylist())
        if lengths - {dim}:
            raise InputError(f"all vectors must have the same length; found {min(lengths)} to {max(lengths)} numbers")
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), dim)


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
    for rows in row_blocks(len(table.vectors), max(64, min(_ROWS, _WRITTEN_BYTES // (4 * table.dim)))):
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

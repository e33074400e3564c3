"""Vertices and features of a graph, from files or from tables of other libraries."""

from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.frames import arrow_stream, is_frame
from parge.graph.graph import Graph
from parge.ids import (
    STRING,
    TEXT_COPIES,
    as_numbers,
    decoded,
    id_column,
    ids_in,
    is_listed,
    joined,
    positions,
    show_ids,
    text_bytes,
)
from parge.io.archive import check_complete, declared_arrays
from parge.io.files import check_file, foreign_errors, read_texts, without_comments
from parge.io.places import fetched
from parge.io.tables import open_table
from parge.memory import refuse_over_budget
from parge.storage import row_blocks, rows_at_once
from parge.typing import IdArray

# Bytes of text read together.
_BLOCK = 1 << 20

# Measured at the peak for an id of a file: as a string, as an integer, and joined with those of the edges.
_ID_BYTES = 130


# Rows of features read at a time.
_ROWS = 1 << 14


def read_vertices(path: Path) -> IdArray:
    """Read ids, one per line; lines that start with # or % are comments, blanks around an id are not part of it."""
    ids: list[IdArray] = []
    n_ids = n_text = 0
    for text in read_texts(path, _BLOCK, "one vertex id", clean=without_comments):
        names = [stripped for line in text.split("\n") if (stripped := line.strip(" \t\r"))]
        ids.append(np.array(names, STRING))
        n_ids, n_text = n_ids + len(names), n_text + len(text)
        refuse_over_budget(_ID_BYTES * n_ids + 4 * n_text, f"{path} names {n_ids:,} vertices or more")
    if not n_ids:
        raise InputError(f"{path} names no vertex. Write one id per line.")
    return as_numbers(np.concatenate(ids))


def ids_of_frame(frame: Any) -> IdArray:
    """Return the vertices of a table: its column called id, vertex, node or name, else its first, read by batches."""
    with arrow_stream(frame, "vertices") as reader:
        if not reader.schema.names:
            raise InputError("the table of vertices has no column")
        name = id_column(reader.schema.names) or reader.schema.names[0]
        return _ids(reader, name)


def _ids(reader: Any, name: str) -> IdArray:
    found: list[IdArray] = []
    n_ids = n_text = 0
    for batch in reader:
        column = batch.column(batch.schema.get_field_index(name))
        if column.null_count:
            raise InputError(f"the column {name!r} of vertices has rows without a value. Remove them.")
        n_ids, n_text = n_ids + len(column), n_text + text_bytes(column)
        refuse_over_budget(_ID_BYTES * n_ids + TEXT_COPIES * n_text, f"the table names {n_ids:,} vertices or more")
        found.append(ids_in(decoded(column), f"the column {name!r} of vertices"))
    return joined(found)


def with_features(graph: Graph, features: Any) -> Graph:
    """Return the graph with the features of a file, a URL or a frame."""
    if is_frame(features):
        with arrow_stream(features, "features") as reader:
            return _of_table(graph, reader, reader.schema, "the features")
    with fetched(features) as path:
        if path.suffix.lower() != ".parquet":
            return _of_matrix(graph, path)
        check_file(path)
        with foreign_errors(path, "features"), open_table(path) as table:
            return _of_table(graph, table.batches(table.names, _ROWS), table.schema, str(path))


def _of_table(graph: Graph, batches: Any, schema: Any, what: str) -> Graph:
    """Return the graph with features by vertex id: columns of numbers, or one of lists of numbers."""
    import scipy.sparse as sp

    key = id_column(schema.names)
    if key is None or len(schema.names) < 2:
        raise InputError(f"{what}: columns 'id' and features are needed; found {', '.join(schema.names) or 'none'}")
    ids: list[IdArray] = []
    blocks: list[Any] = []
    n_entries = 0
    for batch in batches:
        ids += [_ids([batch], key)]
        blocks.append(sp.csr_matrix(_numbers(batch, key, what)))
        n_entries += blocks[-1].nnz
        refuse_over_budget(3 * 8 * n_entries, f"{what} has at least {n_entries:,} nonzero features")
    if not blocks:
        raise InputError(f"{what}: there is no row")
    if len({block.shape[1] for block in blocks}) > 1:
        raise InputError(f"{what}: lists of features have different lengths")
    row = positions(joined(ids), graph.outside_ids)
    missing = graph.outside_ids[row < 0]
    if missing.size:
        raise InputError(f"{what}: {missing.size:,} vertices have no row of features: {show_ids(missing)}")
    return graph.with_features(sp.vstack(blocks, format="csr")[row])


def _numbers(batch: Any, key: str, what: str) -> Any:
    """Return the features of a batch as a matrix."""
    import pyarrow as pa

    columns = [(name, batch.column(place)) for place, name in enumerate(batch.schema.names) if name != key]
    for name, column in columns:
        if column.null_count:
            raise InputError(f"{what}: the column {name!r} has rows without a value")
    if len(columns) == 1 and is_listed(columns[0][1].type):
        flat = columns[0][1].flatten()
        width = len(flat) // max(1, len(batch))
        if len(flat) != width * len(batch) or set(_lengths(columns[0][1])) - {width}:
            raise InputError(f"{what}: lists of features have different lengths")
        return flat.to_numpy(zero_copy_only=False).astype(np.float32).reshape(len(batch), width)
    odd = [name for name, c in columns if not (pa.types.is_integer(c.type) or pa.types.is_floating(c.type))]
    if odd:
        raise InputError(f"{what}: the column {odd[0]!r} does not hold numbers. Leave it out, or encode it.")
    return np.stack([column.to_numpy(zero_copy_only=False).astype(np.float32) for _, column in columns], axis=1)


def _lengths(column: Any) -> list[int]:
    """Return the lengths of the lists of a column."""
    import pyarrow.compute as pc

    return list(pc.list_value_length(column).unique().to_pylist())


def _of_matrix(graph: Graph, path: Path) -> Graph:
    """Return the graph with the features of a file of a matrix, row i for vertex i."""
    check_file(path)
    with foreign_errors(path, "features (.npz of scipy or numpy, or .npy)"):
        matrix: Any
        if path.suffix.lower() == ".npz":
            matrix = _npz_matrix(path)
        elif path.suffix.lower() == ".npy":
            check_complete(path)
            matrix = np.load(path, allow_pickle=False, mmap_mode="r")
        else:
            raise InputError(
                f"{path}: features are read from .npz (scipy.sparse.save_npz, numpy.savez), .npy or .parquet"
            )
        if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise InputError(
                f"{path}: features must be a matrix of numbers; found type {matrix.dtype}, shape {matrix.shape}"
            )
        if matrix.shape[0] != graph.n_vertices:
            raise InputError(
                f"{path} has {matrix.shape[0]:,} rows, but the graph has {graph.n_vertices:,} vertices. Give one row "
                "per vertex, in ascending order of ids (is --vertices missing?)."
            )
        found = graph.with_features(_sparse(path, matrix))
        if not np.isfinite(found.features.data).all():
            raise InputError(f"{path}: features must be finite; found NaN or infinity")
    return found


def _sparse(path: Path, matrix: Any) -> Any:
    """Return features as sparse rows; a dense matrix, which may be a map of a file, some rows at a time."""
    import scipy.sparse as sp

    refuse_over_budget(8 * matrix.shape[1], f"{path} has {matrix.shape[1]:,} features")
    if sp.issparse(matrix):
        return matrix
    blocks, n_entries = [], 0
    for rows in row_blocks(len(matrix), rows_at_once(max(1, matrix.shape[1]))):
        blocks.append(sp.csr_matrix(np.asarray(matrix[rows]).astype(np.float32)))
        n_entries += blocks[-1].nnz
        refuse_over_budget(3 * 8 * n_entries, f"{path} has at least {n_entries:,} nonzero features")
    return sp.vstack(blocks, format="csr") if blocks else sp.csr_matrix(matrix.shape, dtype=np.float32)


def _npz_matrix(path: Path) -> Any:
    """Return the sparse matrix that scipy saved, or the only array that numpy did."""
    import scipy.sparse as sp

    from parge.io.graphs.matrix import load_sparse

    members = declared_arrays(path)
    if "format" in members:
        matrix = sp.csr_matrix(load_sparse(path))
        matrix.check_format(full_check=True)
        return matrix
    if len(members) != 1:
        raise InputError(
            f"{path} holds {', '.join(sorted(members)) or 'nothing'}; save features as one numpy array, or as a scipy "
            "sparse matrix"
        )
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:  # numpy leaves a bad file open
        return np.asarray(arrays[next(iter(members))])

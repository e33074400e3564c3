"""Spark: edges of a DataFrame or a GraphFrame to a graph, batch by batch; vectors back to a DataFrame.

The executors turn their partitions into Arrow batches, and the driver takes in one after the other: it holds the
graph, and never the DataFrame. They need pyarrow, not parge. For graphs that the driver cannot hold, write Parquet and
read it with `coordinator_memory` (docs/how-to/spark.md).
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from parge.embedding import Embedding
from parge.errors import InputError
from parge.graph.graph import Graph


def graph_of(frame: Any, source: str | None = None, target: str | None = None, weight: str | None = None) -> Graph:
    """Return the graph of a Spark DataFrame of edges, or of a GraphFrame; columns as for `Graph.from_frame`.

    Parameters
    ----------
    frame : pyspark DataFrame, or GraphFrame
        One row per edge. Isolated vertices of a GraphFrame are vertices of the graph.
    source, target, weight : str, optional
        Columns; by default those called source and target (src and dst) and weight.
    """
    import pyarrow as pa

    vertices = None
    if hasattr(frame, "edges") and hasattr(frame, "vertices"):
        vertices, frame = frame.vertices.select("id"), frame.edges
    graph = Graph.from_frame(_reader(frame, pa), source, target, weight)
    if vertices is None:
        return graph
    from parge.graph.vertices import add_vertices
    from parge.ids import ids_in, joined

    return add_vertices(graph, joined([ids_in(batch.column(0), "the ids") for batch in _reader(vertices, pa)]))


def _reader(frame: Any, pa: Any) -> Any:
    """Return an Arrow reader of a DataFrame."""
    if not hasattr(frame, "mapInArrow"):
        raise InputError(f"expected a Spark DataFrame or a GraphFrame; got {type(frame)}")
    batches = _batches(frame, pa)
    first = next(batches, None)
    if first is None:
        return pa.table({name: pa.array([], pa.int64()) for name in frame.columns}).to_reader()
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))


def _batches(frame: Any, pa: Any) -> Iterator[Any]:
    """Yield the Arrow batches of a DataFrame: each crosses to the driver as one row of bytes."""

    def packed(batches: Iterator[Any]) -> Iterator[Any]:  # runs on executors, which need not have parge
        import pyarrow

        for batch in batches:
            if len(batch):
                sink = pyarrow.BufferOutputStream()
                with pyarrow.ipc.new_stream(sink, batch.schema) as out:
                    out.write_batch(batch)
                data = pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.binary())
                yield pyarrow.record_batch([data], names=["batch"])

    for row in frame.mapInArrow(packed, "batch binary").toLocalIterator(prefetchPartitions=True):
        with pa.ipc.open_stream(pa.py_buffer(bytes(row["batch"]))) as reader:
            yield from reader


def frame_of(embedding: Embedding, session: Any) -> Any:
    """Return a Spark DataFrame with the columns ``id`` and ``vector`` (an array of floats).

    Parameters
    ----------
    embedding : Embedding
        Vectors that the driver holds. For more, save them as Parquet and let Spark read the file.
    session : SparkSession
    """
    import pyarrow as pa

    flat = pa.array(embedding.vectors.ravel())
    lengths = pa.array(range(0, len(flat) + 1, embedding.dim), pa.int32())
    ids = pa.array(embedding.ids.tolist())
    return session.createDataFrame(pa.table({"id": ids, "vector": pa.ListArray.from_arrays(lengths, flat)}))

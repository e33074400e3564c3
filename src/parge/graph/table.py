"""Tables of edges: arrow, pandas or polars frames."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parge.columns import Columns, Wanted, asked_for, guessed_notice, ignored_notice, is_guessed
from parge.errors import InputError
from parge.graph.build import check_weights
from parge.graph.gather import Gatherer, encoded
from parge.graph.graph import Graph
from parge.ids import is_text
from parge.memory import refuse_over_budget
from parge.show.text import count
from parge.typing import FloatArray


def from_stream(reader: Any, wanted: Wanted) -> Graph:
    """Build a graph from an arrow stream of edges, a batch at a time: no batch is kept."""
    schema = reader.schema
    edges = EdgeTable(schema.names, edge_columns(schema, wanted), Gatherer(), wanted)
    n_rows = 0
    for batch in reader:
        n_rows += len(batch)
        edges.add([batch.column(place) for place in edges.columns.used])
        refuse_over_budget(edges.projected_bytes, f"the frame has {n_rows:,} edges or more")
    return edges.graph()


def edge_columns(schema: Any, wanted: Wanted) -> Columns:
    """Return which columns make an edge; weights without any value, and a third column without numbers, are none."""
    columns = asked_for(schema.names, wanted)
    if columns.weight is None:
        return columns
    kind = schema.field(columns.weight).type
    words = is_guessed(schema.names, columns, wanted) and not _is_number(kind)
    return replace(columns, weight=None) if words or pa.types.is_null(kind) else columns


class EdgeTable:
    """Collects runs of rows and counts them, so that errors can name the row."""

    def __init__(self, names: list[str], columns: Columns, edges: Gatherer, wanted: Wanted) -> None:
        self.columns = columns if wanted.weighted else replace(columns, weight=None)
        self.names = [names[place] for place in self.columns.used]
        self.all_names, self.weighted = names, wanted.weighted
        self.notices = guessed_notice(names, self.columns, wanted)
        self.notices += ignored_notice(names, columns, len(names), weighted=wanted.weighted)
        self._edges = edges
        self._n_rows = 0

    def begin(self) -> None:
        """Count rows from 1 again: those of the next file."""
        self._n_rows = 0

    def add(self, parts: list[Any]) -> None:
        """Take in rows, column by column in the order of `columns.used`."""
        for name, part in zip(self.names, parts, strict=True):
            self._refuse_nulls(name, part)
        source, target = (_as_ids(name, part) for name, part in zip(self.names, parts[:2], strict=False))
        if source.type != target.type and pa.large_string() in (source.type, target.type):
            source, target = source.cast(pa.large_string()), target.cast(pa.large_string())
        ends = encoded(source, target) if pa.types.is_large_string(source.type) else (source, target)
        self._edges.add(ends, self._weights(parts[2]) if len(parts) > 2 else None)
        self._n_rows += len(source)

    def taken(self) -> Gatherer:
        """Return the rows so far, and start to collect again; the count of rows goes on."""
        found, self._edges = self._edges, Gatherer()
        return found

    @property
    def projected_bytes(self) -> float:
        """Bytes that the graph of the rows so far would take."""
        return self._edges.projected_bytes

    def graph(self) -> Graph:
        """Build the graph and release the rows."""
        return self._edges.graph(self.notices)

    def _refuse_nulls(self, name: str, part: Any) -> None:
        if part.null_count:
            row = pc.index(pc.is_null(part), True).as_py()
            rows = count(part.null_count, "such row")
            raise InputError(
                f"the column {name!r} has no value in row {self._n_rows + row + 1:,} ({rows}). Remove these rows."
            )

    def _weights(self, part: Any) -> FloatArray:
        name = self.names[2]
        if not len(part):
            return np.zeros(0, np.float32)
        kind = part.type.value_type if pa.types.is_dictionary(part.type) else part.type
        if not _is_number(part.type):
            raise InputError(
                f"the weights in the column {name!r} must be numbers; found {kind}. Choose another column (weight=, "
                "--weight), or ignore weights (--unweighted; for a frame, pass only the two id columns)."
            )
        part = part.cast(pa.float64()) if pa.types.is_decimal(part.type) else part
        weights = part.to_numpy(**({} if isinstance(part, pa.ChunkedArray) else {"zero_copy_only": False}))
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if bad.size:
            raise InputError(
                f"the column {name!r} has the weight {weights[bad[0]]} in row {self._n_rows + bad[0] + 1:,}; weights "
                "must be finite and not negative. Correct it, choose another column (weight=, --weight), or ignore "
                "weights (--unweighted; for a frame, pass only the two id columns)."
            )
        return check_weights(weights, len(part))


def _is_number(kind: Any) -> bool:
    """Return whether values of a type can be weights; yes and no are none."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _as_ids(name: str, part: Any) -> Any:
    """Return a column as integers of 32 or 64 bits, or as strings; one without rows, whatever its type, as integers."""
    if not len(part):
        return pa.array([], pa.int64())
    if pa.types.is_dictionary(part.type):
        part = _decoded(part)
    kind = part.type
    if pa.types.is_decimal(kind) and kind.scale == 0:
        return _whole(part)
    if pa.types.is_integer(kind):
        beyond = pa.types.is_uint64(kind) and len(part) and pc.max(part).as_py() >= 2**63
        return part.cast(pa.large_string() if beyond else pa.int32() if kind.bit_width < 32 else _signed(kind))
    if is_text(kind):
        return part.cast(pa.large_string())
    cure = "integers" if pa.types.is_floating(kind) else "strings"
    raise InputError(
        f"the ids in the column {name!r} must be integers or strings; found {kind}. Convert it to {cure}, or name the "
        "columns of the two ends (source= and target=, --source and --target)."
    )


def _whole(part: Any) -> Any:
    """Return a column of decimals without a fraction, as DuckDB has for its widest integers: integers or strings."""
    try:
        return part.cast(pa.int64())
    except pa.ArrowInvalid:
        return part.cast(pa.large_string())


def _decoded(part: Any) -> Any:
    """Return a column of categories as its values; arrow itself cannot where these are views, as those of polars."""
    if isinstance(part, pa.ChunkedArray):
        return pa.chunked_array([_decoded(chunk) for chunk in part.chunks if len(chunk)])
    values = part.dictionary
    if is_text(values.type):
        values = values.cast(pa.large_string())
        n_text = pc.sum(pc.binary_length(values).take(part.indices)).as_py() or 0
        refuse_over_budget(3 * n_text, f"{len(part):,} rows hold {n_text:,} bytes of ids")
    return values.take(part.indices)


def _signed(kind: Any) -> Any:
    return pa.int32() if pa.types.is_int32(kind) else pa.int64()

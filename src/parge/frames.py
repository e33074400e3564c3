"""Tables of other libraries as Arrow streams: read a batch at a time, never copied whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from parge.errors import InputError, PargeError, plain_reason


def is_frame(value: Any) -> bool:
    """Return whether a value is a table of another library: DuckDB, Polars, pandas, pyarrow and others.

    >>> import pyarrow
    >>> is_frame(pyarrow.table({"a": [1]})), is_frame("edges.csv"), is_frame([1, 2])
    (True, False, False)
    """
    if isinstance(value, type):
        return False
    known = type(value).__module__.split(".")[0] in ("pandas", "polars", "pyarrow", "duckdb")
    return known or hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


@contextmanager
def arrow_stream(frame: Any, what: str) -> Iterator[Any]:
    """Yield a reader of batches from anything with ``__arrow_c_stream__``, or that pyarrow makes a table of.

    What the library behind the stream raises while it computes is an `InputError`; `what` names the frame there.
    """
    import pyarrow as pa

    with _foreign_errors(frame, what):
        try:
            has_stream = hasattr(frame, "__arrow_c_stream__")
            reader = pa.RecordBatchReader.from_stream(frame) if has_stream else pa.table(frame).to_reader()
        except (TypeError, ValueError, pa.ArrowException) as error:
            reason = plain_reason(error).rstrip(".")
            raise InputError(
                f"{what}: the {type(frame).__name__} cannot be read as a frame of columns: {reason}."
                f"{_cure(frame, error)}"
            ) from error
        with reader:
            yield reader


def _cure(frame: Any, error: Exception) -> str:
    """Return what to do with a frame that is none, or whose columns Arrow cannot hold."""
    said = str(error).lower()
    if hasattr(frame, "collect"):
        return " Call its collect() first."
    if "duplicate column" in said:
        return " Give every column its own name."
    if "non-struct" in said:
        return " Give a frame with a column for each end."
    if not hasattr(frame, "columns"):
        return " Give a frame with a column for each end."
    return " Convert the columns of ids to integers or strings first."


@contextmanager
def _foreign_errors(frame: Any, what: str) -> Iterator[None]:
    try:
        yield
    except (PargeError, MemoryError):
        raise
    except Exception as error:  # each library has its own, and some compute only when a batch is asked for
        raise InputError(f"{what}: the {type(frame).__name__} cannot be read: {plain_reason(error)}") from error

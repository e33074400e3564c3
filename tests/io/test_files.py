"""What is read of text by pyarrow."""

from pathlib import Path

import pyarrow as pa
import pytest

from parge.errors import InputError
from parge.io.files import foreign_errors, limit_errors, read_columns

TEXT = b"".join(b"%d %d\n" % (i, 7 * i % 1000) for i in range(2000))
TYPES = {"0": pa.int64(), "1": pa.int64()}


def test_only_columns_with_a_type_are_read() -> None:
    found = read_columns(b"a,1\nb,2\n", ["name", "number"], {"number": pa.int64()})
    assert found.to_pydict() == {"number": [1, 2]}


def test_nobody_holds_a_text_that_has_been_read() -> None:
    """Otherwise a thread of pyarrow lets go of it later, and aborts a process that ends meanwhile."""
    for _ in range(200):
        text = bytearray(TEXT)
        read_columns(memoryview(text), ["0", "1"], TYPES, delimiter=" ")
        text.clear()  # refused with BufferError while somebody has a view


def test_a_text_that_was_refused_is_let_go_of_as_well() -> None:
    text = bytearray(b"1 2\n3\n")
    with pytest.raises(pa.ArrowInvalid):
        read_columns(memoryview(text), ["0", "1"], TYPES, delimiter=" ")
    text.clear()


_REFUSED = [MemoryError(), pa.ArrowException("Failed to launch worker thread: Resource temporarily unavailable")]


@pytest.mark.parametrize("refused", _REFUSED, ids=["memory", "thread"])
def test_memory_that_a_limit_refuses_is_no_fault_of_the_file(
    refused: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parge.io.files.current_limit", lambda: 300_000_000)
    with pytest.raises(MemoryError), limit_errors(), foreign_errors(Path("edges.parquet"), "Parquet"):
        raise refused


def test_a_limit_does_not_excuse_a_damaged_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parge.io.files.current_limit", lambda: 300_000_000)
    with pytest.raises(InputError), limit_errors(), foreign_errors(Path("edges.parquet"), "Parquet"):
        raise pa.ArrowInvalid("magic bytes not found")


def test_memory_that_the_machine_lacks_is_named_with_the_file() -> None:
    with (
        pytest.raises(InputError, match=r"edges\.parquet: .* more memory"),
        foreign_errors(Path("edges.parquet"), "Parquet"),
    ):
        raise MemoryError

"""Dense Matrix Market files: as scipy reads them where they are right, refused where they are not."""

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.errors import InputError
from parge.io.graphs.market import parse_array, parse_header
from parge.io.graphs.read import read

HEAD = "%%MatrixMarket matrix array {} {}\n"


def parse(text: str, n: int, symmetry: str = "general") -> list[list[float]]:
    head = parse_header(Path("m.mtx"), text.encode())
    return parse_array(Path("m.mtx"), text.encode()[head.size :], n, symmetry).tolist()


@examples(60)
@given(st.integers(1, 6), st.integers(0, 2**32), st.sampled_from(["general", "symmetric"]))
def test_equals_scipy(n: int, seed: int, symmetry: str) -> None:
    matrix = np.random.default_rng(seed).random((n, n))
    matrix = matrix if symmetry == "general" else matrix + matrix.T
    file = io.BytesIO()
    scipy.io.mmwrite(file, matrix, symmetry=symmetry, comment="one\n\ntwo", precision=17)
    head = parse_header(Path("m.mtx"), file.getvalue())
    found = parse_array(Path("m.mtx"), file.getvalue()[head.size :], n, symmetry)
    assert np.array_equal(found, scipy.io.mmread(io.BytesIO(file.getvalue())))
    assert np.array_equal(found, matrix)


def test_numbers_stand_by_columns_and_line_ends_do_not_matter() -> None:
    text = HEAD.format("real", "general") + "% note\n\n 2 2\n1\n2\n\n3\n4"
    assert parse(text, 2) == [[1, 3], [2, 4]]
    assert parse(text.replace("\n", "\r\n"), 2) == [[1, 3], [2, 4]]


@pytest.mark.parametrize(("symmetry", "right"), [("general", 9), ("symmetric", 6)])
@pytest.mark.parametrize("more", [-9, -1, 1, 10_000])
def test_too_few_and_too_many_numbers_are_refused(symmetry: str, right: int, more: int) -> None:
    text = HEAD.format("real", symmetry) + "3 3\n" + "1\n" * max(0, right + more)
    with pytest.raises(InputError, match=rf"\b{right}\b.*\b{max(0, right + more):,}\b"):
        parse(text, 3, symmetry)


@pytest.mark.parametrize("word", ["x", "1,0", "0x10", "1_0", "%", "1 % note", "\0", "\xff"])
def test_words_are_no_numbers(word: str) -> None:
    with pytest.raises(InputError, match="number"):
        parse(HEAD.format("real", "general") + f"2 2\n1\n1\n{word}\n1\n", 2)


CASES: dict[str, tuple[str, str]] = {
    "skew": (
        HEAD.format("real", "skew-symmetric") + "3 3\n1\n2\n3\n",
        "a skew-symmetric matrix is not an adjacency matrix",
    ),
    "hermitian": (HEAD.format("real", "hermitian") + "2 2\n1\n2\n3\n", "a hermitian matrix is not an adjacency matrix"),
    "complex": (HEAD.format("complex", "general") + "1 1\n1 2\n", "real numbers; this one holds complex"),
    "pattern": (HEAD.format("pattern", "general") + "2 2\n1\n2\n3\n4\n", "array and pattern"),
    "rectangle": (HEAD.format("real", "general") + "2 3\n" + "1\n" * 6, "must be square; found 2 x 3"),
    "too many": (HEAD.format("integer", "general") + "2 2\n" + "1\n" * 5000, "declares 4 numbers, but 5,000 follow"),
    "too few": (HEAD.format("integer", "symmetric") + "2 2\n1\n", "declares 3 numbers, but 1 follow"),
    "huge": (HEAD.format("real", "general") + "2000000 2000000\n1\n", "more than .* bytes can hold|budget"),
    "not a number": (HEAD.format("real", "general") + "2 2\n0\nnan\n1\n0\n", "finite"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_adjacency_matrix_is_refused(tmp_path: Path, case: str, packed: bool) -> None:
    text, words = CASES[case]
    path = tmp_path / ("m.mtx.gz" if packed else "m.mtx")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(InputError, match=words) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_right_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.mtx").write_text(HEAD.format("integer", "symmetric") + "3 3\n0\n2\n0\n0\n5\n0\n")
    graph = read(tmp_path / "m.mtx")
    assert graph.to_scipy().toarray().tolist() == [[0, 2, 0], [2, 0, 5], [0, 5, 0]]

"""Matrix Market: every prefix and every changed byte of a file reads as a slow twin reads it, or is refused."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples, first

from parge.errors import InputError
from parge.graph.matrix import from_matrix
from parge.io.graphs.market import read_matrix_market
from parge.io.graphs.read import read

HEAD = "%%MatrixMarket matrix {} {} {}\n"
VALID = {
    "real": HEAD.format("coordinate", "real", "general") + "% c\n3 3 3\n1 2 1.5\n2 3 25\n3 1 1e-2\n",
    "integer": HEAD.format("coordinate", "integer", "symmetric") + "3 3 2\n2 1 7\n3\t1  40\n",
    "pattern": HEAD.format("coordinate", "pattern", "symmetric") + "\n4 4 3\n2 1\n3 1 \n\n4 4",
    "array": HEAD.format("array", "real", "general") + "2 2\n0\n1.5\n2 0\n",
    "half": HEAD.format("array", "integer", "symmetric") + "2 2\n0\n3\n0\n",
    "dos": (HEAD.format("coordinate", "real", "general") + "% c\n2 2 1\n1 2 1.5\n").replace("\n", "\r\n"),
}
_VALUE = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?inf(inity)?|[-+]?nan", re.IGNORECASE)


def _whole(word: str) -> int:
    assert re.fullmatch("[0-9]{1,18}", word)
    return int(word)


def _twin(text: str) -> np.ndarray:
    """Return the dense matrix of a Matrix Market file, in the plainest way; AssertionError where it is none."""
    lines = re.split("\r\n|\n|\r", text)
    banner = re.fullmatch(r"%%MatrixMarket\s+(?i:matrix)\s+(\S+)\s+(\S+)\s+(\S+)\s*", lines[0])
    assert banner is not None
    layout, field, symmetry = (word.lower() for word in banner.groups())
    assert field in {"real", "double", "integer", "unsigned-integer", "pattern"}
    rest = [line for line in lines[1:] if line.strip()]
    while rest[0].startswith("%"):
        rest.pop(0)
    sizes = [_whole(word) for word in rest.pop(0).split()]
    assert sizes[0] == sizes[1]
    out = np.zeros((sizes[0], sizes[0]))
    pattern = re.compile("-?[0-9]{1,18}") if "integer" in field else _VALUE
    if layout == "array":
        assert len(sizes) == 2
        numbers = [float(word) for line in rest for word in line.split() if _VALUE.fullmatch(word) or 1 / 0]
        places = [(i, j) for j in range(sizes[0]) for i in range(sizes[0]) if symmetry == "general" or i >= j]
        assert symmetry in {"general", "symmetric"}
        assert field != "pattern"
        for (i, j), number in zip(places, numbers, strict=True):
            out[i, j] = number
            out[j, i] = number if symmetry == "symmetric" else out[j, i]
        return out
    assert layout == "coordinate"
    assert len(rest) == sizes[2]
    sign = {"general": 0, "symmetric": 1, "hermitian": 1, "skew-symmetric": -1}[symmetry]
    for line in rest:
        words = [word for word in re.split("[ \t]+", line) if word]
        assert len(words) == (2 if field == "pattern" else 3)
        i, j = (_whole(word) - 1 for word in words[:2])
        assert min(i, j) >= 0
        assert field == "pattern" or pattern.fullmatch(words[2])
        value = 1.0 if field == "pattern" else float(words[2])
        out[i, j] += value
        if i != j:
            out[j, i] += sign * value
    return out


def _same_or_refused(path: Path, data: bytes) -> bool:
    """Assert that a file is read as the twin reads it or refused; return whether it was read."""
    path.write_bytes(data)
    try:
        found = read_matrix_market(path)
    except InputError:
        return False
    with np.errstate(all="ignore"):
        expected = from_matrix(_twin(data.decode("utf-8", "replace")))
    assert (found.to_scipy() != expected.to_scipy()).nnz == 0
    return True


@pytest.mark.parametrize("name", first(VALID, 1))
def test_every_prefix_and_every_changed_byte_is_read_as_by_the_twin_or_refused(tmp_path: Path, name: str) -> None:
    path, data = tmp_path / "m.mtx", VALID[name].encode()
    assert _same_or_refused(path, data)
    for end in range(len(data)):
        _same_or_refused(path, data[:end])
        _same_or_refused(path, data[:end] + b" ")
    head = data.index(b"\n") + 1
    for place in range(head, len(data)):
        for byte in b"\0\t\n\r %(+-.09eEx\xef":
            _same_or_refused(path, data[:place] + bytes([byte]) + data[place + 1 :])
            _same_or_refused(path, data[:place] + bytes([byte]) + data[place:])
    for place in range(head):
        for byte in b"\0\n %a\xff":
            _same_or_refused(path, data[:place] + bytes([byte]) + data[place + 1 :])


@examples(60)
@given(
    st.integers(1, 6),
    st.integers(0, 2**32),
    st.sampled_from(["real", "integer", "pattern"]),
    st.sampled_from(["general", "symmetric"]),
)
def test_equals_scipy(tmp_path_factory: pytest.TempPathFactory, n: int, seed: int, field: str, symmetry: str) -> None:
    path = tmp_path_factory.mktemp("m") / "m.mtx"
    rng = np.random.default_rng(seed)
    matrix = sp.coo_matrix(np.where(rng.random((n, n)) < 0.4, rng.integers(1, 9, (n, n)), 0))
    matrix = matrix if symmetry == "general" else sp.coo_matrix(matrix + matrix.T)
    scipy.io.mmwrite(path, matrix, field=field, symmetry=symmetry, comment="one\n\ntwo")
    expected = from_matrix(scipy.io.mmread(path))
    assert (read_matrix_market(path).to_scipy() != expected.to_scipy()).nnz == 0


@pytest.mark.parametrize(
    ("entries", "line"),
    [
        ("1 2 1\n2 3 1x\n", 4),
        ("1 2 1\n2 3 1 7\n", 4),
        ("1 2 0x1\n2 3 1\n", 3),
        ("1 2 1\n2 9 1\n", 4),
        ("1 2\n2 3\n", 3),
    ],
)
def test_garbage_is_refused_with_its_line(tmp_path: Path, entries: str, line: int) -> None:
    (tmp_path / "m.mtx").write_text(HEAD.format("coordinate", "real", "general") + "3 3 2\n" + entries)
    with pytest.raises(InputError, match=f"line {line}"):
        read(tmp_path / "m.mtx")


def test_the_line_is_found_in_a_large_file(tmp_path: Path) -> None:
    lines = [f"{i} {i + 1} 0.5\n" for i in range(1, 200_000)]
    lines[150_000] = "7 8 0.5 oops\n"
    text = HEAD.format("coordinate", "real", "general") + f"200000 200000 {len(lines)}\n" + "".join(lines)
    (tmp_path / "m.mtx").write_text(text)
    with pytest.raises(InputError, match=r"line 150,003: .*3 numbers"):
        read(tmp_path / "m.mtx")


def test_no_ending_takes_the_process_with_it(tmp_path: Path) -> None:
    """These endings ended the process, in the parser that was used before; so they have one of their own here."""
    head = HEAD.format("coordinate", "real", "general").encode() + b"3 3 3\n1 2 1.5\n2 3 25\n"
    endings = [b"3 1 1e", b"3 1 1e-", b"3 1 1e-2 ", b"3 1 1e-2\t", b"3 1 ", b"3"]
    for number, ending in enumerate(endings):
        (tmp_path / f"{number}.mtx").write_bytes(head + ending)
    script = """
import sys, pathlib, parge
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.mtx")):
    try:
        print("read" if parge.read(path).n_edges == 3 else "wrong")
    except parge.errors.InputError:
        print("refused")
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused", "refused", "read", "read", "refused", "refused"]

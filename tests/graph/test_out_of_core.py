"""Graphs read into files equal those read into memory, whatever the ids, weights and faults of the file."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples, first
from tests.graph.sameness import assert_same

from parge.errors import PargeError
from parge.graph.graph import Graph
from parge.graph.subgraph import induce
from parge.io.graphs.read import projected_edges, read
from parge.storage import MEMORY, Files, storage_like

HARDLY_ANY = 1  # byte: whatever is read goes to files


def both(path: Path, **options: object) -> tuple[Graph, Graph]:
    in_files = read(path, coordinator_memory=HARDLY_ANY, scratch=path.parent, **options)  # type: ignore[arg-type]
    return in_files, read(path, **options)  # type: ignore[arg-type]


def assert_equal(found: Graph, wanted: Graph) -> None:
    assert_same(found, wanted)
    assert found.notices == wanted.notices
    assert (found.ids is None) == (wanted.ids is None)
    assert storage_like(found.indices) is not MEMORY
    assert storage_like(wanted.indices) is MEMORY


FILES = {
    "dense": "0 1\n1 2\n2 0\n2 0\n0 2\n3 3\n4 3\n",
    "gaps": "5 1\n1 9\n9 5\n",
    "far": "5 1000000007\n-3 1000000007\n-3 99999999999\n",
    "strings": "b a\na c\nlonger-than-fifteen-bytes a\nä b\n",
    "weights": "0 1 2.5\n1 0 1.5\n1 2 0\n2 3 1\n2 3 1\n",
    "unit weights": "0 1 1\n1 2 1\n",
    "late string": "\n".join(f"{u} {u + 1}" for u in range(350_000)) + "\nx 7\n",
}


@pytest.mark.parametrize("name", first(FILES, 2))
def test_text_into_files_equals_text_into_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "g.txt"
    path.write_text(FILES[name])
    assert_equal(*both(path))
    assert sorted(tmp_path.iterdir()) == [path], "the files have no names"


@pytest.mark.parametrize("ids", first(["strings", "integers", "sparse integers"], 1))
def test_parquet_into_files_equals_parquet_into_memory(tmp_path: Path, ids: str) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 5_000, (2, 300_000)) * (1 if ids == "integers" else 10**9 + 7)
    columns = [pa.array(column.astype(str) if ids == "strings" else column) for column in ends]
    pq.write_table(
        pa.table([*columns, pa.array(rng.random(300_000))], ["source", "target", "weight"]), tmp_path / "g.parquet"
    )
    assert_equal(*both(tmp_path / "g.parquet"))


@pytest.mark.parametrize("vertices", [12, "ids.txt"])
def test_isolated_vertices_are_added_in_files(tmp_path: Path, vertices: int | str) -> None:
    (tmp_path / "g.txt").write_text(FILES["gaps"])
    (tmp_path / "ids.txt").write_text("2\n11\n1\n")
    assert_equal(*both(tmp_path / "g.txt", vertices=vertices if isinstance(vertices, int) else tmp_path / vertices))


@examples(30)
@given(st.lists(st.tuples(st.integers(-5, 30), st.integers(-5, 30)), min_size=1, max_size=60), st.booleans())
def test_any_edges(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]], named: bool) -> None:
    path = tmp_path_factory.mktemp("any") / "g.txt"
    path.write_text("".join(f"{'v' if named else ''}{u} {v}\n" for u, v in [*pairs, (40, 41)]))
    assert_equal(*both(path))


def test_what_is_cut_out_of_files_is_in_files(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(FILES["weights"])
    in_files, in_memory = both(tmp_path / "g.txt")
    own, anchors = np.array([0, 1]), np.array([3])
    found, wanted = induce(in_files, own, anchors), induce(in_memory, own, anchors)
    assert_same(found.graph, wanted.graph)
    assert found.graph.n_edges == 0 or storage_like(found.graph.indices) is not MEMORY


def test_a_graph_that_fits_stays_in_memory(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(FILES["dense"])
    assert storage_like(read(tmp_path / "g.txt", coordinator_memory="900GB").indices) is MEMORY


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".parquet"])
def test_edges_are_projected_within_a_factor_of_the_truth(tmp_path: Path, suffix: str) -> None:
    path, rng = tmp_path / f"g{suffix}", np.random.default_rng(1)
    source, target = rng.integers(0, 10**6, (2, 50_000))
    if suffix == ".parquet":
        pq.write_table(pa.table([source, target], ["source", "target"]), path)
    else:
        np.savetxt(path, np.c_[source, target], fmt="%d")
    assert 25_000 <= projected_edges(path) <= 150_000


def test_a_full_disk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PargeError, match="--coordinator-memory"):
        Files(tmp_path).zeros(2**58, np.int64)
    assert not list(tmp_path.iterdir())

"""Partitioners leave no trace of their own on the disk."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parge.decompose.partitioners import Problem, partition
from parge.graph.generate import ring_of_cliques
from parge.storage import MEMORY, Files, storage_like


def test_a_process_that_is_killed_while_it_partitions_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph reaches KaMinPar through a file without a name."""
    library = pytest.importorskip("kaminpar")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    load, seen = library.load_graph, []

    def watched(path: str, *args: Any, **options: Any) -> Any:
        seen.append((Path(path).stat().st_size, list(tmp_path.iterdir())))
        return load(path, *args, **options)

    monkeypatch.setattr(library, "load_graph", watched)
    graph = ring_of_cliques(20, 8)
    ones, limits = np.ones(graph.n_vertices, np.int64), np.full(4, 45, np.int64)
    part = partition(Problem(graph.indptr, graph.indices, ones, limits, ones, 1), "kaminpar")
    assert np.unique(part).size == 4
    assert seen
    assert all(size > 0 and not files for size, files in seen)


def test_arrays_in_files_have_no_name_and_know_their_folder(tmp_path: Path) -> None:
    array = Files(tmp_path).zeros(1000, np.int64)
    array[:] = 3
    assert not list(tmp_path.iterdir())
    assert storage_like(array[10:20]) == Files(tmp_path)
    assert storage_like(np.array(array)) is MEMORY

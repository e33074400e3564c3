"""Partitioners leave no trace of their own on the disk, and say what they can do."""

import errno
import os
import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parge.decompose import partitioner_choice as choice
from parge.decompose.anchors import AnchorDecomposer
from parge.decompose.limits import Limits
from parge.decompose.partitioners import Partitioner, Problem, SplitMemory, metis, partition
from parge.decompose.registry import partitioners
from parge.errors import PargeError
from parge.graph.generate import ring_of_cliques
from parge.graph.graph import Graph
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


def test_the_reason_why_kaminpar_cannot_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """KaMinPar only says that it failed; where the process may open no more files, the system's own words are used."""
    library = pytest.importorskip("kaminpar")
    ring = Graph.from_edges(range(30), [*range(1, 30), 0])
    ones = np.ones(30, np.int64)
    problem = Problem(ring.indptr, ring.indices, ones, np.array([16, 16]), ones, 1)

    def unable(*_: Any, **__: Any) -> None:
        raise ValueError("Failed to load graph")

    monkeypatch.setattr(library, "load_graph", unable)
    with pytest.raises(PargeError, match="KaMinPar"):
        partition(problem, "kaminpar")
    taken: list[int] = []

    def without_files(*_: Any, **__: Any) -> None:
        for _number in range(100_000):
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        raise ValueError("Failed to load graph")

    monkeypatch.setattr(library, "load_graph", without_files)
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(few, 256), most))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
            partition(problem, "kaminpar")
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))


def test_partitioners_of_others_are_judged_by_what_they_say_of_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function alone works; what one says of its memory, of its package and of anchors decides the rest."""
    graph, limits = ring_of_cliques(20, 8), Limits.of_vertices([60] * 4)
    asked = []

    def around(graph: Graph, limits: Limits, anchors: Any, **_: Any) -> Any:
        asked.append(anchors.size)
        part = np.arange(graph.n_vertices, dtype=np.int32) % limits.n_parts
        part[anchors] = -1
        return part

    large = Partitioner(metis, memory=SplitMemory(per_vertex=10**9), smaller=("small",))
    small = Partitioner(metis, memory=SplitMemory(per_vertex=1), around_anchors=around)
    missing = Partitioner(metis, package="no_such_package")
    for name, component in {"large": large, "small": small, "missing": missing, "bare": metis}.items():
        monkeypatch.setitem(partitioners._known, name, component)
    monkeypatch.setattr(choice, "private_bytes", lambda: 0)
    found = choice.choose(graph, 10**9, "large")
    assert (found.partitioner, found.is_first) == ("small", False)
    assert choice.unprojected("bare", 4)
    assert not choice.unprojected("small", 4)
    for name in ("small", "missing", "bare"):
        decomposition = AnchorDecomposer(6, partitioner=name).decompose(graph, limits)
        assert (decomposition.held <= 60).all()
        assert ("no_such_package" in str(decomposition.notices)) == (name == "missing")
    assert asked

"""The streaming partitioner: its plain twin, its limits, and the whole way under a quarter of the graph's bytes."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from tests.decompose.test_decompose import feasible
from tests.examples import examples

from parge.decompose import partitioner_choice as choice
from parge.decompose.anchors import AnchorDecomposer
from parge.decompose.fennel import Fennel, streamed
from parge.decompose.limits import Limits
from parge.decompose.registry import COMPRESSED, STREAMING
from parge.errors import InfeasibleError
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.kernels.cut import count_edges
from parge.memory import Footprint
from parge.planning.decision import decide
from parge.planning.plan import Plan
from parge.testing.decomposer import DecomposerContract, check_decomposition
from parge.typing import PartArray


def check_pass(fennel: Fennel, part: list[int], answers: list[int]) -> None:
    """Follow one pass as the formula has it, vertex by vertex; every answer must be a best one.

    Two parts may be equally good but for the order in which numbers were added: then the answer decides.
    """
    n, n_parts = len(part), fennel.free.size
    rows = [fennel.indices[fennel.indptr[v] : fennel.indptr[v + 1]].tolist() for v in range(n)]
    mean = max(1.0, sum(map(len, rows)) / max(1, n))
    work_of = [1 + len(row) / mean for row in rows]
    total = sum(work_of[v] for v in range(n) if not fennel.left_out[v])
    usable = [max(0, int(free)) for free in fennel.free]
    loads, work = [0] * n_parts, [0.0] * n_parts
    for v in range(n):
        if fennel.left_out[v]:
            continue
        anchors = sum(bool(fennel.left_out[u]) for u in rows[v])
        weight = math.ceil(fennel.cost[0] + fennel.cost[1] * (anchors + (len(rows[v]) - anchors) / 2))
        scores = []
        for p in range(n_parts):
            if loads[p] + weight > fennel.free[p]:
                continue
            share = max(usable[p] / max(1, sum(usable)) * total, 1e-9)
            full = max(work[p] / share, loads[p] / max(1, usable[p]))
            votes = sum(part[u] == p for u in rows[v] if not fennel.left_out[u])
            crowded = 1e12 if full > 1.1 + 1e-9 else 0
            scores.append((votes - 0.75 * mean * math.sqrt(full) - crowded, -p))
        best = answers[v]
        if scores:
            mine = {-p: score for score, p in scores}
            assert mine[best] >= max(scores)[0] - 1e-9
        else:
            assert best == int(np.argmax(fennel.free - np.array(loads)))
        part[v] = best
        loads[best] += weight
        work[best] += work_of[v]


@examples(60)
@given(feasible())
def test_the_kernel_is_its_plain_twin_and_keeps_limits(case: tuple[Graph, Limits, int]) -> None:
    graph, limits, n_anchors = case
    left_out = np.zeros(graph.n_vertices, np.bool_)
    left_out[:n_anchors] = True
    fennel = Fennel(graph.indptr, graph.indices, left_out, limits.capacities - n_anchors)
    part = np.full(graph.n_vertices, -1, np.int32)
    twin = part.tolist()
    for _ in range(3):
        assert fennel.split(part, passes=1) == 0, "with unit weights there is room for all"
        check_pass(fennel, twin, part.tolist())
        assert part.tolist() == twin
        assert (np.bincount(part[~left_out], minlength=limits.n_parts) <= fennel.free).all()


def test_weights_in_bytes_are_those_of_the_limits() -> None:
    graph = planted(600, 3_000, seed=1).graph
    limits = Limits.of_bytes([90_000, 40_000, 70_000], Footprint(1_000, 100, 15))
    anchors = np.arange(0, 600, 60)
    part, load = streamed(graph, limits, anchors), limits.load(graph, anchors)
    assert (part[anchors] == -1).all()
    loads = np.bincount(np.maximum(part, 0), load.weights, minlength=3)
    assert (loads <= load.free).all()


class TestContract(DecomposerContract):
    decomposer = staticmethod(lambda n_anchors: AnchorDecomposer(n_anchors, partitioner=STREAMING))


class TestCompressed(DecomposerContract):
    decomposer = staticmethod(lambda n_anchors: AnchorDecomposer(n_anchors, partitioner=COMPRESSED))


def test_compressed_keeps_the_laws_on_a_real_size() -> None:
    graph, limits = planted(800, 4_000, seed=3).graph, Limits.of_vertices([200, 300, 500])
    check_decomposition(graph, limits, AnchorDecomposer(60, partitioner=COMPRESSED).decompose(graph, limits))


def lost(graph: Graph, part: PartArray, n_parts: int) -> float:
    nobody = np.zeros(graph.n_vertices, np.bool_)
    return float(np.triu(count_edges(graph.indptr, graph.indices, part, nobody, n_parts)[0], 1).sum() / graph.n_edges)


def test_the_stream_finds_communities_and_passes_help() -> None:
    graph = planted(4_000, 40_000, seed=5).graph
    limits = Limits.of_vertices([700, 700, 1_400, 1_400])
    free, nobody = limits.capacities, np.zeros(graph.n_vertices, np.bool_)
    cuts = []
    for passes in (1, 5):
        part = np.full(graph.n_vertices, -1, np.int32)
        Fennel(graph.indptr, graph.indices, nobody, free).split(part, passes)
        cuts.append(lost(graph, part, 4))
    by_chance = 1 - ((free / free.sum()) ** 2).sum()
    assert cuts[1] < cuts[0] < 0.9 * by_chance


def test_the_first_way_that_fits_is_chosen_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "private_bytes", lambda: 10**6)
    graph = planted(3_000, 30_000, seed=2).graph
    projected = choice.choose(graph, 10**9).projected
    assert list(projected) == ["kaminpar", COMPRESSED, STREAMING]
    assert sorted(projected.values(), reverse=True) == list(projected.values())
    for name, size in projected.items():
        assert choice.choose(graph, 10**6 + size).partitioner == name
    least = projected[STREAMING]
    with pytest.raises(InfeasibleError, match=f"--coordinator-memory {-(-(10**6 + least) // 10**6)}MB"):
        choice.choose(graph, 10**6 + least - 1)
    decision = decide(graph, Plan(parts=3, coordinator_memory=10**6 + least))
    decomposer, limits = decision.decomposer, decision.limits
    assert any("chosen: streaming" in notice for notice in decomposer.decompose(graph, limits).notices)


def test_a_partitioner_that_was_asked_for_is_not_overruled() -> None:
    graph = planted(300, 1_000, seed=2).graph
    decomposer = decide(graph, Plan(parts=3, partitioner="metis", coordinator_memory="900GB")).decomposer
    assert isinstance(decomposer, AnchorDecomposer)
    assert decomposer.partitioner == "metis"


# The whole way of the coordinator in a process that the system refuses more private memory than that.
CAPPED = """
import sys
from pathlib import Path
import numpy as np
from parge.cli.memory import rehearse
from parge.io.graphs.read import read
from parge.memory import limit_memory, private_bytes, return_freed_memory
from parge.planning.decision import decide
from parge.planning.plan import Plan
from parge.storage import MEMORY, storage_like

path, room, in_files = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "files"
return_freed_memory()
rehearse()
limit = private_bytes() + room
limit_memory(limit)
graph = read(path, coordinator_memory=limit if in_files else None, scratch=path.parent)
assert (storage_like(graph.indices) is MEMORY) != in_files
strategy = "alternating" if graph.weights is None else "random"  # one split, for time
plan = Plan(capacities=[12_000, 15_000, 25_000], anchors=1_000, anchor_strategy=strategy, coordinator_memory=limit)
decision = decide(graph, plan)
decomposer, limits = decision.decomposer, decision.limits
assert decomposer.choice.partitioner == "streaming", decomposer.choice
found = decomposer.decompose(graph, limits)
edges = [found.subgraph(i).n_edges for i in range(3)]
assert edges == found.edges.tolist()
np.savez(path.with_suffix(".npz"), part=found.part, anchors=found.anchors, edges=found.edges, n_lost=found.n_lost)
"""


@pytest.mark.parametrize("names", ["integers", "strings, weighted"])
@pytest.mark.slow
def test_the_coordinator_keeps_under_a_quarter_of_the_graph(tmp_path: Path, names: str) -> None:
    n, m = 40_000, 4_000_000
    source, target = np.random.default_rng(4).integers(0, n, (2, m), dtype=np.int32)
    columns = [pa.array(ends) for ends in (source, target)]
    size = 8 * n + 2 * 4 * m
    free = size // 4
    if names != "integers":
        dictionary = pa.array([f"vertex-{v:06d}" for v in range(n)])
        columns = [pa.DictionaryArray.from_arrays(column, dictionary).cast(pa.string()) for column in columns]
        columns.append(pa.array(np.full(m, 2.5, np.float32)))
        free = size  # half of the graph: arrow decodes strings a row group at a time on several threads
    path = tmp_path / "g.parquet"
    pq.write_table(pa.table(columns, ["source", "target", "weight"][: len(columns)]), path, row_group_size=2**17)

    def run(where: str) -> "subprocess.CompletedProcess[str]":
        line = [sys.executable, "-c", CAPPED, str(path), str(free), where]
        small = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(line, env={**os.environ, **small}, capture_output=True, text=True, check=False)

    done = run("files")
    assert done.returncode == 0, done.stderr[-2000:]
    found = np.load(path.with_suffix(".npz"))
    part, anchors = found["part"], found["anchors"]
    is_anchor = np.zeros(n, np.bool_)
    is_anchor[anchors] = True
    sizes = np.bincount(part[~is_anchor], minlength=3) + anchors.size
    assert (sizes <= [12_000, 15_000, 25_000]).all()
    keys = np.unique(np.minimum(source, target).astype(np.int64) * n + np.maximum(source, target))
    u, v = keys // n, keys % n
    u, v = u[u != v], v[u != v]
    cut = ~is_anchor[u] & ~is_anchor[v] & (part[u] != part[v])
    assert cut.sum() == found["n_lost"]
    inside = [((part[u] == i) | is_anchor[u]) & ((part[v] == i) | is_anchor[v]) for i in range(3)]
    assert [int(edges.sum()) for edges in inside] == found["edges"].tolist()
    if names == "integers":
        refused = run("memory")
        assert refused.returncode != 0
        assert "Memory" in refused.stderr or "of memory" in refused.stderr  # by the system, or by its size beforehand

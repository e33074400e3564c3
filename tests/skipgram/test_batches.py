"""Batches on threads: order, bound on what is held, errors, and the same bits for any number of threads."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.examples import slow
from tests.techniques.cases import communities, separation

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.skipgram.settings import Mode
from parge.skipgram.train import run_batches
from parge.techniques.base import Technique
from parge.techniques.deepwalk import DeepWalk
from parge.techniques.line import LINE
from parge.techniques.node2vec import Node2Vec
from parge.techniques.resolve import resolve
from parge.testing.technique import embed_in_fresh_process
from parge.typing import FloatArray

MODES: tuple[Mode, ...] = ("deterministic", "hogwild")
# Short batches: the graphs of tests would be one batch a repetition else.
TECHNIQUES = [
    DeepWalk(dim=16, walks=4, walk_length=400),
    Node2Vec(dim=16, walks=4, walk_length=400, p=0.5, q=2.0),
    LINE(dim=16, samples=300),
]


def _embed(technique: Technique, subgraph: Subgraph) -> FloatArray:
    return technique.embed(subgraph, np.random.default_rng(1))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_batches(threads: int, mode: Mode) -> None:
    def draw(batch: int) -> int:
        time.sleep(0.002 * (batch % 3))
        return 2 * batch

    found = list(run_batches(range(30), draw, lambda drawn: drawn + 1, threads=threads, mode=mode))
    assert found == [2 * batch + 1 for batch in range(30)]


def test_deterministic_trains_on_the_calling_thread_and_draws_on_others() -> None:
    drawers: set[int] = set()
    trainers: set[int] = set()
    run = run_batches(
        range(20),
        lambda batch: drawers.add(threading.get_ident()) or batch,
        lambda _: trainers.add(threading.get_ident()),
        threads=3,
        mode="deterministic",
    )
    assert len(list(run)) == 20
    assert trainers == {threading.get_ident()}
    assert trainers.isdisjoint(drawers)


def test_hogwild_trains_on_several_threads_at_once() -> None:
    together = threading.Barrier(3, timeout=20)
    run = run_batches(range(3), lambda batch: batch, lambda _: together.wait(), threads=3, mode="hogwild")
    assert sorted(run) == [0, 1, 2]  # nobody passes the barrier before all three are there


@pytest.mark.parametrize(("mode", "most"), [("deterministic", 3), ("hogwild", 6)])
def test_few_batches_are_held_however_many_there_are(mode: Mode, most: int) -> None:
    taken = trained = widest = 0

    def batches() -> Iterator[int]:
        nonlocal taken, widest
        for batch in range(50):
            taken += 1
            widest = max(widest, taken - trained)
            yield batch

    for _ in run_batches(batches(), lambda batch: batch, lambda drawn: drawn, threads=3, mode=mode):
        trained += 1
    assert trained == 50
    assert widest <= most + 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", ["draw", "train"])
def test_an_error_on_any_thread_ends_the_run(place: str, mode: Mode) -> None:
    started: list[int] = []

    def fail(batch: int) -> int:
        started.append(batch)
        if batch == 3:
            raise ArithmeticError("no")
        return batch

    steps = {"draw": lambda batch: batch, "train": lambda drawn: drawn, place: fail}
    with pytest.raises(ArithmeticError):
        list(run_batches(range(1000), steps["draw"], steps["train"], threads=2, mode=mode))
    assert len(started) < 20


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
@pytest.mark.parametrize("weighted", [True, *slow(False)])
def test_deterministic_has_the_same_bits_for_any_number_of_threads(technique: Technique, weighted: bool) -> None:
    subgraph, _ = communities(weighted=weighted)
    alone = _embed(technique, subgraph)
    for threads in (2, 3, 8):
        assert np.array_equal(alone, _embed(replace(technique, threads=threads), subgraph)), threads


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
def test_hogwild_on_one_thread_is_deterministic(technique: Technique) -> None:
    subgraph, _ = communities()
    assert np.array_equal(_embed(technique, subgraph), _embed(replace(technique, mode="hogwild"), subgraph))


@pytest.mark.parametrize("technique", [DeepWalk(dim=32), Node2Vec(dim=32, p=0.5), LINE(dim=32)], ids=lambda t: t.name)
def test_hogwild_finds_communities_and_reports_progress(technique: Technique) -> None:
    subgraph, community = communities()
    shares: list[float] = []
    hogwild = replace(technique, threads=3, mode="hogwild")
    vectors = hogwild.embed(subgraph, np.random.default_rng(1), progress=shares.append)
    assert np.isfinite(vectors).all()
    assert separation(vectors, community) > 0.6  # a quarter by chance; threads race, so no two runs are alike
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_hogwild_trains_every_walk_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from parge.skipgram import train

    seen: list[int] = []
    monkeypatch.setattr(train.skipgram_ir, "train", lambda *given: seen.extend(given[3].tolist()))
    subgraph, _ = communities()
    technique = DeepWalk(dim=8, walks=5, walk_length=400)
    keys = []
    for threads, mode in ((1, "deterministic"), (4, "hogwild")):
        seen.clear()
        _embed(replace(technique, threads=threads, mode=mode), subgraph)
        keys.append(sorted(seen))
    assert len(set(keys[0])) == 5 * subgraph.n_vertices
    assert keys[0] == keys[1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.slow
def test_memory_of_threads_is_projected(mode: Mode) -> None:
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(rng.integers(0, 60_000, 300_000), rng.integers(0, 60_000, 300_000), vertices=60_000)
    technique = DeepWalk(walks=1, walk_length=20, threads=6, mode=mode)
    projected = technique.projected_bytes(graph.n_vertices, graph.n_edges)
    run = embed_in_fresh_process(technique, Subgraph.whole(graph), limit_bytes=projected)
    assert run.peak_bytes <= projected <= 2 * run.peak_bytes + 6 * 12_000_000


@pytest.mark.parametrize(("setting", "value"), [("threads", 0), ("threads", 1.5), ("threads", True), ("mode", "wild")])
@pytest.mark.parametrize("technique", [DeepWalk, Node2Vec, LINE])
def test_settings_that_cannot_work_are_named(technique: type[Technique], setting: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"{setting} .*{technique.name} .* {value!r}"):
        technique(**{setting: value})


def test_settings_are_read_from_text() -> None:
    technique = resolve("deepwalk", {"threads": "2", "mode": "hogwild"})
    assert technique == DeepWalk(threads=2, mode="hogwild")

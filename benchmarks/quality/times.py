"""What quality cells do not say: memory, every worker a process of its own; the same algorithm on one core."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from benchmarks.paper.cells import Cell, Cells, key
from benchmarks.quality.graphs import Data
from benchmarks.quality.methods import AROUND_A_BACKBONE, SETTINGS, Settings, plan
from benchmarks.quality.run import Lab, measured, warm_up

import parge
from parge.landmarks import extension
from parge.techniques.closedform import ClosedForm
from parge.techniques.resolve import resolve

SEED = 1
METHODS = ("centralised", "same algorithm", "ours")


def measure(
    data: Data,
    settings: Settings,
    techniques: list[str],
    counts: list[int],
    cells: Cells,
    on_step: Callable[[str], None],
) -> None:
    """Fill the cells of one graph."""
    graph = Lab(data, settings, SEED).split[0]
    for technique in techniques:
        for method in METHODS:
            for n_parts in [1] if method in ("centralised", "same algorithm") else [n for n in counts if n > 1]:
                if method == "same algorithm" and technique not in AROUND_A_BACKBONE:
                    continue

                def compute(t: str = technique, m: str = method, n: int = n_parts) -> Cell:
                    if m == "same algorithm":
                        return _same_algorithm(graph, t, settings)
                    return _memory(graph, m, t, n, settings)

                cells.cell(key(technique, method, n_parts, SEED), compute, on_step)


def _memory(graph: parge.Graph, method: str, technique: str, n_parts: int, settings: Settings) -> Cell:
    embedding = parge.embed(
        graph, plan(method, technique, graph.n_vertices, n_parts, SEED, settings, engine="processes", jobs=1)
    )
    return {"peak_bytes": measured(embedding.report)["peak_bytes"]}


def _same_algorithm(graph: parge.Graph, technique: str, settings: Settings) -> Cell:
    """Return a core's seconds for what the workers do, done for the whole graph: landmarks, start, training."""
    what = resolve(technique, {"dim": settings.dim, **SETTINGS.get(technique, {})})
    closed = ClosedForm(dim=settings.dim)
    warm_up(technique, "ours")
    started = time.process_time()
    around = closed._with_landmarks(graph)
    if technique == "closedform":
        extension.place(closed._model, around, np.random.default_rng(SEED))
    else:
        what.embed(replace(around), np.random.default_rng(SEED))
    return {"critical_path": time.process_time() - started}

"""Claim: parge in n parts keeps its quality as PyTorch-BigGraph does only while its partitions communicate.

From the project's root, cell by cell; what is already in results/pbg is not computed twice::

    python -m benchmarks.against_pbg --lock FILE --core 1

The paper compares with PyTorch-BigGraph (PBG) "with communication disabled". Both variants are run here and named in
every row: PBG as it is, whose n partitions are trained pair by pair, all pairs, so that no edge is lost; and n METIS
parts, each trained by a PBG of its own that knows nothing of the others, their vectors put side by side. One core;
the time on n machines is that of what is done once plus the slowest part.
"""

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import comparison
from benchmarks.comparison import TUNED, Bench, Case, Method, Run, Vectors, ours, pbg
from benchmarks.harness import markdown_table
from benchmarks.paper.cells import Cell
from benchmarks.paper.tables import MISSING, mean_sd

import parge
from parge.planning.decision import decide

COUNTS = (1, 2, 4, 8)

# Vertices of the planted graph, which has three edges per vertex.
PLANTED = 1_000_000

OWN, ALONE, OURS = "PBG, its own partitions (communicate)", "PBG, METIS parts, no communication", "parge, --preset best"


def methods(python: str) -> list[Method]:
    """Return the rows: every variant for every n, one part being the same for both variants of PBG."""
    settle = {"settle": comparison.epochs_by_mrr(python, **TUNED), "settles": "PyTorch-BigGraph", "by": "dot"}
    rows = []
    for n in COUNTS:
        rows.append(Method(name(n, OWN), pbg(python, parts=n, **TUNED), **settle))
        if n > 1:
            rows.append(Method(name(n, ALONE), apart(python, n), **settle))
        rows.append(
            Method(name(n, OURS), ours("deepwalk", n, refine="none" if n == 1 else None), ours=True, in_parts=n > 1)
        )
        if n == 1:
            rows.append(Method(name(n, f"{OURS}, refined"), refined, ours=True))
    return rows


def name(n: int, variant: str) -> str:
    """Return the name of a row.

    >>> name(8, "parge")
    'n=8: parge'
    """
    return f"n={n}: {variant}"


def refined(graph: parge.Graph, seed: int) -> tuple[Vectors, Cell]:
    """Embed the whole graph with the pass that its parts get."""
    return ours("deepwalk", 1)(graph, seed)


def apart(python: str, n: int) -> Run:
    """Return how n PBGs embed a graph that know nothing of each other."""

    def run(graph: parge.Graph, seed: int, *, epochs: int, **_: Any) -> tuple[Vectors, Cell]:
        decision = decide(graph, parge.Plan(parts=n, anchors=0, partitioner="metis", reconcile="none", seed=seed))
        decomposer, limits = decision.decomposer, decision.limits
        part = decomposer.decompose(graph, limits).part
        whole = graph.to_scipy()
        vectors = np.zeros((graph.n_vertices, comparison.DIM), np.float32)
        costs = []
        for i in range(n):
            mine = np.flatnonzero(part == i)
            subgraph = parge.Graph.from_scipy(whole[mine][:, mine])
            found, cost = comparison.train_pbg(python, subgraph, seed, epochs=epochs, **TUNED)
            if found is None:
                return None, cost
            vectors[mine] = found
            costs.append(cost)
        return vectors, {
            "seconds": sum(cost["seconds"] for cost in costs),
            "cpu_seconds": sum(cost["cpu_seconds"] for cost in costs),
            "critical_seconds": max(cost["cpu_seconds"] for cost in costs),
            "peak_bytes": max(cost["peak_bytes"] for cost in costs),
            "epochs": epochs,
        }

    return run


def planted_case(n_vertices: int, task: str) -> Case:
    """Return the planted graph of this many vertices."""
    return comparison.planted_case(n_vertices, 3 * n_vertices, task, large=True)


def cases(given: Any) -> list[Case]:
    """Return youtube-groups and the planted graph, for both tasks; small generated ones for a trial."""
    if given.quick:
        return [comparison.planted_case(1_500, 9_000, task) for task in ("labels", "links")]
    found = []
    for task in ("labels", "links"):
        if not given.only or f"youtube-groups-{task}" in given.only:
            found.append(comparison.shared_case("youtube-groups", task, given.data, large=True))
        if not given.only or f"planted-{task}" in given.only:
            found.append(planted_case(given.planted_vertices, task))
    return [case for case in found if case is not None]


def table(folder: Path, graph: str, rows: list[Method]) -> str:
    """Return a row a variant and n: quality of both tasks, time, memory."""
    found = {task: path for task in ("labels", "links") if (path := folder / f"{graph}-{task}.json").exists()}
    read = {task: comparison.read(path) for task, path in found.items()}
    data = next(iter(read.values()))[0]
    lines = []
    for method in rows:
        cells = {task: by_method.get(method.name, []) for task, (_, by_method) in read.items()}
        if any(cells.values()):
            costs = cells.get("labels") or cells["links"]
            one = _one(method, read["labels" if cells.get("labels") else "links"][1])
            lines.append(
                [
                    method.name,
                    *(_scores(cells.get(task, []), method) for task in ("labels", "links")),
                    *_costs(costs, one),
                ]
            )
    header = ["", "micro-F1", "ROC-AUC", "s, one core", "s, n machines", "speed-up", "peak MB", "epochs", "seeds"]
    size = f"{data['vertices']:,} vertices, {data['edges']:,} edges"
    return f"**{data['name']}** ({size})\n\n{markdown_table(header, lines)}"


def _scores(cells: list[Cell], method: Method) -> str:
    return mean_sd([comparison.quality(cell, method.by) for cell in cells])


def _one(method: Method, cells: dict[str, list[Cell]]) -> list[Cell]:
    """Return the cells of the same package on the whole graph."""
    return cells.get(name(1, OURS if method.ours else OWN), [])


def _costs(cells: list[Cell], one: list[Cell]) -> list[str]:
    def mean(name: str, cells: list[Cell] = cells) -> float | None:
        found = [cell[name] for cell in cells if name in cell]
        return float(np.mean(found)) if found else None

    def show(value: float | None, digits: int) -> str:
        return MISSING if value is None else f"{value:.{digits}f}"

    seconds, critical, whole, memory = (
        mean("cpu_seconds"),
        mean("critical_seconds"),
        mean("cpu_seconds", one),
        mean("peak_bytes"),
    )
    gain = None if critical is None or whole is None else whole / critical
    shown = show(seconds, 1), show(critical, 1), show(gain, 1), show(None if memory is None else memory / 1e6, 0)
    return [*shown, show(mean("epochs"), 0), str(len(cells))]


def main() -> None:
    given = comparison.arguments(__doc__, "pbg", planted_vertices=PLANTED)
    rows = methods(given.pbg)
    if not given.tables_only:
        wanted = comparison.chosen(rows, given.methods)
        if any(row.ours for row in wanted):
            comparison.warm_up(["deepwalk"])
        bench = Bench(given.out, given.lock, given.core)
        bench.fill_all(cases(given), wanted, given.seeds, given.fewer_seeds)
    graphs = sorted({path.stem.rpartition("-")[0] for path in given.out.glob("*.json")}, reverse=True)
    tables = {"pbg": "\n\n".join(table(given.out, graph, rows) for graph in graphs)}
    comparison.publish(tables, quick=given.quick)


if __name__ == "__main__":
    main()

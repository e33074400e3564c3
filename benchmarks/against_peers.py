"""Claim: the best native technique in 8 parts, refined, is at least as good as the best peer on the whole graph.

From the project's root, cell by cell; what is already in results/peers is not computed twice::

    python -m benchmarks.against_peers --lock FILE --core 1

pycleora, scikit-network and PyTorch-BigGraph (in its own environment, see the Makefile) embed the whole graph; each is
skipped with the reason where it is absent. Everything has 128 dimensions and one core. Both sides' best is taken after
the fact, of all rows.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import comparison
from benchmarks.comparison import PBG_DEFAULTS, TUNED, Bench, Case, Method, ours, pbg, peer, quality
from benchmarks.harness import markdown_table
from benchmarks.paper.cells import Cell
from benchmarks.paper.tables import MISSING, mean_sd

# The shared graphs: name, task, and whether a method takes minutes there.
CASES = (
    ("blogcatalog", "labels", False),
    ("youtube-groups", "labels", True),
    ("cora", "labels", False),
    ("cora", "links", False),
    ("ca-AstroPh", "links", False),
    ("ego-Twitter", "links", True),
)
PARTS = 8
TECHNIQUES = ("deepwalk", "closedform", "whitened", "spectral", "prone", "netmf", "hope")

# Techniques whose pass after the merge could do as much for the whole graph.
WHITENED = ("deepwalk", "closedform")

# scikit-network's, and the most edges they are run on: PCA is both the slowest and the worst where it is run.
EMBEDDINGS = dict.fromkeys(("Spectral", "GSVD", "SVD", "RandomProjection", "LouvainEmbedding"), np.inf) | {
    "PCA": 350_000
}


def methods(python: str) -> list[Method]:
    """Return the rows, peers first."""
    return [
        Method("pycleora", peer("pycleora")),
        Method("pycleora, unit rows", peer("pycleora", unit_rows=True)),
        *(
            Method(f"scikit-network {name}", peer("scikit-network", name=name), most_edges=most_edges)
            for name, most_edges in EMBEDDINGS.items()
        ),
        Method(
            "PyTorch-BigGraph",
            pbg(python, **TUNED),
            settle=comparison.epochs_by_mrr(python, **TUNED),
            by="dot",
        ),
        Method(
            "PyTorch-BigGraph, its defaults",
            pbg(python, **PBG_DEFAULTS),
            settle=lambda _: {"epochs": 30},  # as its LiveJournal example has
            most_seeds=1,
            most_edges=250_000,  # half an hour of one core on the larger ones
        ),
        *_ours(),
    ]


def _ours() -> Iterator[Method]:
    for name in TECHNIQUES:
        yield Method(f"parge {name}, {PARTS} parts", ours(name, PARTS), ours=True, in_parts=True)
        if name in WHITENED:
            yield Method(f"parge {name}, centralised, whiten", ours(name, 1, refine="whiten"), ours=True)
        yield Method(f"parge {name}, centralised", ours(name, 1, refine="none"), ours=True)


def cases(given: Any) -> Iterator[Case]:
    """Yield the shared graphs that there are, or small generated ones."""
    if given.quick:
        yield from (comparison.planted_case(1_500, 9_000, task) for task in ("labels", "links"))
        return
    for name, task, large in CASES:
        if not given.only or name in given.only:
            case = comparison.shared_case(name, task, given.data, large=large)
            if case is not None:
                yield case


def of_case(path: Path, rows: list[Method]) -> str:
    """Return the table of one graph: quality, time, memory."""
    data, cells = comparison.read(path)
    best = {kind: _best(cells, rows, **kind_of) for kind, kind_of in KINDS.items()}
    lines = []
    for method in (method for method in rows if method.name in cells):
        found = cells[method.name]
        shown = _score(found, method.by)
        line = [method.name, f"**{shown}**" if method.name in best.values() else shown]
        if data["task"] == "links":
            line += [_score(found, by) for by in ("cosine", "dot")]
        lines.append([*line, *_costs(found)])
    links = ["by cosine", "by dot"] if data["task"] == "links" else []
    header = ["", SCORES[data["task"]], *links, "s, one core", f"s, {PARTS} machines", "peak MB", "seeds"]
    size = f"{data['vertices']:,} vertices, {data['edges']:,} edges"
    return f"**{data['name']}** ({size})\n\n{markdown_table(header, lines)}"


SCORES = {"labels": "micro-F1", "links": "ROC-AUC"}
KINDS: dict[str, dict[str, bool]] = {
    "peer": {"ours": False},
    "in parts": {"ours": True, "in_parts": True},
    "centralised": {"ours": True, "in_parts": False},
}


def _score(cells: list[Cell], by: str) -> str:
    failed = [cell["failed"] for cell in cells if "failed" in cell]
    return failed[0] if failed else mean_sd([quality(cell, by) for cell in cells])


def _costs(cells: list[Cell]) -> list[str]:
    def mean(name: str, scale: float = 1.0, digits: int = 1) -> str:
        found = [cell[name] / scale for cell in cells if name in cell]
        return f"{np.mean(found):.{digits}f}" if found else MISSING

    return [mean("cpu_seconds"), mean("critical_seconds"), mean("peak_bytes", 1e6, 0), str(len(cells))]


def _mean(cells: list[Cell], by: str) -> float | None:
    found = [value for cell in cells if (value := quality(cell, by)) is not None]
    return float(np.mean(found)) if found else None


def _best(cells: dict[str, list[Cell]], rows: list[Method], **wanted: bool) -> str | None:
    """Return the method of that kind with the best mean."""
    scores = {
        row.name: score
        for row in rows
        if row.name in cells and all(getattr(row, name) == value for name, value in wanted.items())
        if (score := _mean(cells[row.name], row.by)) is not None
    }
    return max(scores, key=lambda name: scores[name]) if scores else None


def summary(paths: list[Path], rows: list[Method]) -> str:
    """Return for every graph the best peer, the best of ours in parts, and the best of ours on the whole graph."""
    by = {row.name: row.by for row in rows}
    lines = []
    for path in paths:
        data, cells = comparison.read(path)
        line, means = [f"{data['name']}, {SCORES[data['task']]}"], []
        for kind in KINDS.values():
            name = _best(cells, rows, **kind)
            means.append(None if name is None else _mean(cells[name], by[name]))
            line.append(MISSING if name is None else f"{_score(cells[name], by[name])} ({name.removeprefix('parge ')})")
        peers, parts = means[:2]
        line.insert(3, MISSING if peers is None or parts is None else f"{parts - peers:+.3f}")
        lines.append(line)
    header = ["", "best peer, whole graph", f"best of parge, {PARTS} parts", "difference", "best of parge, whole graph"]
    return markdown_table(header, lines)


def main() -> None:
    given = comparison.arguments(__doc__, "peers")
    rows = methods(given.pbg)
    if not given.tables_only:
        wanted = comparison.chosen(rows, given.methods)
        if any(row.ours for row in wanted):
            comparison.warm_up(TECHNIQUES)
        bench = Bench(given.out, given.lock, given.core)
        bench.fill_all(list(cases(given)), wanted, given.seeds, given.fewer_seeds)
    order = [f"{name}-{task}" for name, task, _ in CASES]
    paths = sorted(
        given.out.glob("*.json"), key=lambda path: [path.name.startswith(name) for name in order], reverse=True
    )
    tables = {"peers": summary(paths, rows), "peers, all": "\n\n".join(of_case(path, rows) for path in paths)}
    comparison.publish(tables, quick=given.quick)


if __name__ == "__main__":
    main()

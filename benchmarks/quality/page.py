"""docs/measured/quality.md: tables from whatever cells there are, each with its number of seeds, and the curve."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import markdown_table
from benchmarks.paper.cells import Cell, Results
from benchmarks.paper.tables import MISSING, between, mean_sd
from benchmarks.quality.methods import METHODS, TECHNIQUES, TITLES, is_ours
from benchmarks.quality.plot import write_figure
from benchmarks.quality.shares import COUNTS, kept, read_quality, scores

# What parts have to keep of the centralised score, with the same pass on both sides.
WANTED = {"deepwalk": 0.99, "hope": 0.99}
WANTED_ELSE, WANTED_TREE, WANTED_LINKS = 0.98, 0.98, 0.995


def write_page(cells: Path, page: Path, figures: Path) -> None:
    """Replace what stands between the markers of the page, and the figure."""
    quality, times = read_quality(cells, "quality"), read_quality(cells, "times")
    text = page.read_text()
    text = between(text, "kept", kept_table(quality))
    text = between(text, "methods", "\n\n".join(methods_table(results) for results in quality))
    more = {results.dataset["name"]: results for results in times}
    tables = (times_table(results, more.get(results.dataset["name"])) for results in quality)
    text = between(text, "times", "\n\n".join(table for table in tables if table))
    page.write_text(text)
    write_figure(quality, figures / "quality.svg")


def print_tables(cells: Path) -> None:
    """Print what the page would have of these cells: all that one version has computed."""
    quality = read_quality(cells, "quality")
    print(kept_table(quality), *(methods_table(results) for results in quality), sep="\n\n")


def wanted(results: Results, technique: str) -> float:
    """Return the share that was aimed at."""
    if technique == "deepwalk" and results.dataset["task"] == "links":
        return WANTED_LINKS
    if technique == "deepwalk" and results.dataset["name"] == "tree":
        return WANTED_TREE
    return WANTED.get(technique, WANTED_ELSE)


def kept_table(found: Sequence[Results]) -> str:
    """Return what `ours` keeps at n = 8 and 16, refined on both sides and as it is; misses are marked."""
    rows = []
    for technique in TECHNIQUES:
        row = [TITLES[technique]]
        for results in found:
            row.append(" / ".join(_kept_cell(results, technique, n) for n in (8, 16)))
        if any(cell != f"{MISSING} / {MISSING}" for cell in row[1:]):
            rows.append(row)
    return markdown_table(["", *(results.dataset["name"] for results in found)], rows)


def _kept_cell(results: Results, technique: str, n_parts: int) -> str:
    refined = kept(results, technique, "ours", n_parts, "refined")
    raw = kept(results, technique, "ours", n_parts, "raw")
    if refined is None or raw is None:
        return MISSING
    share, seeds = refined
    shown = f"{100 * share:.1f}" if share >= wanted(results, technique) else f"**{100 * share:.1f}**"
    return f"{shown} ({100 * raw[0]:.0f}){'¹²³⁴⁵'[min(seeds, 5) - 1]}"


def methods_table(results: Results) -> str:
    """Return every score of one graph: techniques and n down, methods across, as they are and refined."""
    rows = []
    for technique in TECHNIQUES:
        counts = [n for n in COUNTS if any(scores(results, technique, m, n, "raw") for m in METHODS[1:])]
        for n_parts in counts:
            row = [f"{TITLES[technique]}, n = {n_parts}"]
            for method in METHODS:
                n = 1 if method == "centralised" else n_parts
                shown_as = "ours" if is_ours(technique, method) else method
                row.append(_scores_cell(results, technique, shown_as, n))
            row += _facts(results, technique, n_parts)
            rows.append(row)
    data = results.dataset
    what = "ROC-AUC" if data["task"] == "links" else "micro-F1"
    title = f"**{data['name']}** ({data['vertices']:,} vertices, {data['edges']:,} edges; {what}, as it is → refined)"
    return f"{title}\n\n{markdown_table(['', *METHODS, 'lost edges', 'anchors off by'], rows)}"


def _scores_cell(results: Results, technique: str, method: str, n_parts: int) -> str:
    raw, refined = (list(scores(results, technique, method, n_parts, kind).values()) for kind in ("raw", "refined"))
    return MISSING if not raw else f"{mean_sd(raw)} → {mean_sd(refined)} ({len(raw)})"


def _facts(results: Results, technique: str, n_parts: int) -> list[str]:
    cells = [c for name, c in results.cells.items() if name.startswith(f"{technique} | ours | n={n_parts} | ")]
    if not cells:
        return [MISSING, MISSING]
    off = [cell["held_out"] for cell in cells if cell.get("held_out") is not None]
    return [
        f"{100 * np.mean([c['lost_edges'] for c in cells]):.1f} %",
        f"{100 * np.mean(off):.0f} %" if off else MISSING,
    ]


def times_table(results: Results, more: Results | None) -> str:
    """Return seconds of a core and memory of one graph: the speed-ups, peak of a worker; `more` has the latter."""
    rows = []
    for technique in TECHNIQUES:
        whole = _timed(results, technique, "centralised", 1)
        if not whole:
            continue
        alone = _mean(whole, "critical_path")
        rows.append([f"{TITLES[technique]}, centralised ({len(whole)})", f"{alone:.1f}", "", "", "", "", ""])
        rows[-1][-1] = _mb(more, technique, "centralised", 1)
        for method in ("paper", "rotation", "ours"):
            for n_parts in COUNTS:
                cells = _timed(results, technique, method, n_parts)
                if cells:
                    rows.append(_times_row(more, technique, method, n_parts, whole, cells))
    data = results.dataset
    header = ["", "critical path, s", "÷", "÷ same algorithm", "÷ refined", "÷ end to end", "largest worker, MB"]
    title = f"**{data['name']}** ({data['vertices']:,} vertices, {data['edges']:,} edges)"
    return f"{title}\n\n{markdown_table(header, rows)}" if rows else ""


def _times_row(
    more: Results | None, technique: str, method: str, n_parts: int, whole: list[Cell], cells: list[Cell]
) -> list[Any]:
    path, alone = _mean(cells, "critical_path"), _mean(whole, "critical_path")
    refined = (alone + _mean(whole, "refine_seconds")) / (path + _mean(cells, "refine_seconds"))
    decompose = float(np.mean([cell["seconds"]["decompose"] for cell in cells]))
    same = more.cells.get(f"{technique} | same algorithm | n=1 | seed 1") if more and method == "ours" else None
    return [
        f"{TITLES[technique]}, {method}, n = {n_parts} ({len(cells)})",
        f"{path:.1f}",
        f"{alone / path:.1f}",
        f"{same['critical_path'] / path:.1f}" if same else "",
        f"{refined:.1f}",
        f"{alone / (path + decompose):.1f}",
        _mb(more, technique, method, n_parts),
    ]


def _timed(results: Results, technique: str, method: str, n_parts: int) -> list[Cell]:
    """Return the cells of all seeds whose seconds are a core's."""
    return [cell for cell in results.over_seeds(technique, method, n_parts) if cell.get("clock") == "cpu"]


def _mean(cells: list[Cell], name: str) -> float:
    return float(np.mean([cell[name] for cell in cells]))


def _mb(more: Results | None, technique: str, method: str, n_parts: int) -> str:
    cell = more.cells.get(f"{technique} | {method} | n={n_parts} | seed 1") if more else None
    return f"{cell['peak_bytes'] / 1e6:.0f}" if cell else MISSING

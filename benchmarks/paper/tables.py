"""The tables of docs/explain/paper.md, from whatever cells there are, the paper's numbers beside ours."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import markdown_table
from benchmarks.paper import published
from benchmarks.paper.cells import Cell, Results, read_results
from benchmarks.paper.experiments import MEMORY, SCALED
from benchmarks.paper.methods import IN_PARTS, METHODS, TITLES, Settings, reference
from benchmarks.paper.published import TECHNIQUES

MISSING = "–"


def mean_sd(values: Sequence[float | None], digits: int = 3) -> str:
    """Return ``mean ± sd`` over seeds; the mean alone where there is one seed.

    >>> mean_sd([0.25, 0.26]), mean_sd([12.5], 2), mean_sd([])
    ('.255 ± .007', '12.50', '–')
    """
    found = [value for value in values if value is not None]
    if not found:
        return MISSING
    shown = [f"{np.mean(found):.{digits}f}"]
    if len(found) > 1:
        shown.append(f"{np.std(found, ddof=1):.{digits}f}")
    return " ± ".join(re.sub(r"^0\.", ".", number) for number in shown)


def printed(value: float | None) -> str:
    """Return a number of the paper; nothing where it has none.

    >>> printed(0.272), printed(18.6), printed(None)
    ('.272', '18.6', '')
    """
    return "" if value is None else re.sub(r"^0\.", ".", f"{value:g}")


def is_substitute(data: dict[str, Any]) -> bool:
    """Return whether a graph is in the place of the paper's; a note alone may be about its labels."""
    return bool(data["note"]) and data["name"] != data["stands_for"]


def heading(results: Results) -> str:
    """Return what a table is about: data, where it stands for other data, seeds."""
    data, settings = results.dataset, results.settings
    name = data["stands_for"] if not is_substitute(data) else f"{data['name']} in the place of {data['stands_for']}"
    size = f"{data['vertices']:,} vertices, {data['edges']:,} edges"
    said = [size, f"d = {settings['dim']}"]
    if results.experiment != "parallelism":
        said.append(f"n = {settings['parts']}")
    seeds = len({name.rpartition("seed ")[2] for name in results.cells if "seed " in name})
    said.append(f"{seeds} seed{'s' if seeds > 1 else ''}" if seeds else "not computed here, the paper's numbers alone")
    return f"**{name}** ({'; '.join(said)})"


def _cells(results: Results, technique: str, method: str) -> list[Cell]:
    n_parts = results.settings["parts"] if method in IN_PARTS else 1
    return results.over_seeds(technique, method, n_parts)


def _rows(results: Results, columns: Callable[[str, str, list[Cell]], list[str]]) -> list[list[str]]:
    """Return a row a method: the columns that every technique has."""
    rows = []
    for method in METHODS:
        row = [method + ("†" if _degenerate(results, method) else "")]
        for technique in TECHNIQUES:
            row += columns(technique, method, _cells(results, technique, method))
        rows.append(row)
    return rows


def _degenerate(results: Results, method: str) -> bool:
    return any(cell.get("degenerate") for technique in TECHNIQUES for cell in _cells(results, technique, method))


def _header(*columns: str, paper: Results | None = None) -> list[str]:
    """Return the headings of every technique's columns, the last of them the paper's, on its own data."""
    if paper is not None:
        data = paper.dataset
        columns = (*columns, f"paper ({data['stands_for']})" if is_substitute(data) else "paper")
    return ["", *(f"{TITLES[technique]} {column}" for technique in TECHNIQUES for column in columns)]


def _values(cells: list[Cell], *path: str) -> list[Any]:
    def dig(cell: Any) -> Any:
        for name in path:
            cell = cell.get(name) if cell else None
        return cell

    return [dig(cell) for cell in cells]


def table_1(folder: Path) -> str:
    """Return micro- and macro-F1, the paper's micro-F1 beside them."""

    def of(results: Results) -> str:
        def columns(technique: str, method: str, cells: list[Cell]) -> list[str]:
            paper = published.value(published.MICRO_F1, results.dataset["stands_for"], technique, method)
            return [mean_sd(_values(cells, "micro_f1")), mean_sd(_values(cells, "macro_f1")), printed(paper)]

        return _titled(results, _header("micro", "macro", paper=results), _rows(results, columns))

    return _all(folder, "vertices", of)


def unstandardised(folder: Path) -> str:
    """Return SGC's F1 with features as they are, beside that of Table 1."""

    def of(results: Results) -> str:
        beside = {known.dataset["name"]: known for known in read_results(folder, "vertices")}[results.dataset["name"]]
        rows = [
            [
                method,
                *(mean_sd(_values(_cells(results, "sgc", method), name)) for name in ("micro_f1", "macro_f1")),
                mean_sd(_values(_cells(beside, "sgc", method), "micro_f1")),
            ]
            for method in METHODS
        ]
        return _titled(results, ["SGC", "micro, as they are", "macro, as they are", "micro, standardised"], rows)

    return _all(folder, "unstandardised", of)


def table_2(folder: Path) -> str:
    """Return PIP per vertex; the centralised rows hold the distance of two seeds, the floor."""

    def of(results: Results) -> str:
        def columns(technique: str, method: str, cells: list[Cell]) -> list[str]:
            paper = published.value(published.PIP_PER_VERTEX, results.dataset["stands_for"], technique, method)
            return [mean_sd(_values(cells, "pip_per_vertex"), 2), printed(paper)]

        rows = _rows(results, columns)
        for row in rows:
            if row[0].startswith("centralised"):
                row[0] += ", another seed"
        return _titled(results, _header("PIP/n", paper=results), rows)

    return _all(folder, "vertices", of)


def table_3(folder: Path) -> str:
    """Return ROC-AUC and average precision by cosine, and Adamic–Adar, which needs no vectors."""

    def of(results: Results) -> str:
        def columns(technique: str, method: str, cells: list[Cell]) -> list[str]:
            where = results.dataset["stands_for"], technique, method
            roc, ap = published.value(published.LINK_ROC, *where), published.value(published.LINK_AP, *where)
            paper = "" if roc is None else f"{printed(roc)} / {printed(ap)}"
            return [*(mean_sd(_values(cells, "cosine", score)) for score in ("roc_auc", "average_precision")), paper]

        rows = _rows(results, columns)
        scores = [
            mean_sd(_values(_cells(results, TECHNIQUES[0], "random vectors"), "adamic_adar", score))
            for score in ("roc_auc", "average_precision")
        ]
        rows.append(["Adamic–Adar", *scores] + [""] * 7)
        return _titled(results, _header("ROC", "AP", paper=results), rows)

    return _all(folder, "links", of)


def table_3_logistic(folder: Path) -> str:
    """Return ROC-AUC by the other two scores: dot product, and logistic regression on Hadamard products."""

    def of(results: Results) -> str:
        def columns(technique: str, method: str, cells: list[Cell]) -> list[str]:
            return [mean_sd(_values(cells, score, "roc_auc")) for score in ("dot", "logistic")]

        return _titled(results, _header("dot", "logistic"), _rows(results, columns))

    return _all(folder, "links", of)


def figures(folder: Path) -> str:
    """Return speed-up, memory and F1 against n, by the paper's metric and from end to end, and the plots."""
    tables = _all(folder, "parallelism", _figure_table)
    if not any(read_results(folder, "parallelism")):
        return tables
    return "\n\n".join([tables, *(f"![{text}](../figures/{name}.svg)" for name, text in PLOTS.items())])


PLOTS = {
    "figure-3-time": "Time speed-up against the number of workers",
    "figure-4-memory": "Memory against the number of workers",
    "figure-5-f1": "Micro-F1 against the number of workers",
}


def _figure_table(results: Results) -> str:
    header = ["n"]
    for method in SCALED:
        header += [f"{method}: time, paper's metric", "time, end to end", "memory", "micro-F1"]
    rows = []
    for n_parts in (1, *results.settings["counts"]):
        row = [str(n_parts)]
        for method in SCALED:
            found = scaling(results, method, n_parts)
            row += [mean_sd(found[name], 1) for name in ("paper", "end_to_end", "memory")]
            row.append(mean_sd(found["micro_f1"]))
        rows.append(row)
    return _titled(results, header, rows)


def scaling(results: Results, method: str, n_parts: int) -> dict[str, list[float | None]]:
    """Return what dividing by n gained over the centralised run of the same seed, a number a seed.

    Ours is compared with the centralised run that is refined as ours is.
    """
    names = ("paper", "end_to_end", "memory", "micro_f1")
    out: dict[str, list[float | None]] = {name: [] for name in names}
    whole = results.over_seeds("deepwalk", reference(method), 1)
    cells = whole if n_parts == 1 else results.over_seeds("deepwalk", method, n_parts)
    for one, cell in zip(whole, cells, strict=False):
        out["paper"].append(one["paper_seconds"] / cell["paper_seconds"])
        out["end_to_end"].append(one["end_to_end_seconds"] / cell["end_to_end_seconds"])
        out["micro_f1"].append(cell.get("micro_f1"))
    whole = results.over_seeds(MEMORY, reference(method), 1)
    cells = whole if n_parts == 1 else results.over_seeds(MEMORY, method, n_parts)
    out["memory"] = [one["above_empty"] / cell["above_empty"] for one, cell in zip(whole, cells, strict=False)]
    return out


def pattern(folder: Path) -> str:
    """Return where the paper's pattern is met: NoRecon < Recon-R <= Recon-S in F1, and PIP falling."""
    lines = []
    for results in read_results(folder, "vertices"):
        for technique in TECHNIQUES:
            f1, distance = (
                [_mean(results, technique, method, name) for method in published.ROWS]
                for name in ("micro_f1", "pip_per_vertex")
            )
            if None in f1 or None in distance:
                continue
            no, random, chosen = f1
            lines.append(
                [
                    f"{results.dataset['name']}, {TITLES[technique]}",
                    _said(no < random <= chosen, f1, 3),  # type: ignore[operator]  # None was left out above
                    _said(distance[0] > distance[1] >= distance[2], distance, 2),  # type: ignore[operator]  # so here
                ]
            )
    header = ["", "F1: NoRecon < Recon-R <= Recon-S", "PIP: NoRecon > Recon-R >= Recon-S"]
    return markdown_table(header, lines) if lines else "(not computed yet)"


def _mean(results: Results, technique: str, method: str, name: str) -> float | None:
    values = [value for value in _values(_cells(results, technique, method), name) if value is not None]
    return float(np.mean(values)) if values else None


def _said(met: bool, values: Sequence[float | None], digits: int) -> str:
    numbers = ", ".join(mean_sd([value], digits) for value in values)
    return f"{'yes' if met else '**no**'} ({numbers})"


def _titled(results: Results, header: list[str], rows: list[list[str]]) -> str:
    return f"{heading(results)}\n\n{markdown_table(header, rows)}"


def _all(folder: Path, experiment: str, of: Callable[[Results], str]) -> str:
    """Return the tables of all data sets; where nothing is computed yet, the paper's numbers alone."""
    found = list(read_results(folder, experiment))
    known = {results.dataset["stands_for"] for results in found}
    for name in (name for name in NUMBERS[experiment] if name not in known):
        size = dict(zip(("vertices", "edges"), published.DATASETS[name], strict=True))
        found.append(
            Results(experiment, {"name": name, "stands_for": name, "note": "", **size}, Settings().to_json(), {})
        )
    return "\n\n".join(of(results) for results in found) or "(not computed yet)"


# Data sets of which the paper prints numbers.
NUMBERS: dict[str, tuple[str, ...]] = {
    "vertices": tuple(published.MICRO_F1),
    "links": tuple(published.LINK_ROC),
    "parallelism": (),
    "unstandardised": (),
}


TABLES: dict[str, Callable[[Path], str]] = {
    "table 1": table_1,
    "table 1, SGC as it is": unstandardised,
    "table 2": table_2,
    "table 3": table_3,
    "table 3, other scores": table_3_logistic,
    "figures": figures,
    "pattern": pattern,
}


# The experiment whose cells a table is made of.
MADE_OF = {
    "table 1": "vertices",
    "table 1, SGC as it is": "unstandardised",
    "table 2": "vertices",
    "table 3": "links",
    "table 3, other scores": "links",
    "figures": "parallelism",
    "pattern": "vertices",
}


def write_tables(page: Path, folder: Path) -> None:
    """Replace what stands between the markers of a page by the tables of today; without any cell a table stays."""
    text = page.read_text()
    for name, make in TABLES.items():
        if any(read_results(folder, MADE_OF[name])):
            text = between(text, name, make(folder))
    page.write_text(text)


def between(text: str, name: str, content: str) -> str:
    r"""Return the text with everything between the markers of that name replaced.

    >>> between("a <!-- begin x --> old <!-- end x --> b", "x", "new")
    'a <!-- begin x -->\n\nnew\n\n<!-- end x --> b'
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if begin not in text or end not in text:
        raise SystemExit(f"the page has no place for {name!r}: it needs the lines {begin} and {end}")
    before, rest = text.split(begin, 1)
    return f"{before}{begin}\n\n{content}\n\n{end}{rest.split(end, 1)[1]}"

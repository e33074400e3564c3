"""Figures 3-5 as SVG: readable in black and white, on paper, and on a dark screen."""

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.paper import published
from benchmarks.paper.cells import Results, read_results
from benchmarks.paper.experiments import SCALED
from benchmarks.paper.tables import heading, scaling

INK, PAPER = "#1b1f24", "#fefefe"

# Lines differ by marker and dash as well as by colour (Okabe and Ito's, which colour-blind readers tell apart).
STYLES = {
    "Recon-S": {"color": "#d55e00", "marker": "o"},
    "ours": {"color": "#2b83c6", "marker": "s"},
    "paper": {"color": "#009e73", "marker": "*", "markersize": 12, "linestyle": "none"},
    "ideal": {"color": "#808080", "linestyle": ":", "marker": ""},
}

# matplotlib writes colours into every element; a screen that asks for dark has ink and paper swapped.
DARK = """<style>@media (prefers-color-scheme: dark) {
[style*="fill: #fefefe"] { fill: #0d1117 !important }
[style*="fill: #1b1f24"] { fill: #e6edf3 !important }
[style*="stroke: #1b1f24"] { stroke: #e6edf3 !important }
}</style>"""

FIGURES = {
    "figure-3-time": ("time speed-up", ("paper", "end_to_end"), True),
    "figure-4-memory": ("memory, centralised / largest worker", ("memory",), True),
    "figure-5-f1": ("micro-F1", ("micro_f1",), False),
}
DASHES = {"end_to_end": "--"}
SAID = {"paper": "paper's metric", "end_to_end": "end to end"}


def write_figures(folder: Path, target: Path) -> list[Path]:
    """Write every figure that there are results for, and return the files."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise SystemExit("plots need matplotlib: pip install 'parge[plot]'") from None
    mpl.use("Agg")
    found = list(read_results(folder, "parallelism"))
    if not found:
        return []
    target.mkdir(parents=True, exist_ok=True)
    style = {
        "svg.fonttype": "path",
        "svg.hashsalt": "parge",
        "font.size": 9,
        "lines.markersize": 5,
        "axes.grid": True,
        "grid.alpha": 0.3,
    }
    colours = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), INK
    )
    faces = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"), PAPER)
    with mpl.rc_context({**style, **colours, **faces}):
        return [_write(name, found, target) for name in FIGURES]


def _write(name: str, found: list[Results], target: Path) -> Path:
    from matplotlib import pyplot

    label, measures, ideal = FIGURES[name]
    figure, axes = pyplot.subplots(1, len(found), figsize=(4.2 * len(found), 3.3), squeeze=False, layout="constrained")
    for axis, results in zip(axes[0], found, strict=True):
        _draw(axis, results, measures, ideal)
        axis.set_ylabel(label)
    path = target / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    path.write_text(path.read_text().replace("</svg>", f"{DARK}\n</svg>"))
    return path


def _draw(axis: Any, results: Results, measures: tuple[str, ...], ideal: bool) -> None:
    counts = [1, *results.settings["counts"]]
    if ideal:
        axis.plot(counts, counts, label="n", **STYLES["ideal"])
    for method in SCALED:
        for measure in measures:
            rows = [(n, scaling(results, method, n)[measure]) for n in counts]
            points = [(n, [v for v in values if v is not None]) for n, values in rows]
            points = [(n, values) for n, values in points if values]
            if not points:
                continue
            said = ", ".join(word for word in (method, SAID.get(measure, "")) if word)
            means, spread = [np.mean(v) for _, v in points], [np.std(v, ddof=1) if len(v) > 1 else 0 for _, v in points]
            axis.errorbar(
                [n for n, _ in points],
                means,
                yerr=spread,
                label=said,
                linestyle=DASHES.get(measure, "-"),
                capsize=2,
                **STYLES[method],
            )
    known = published.TIME_SPEEDUP.get(results.dataset["stands_for"], {}) if "paper" in measures else {}
    if known:
        axis.plot(list(known), list(known.values()), label="the paper, LiveJournal", **STYLES["paper"])
    axis.set_title(heading(results).replace("*", "").replace(" (", "\n("), fontsize=9)
    axis.set_xlabel("workers n")
    axis.set_xticks(counts)
    axis.legend(fontsize=7, handlelength=3.5, markerscale=0.7)

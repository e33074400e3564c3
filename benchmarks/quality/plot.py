"""The curve: what parts keep of the centralised score against the number of parts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.paper.cells import Results
from benchmarks.paper.plots import DARK, INK, PAPER
from benchmarks.quality.shares import COUNTS, kept

# Okabe and Ito's colours; markers and dashes tell lines apart without them.
LINES = {
    ("NoRecon", "raw"): {"color": "#808080", "marker": "x", "linestyle": ":"},
    ("paper", "raw"): {"color": "#d55e00", "marker": "o", "linestyle": "--"},
    ("rotation", "raw"): {"color": "#e69f00", "marker": "v", "linestyle": "-."},
    ("ours", "raw"): {"color": "#2b83c6", "marker": "s", "linestyle": "-"},
    ("ours", "refined"): {"color": "#009e73", "marker": "D", "linestyle": "-"},
}


def write_figure(found: Sequence[Results], path: Path) -> None:
    """Write DeepWalk's curve of every graph that has one; one drawing serves light and dark screens."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    shown = [results for results in found if len(_points(results, "ours", "raw")) > 1]
    if not shown:
        return
    names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color")
    faces = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"), PAPER)
    style = {"svg.fonttype": "path", "svg.hashsalt": "parge", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
    with mpl.rc_context({**style, **dict.fromkeys(names, INK), **faces}):
        figure, axes = pyplot.subplots(
            1, len(shown), figsize=(3.4 * len(shown), 3.2), squeeze=False, layout="constrained", sharey=True
        )
        for axis, results in zip(axes[0], shown, strict=True):
            _draw(axis, results)
        axes[0][0].set_ylabel("DeepWalk, share of the centralised score")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
    path.write_text(path.read_text().replace("</svg>", f"{DARK}\n</svg>"))


def _draw(axis: Any, results: Results) -> None:
    axis.axhline(1.0, color=INK, linewidth=0.8)
    for (method, kind), line in LINES.items():
        points = _points(results, method, kind)
        if points:
            counts, shares = zip(*points, strict=True)
            label = method if kind == "raw" else f"{method}, both refined"
            axis.plot(counts, shares, label=label, markersize=4, **line)
    axis.set_title(results.dataset["name"], fontsize=9)
    axis.set_xscale("log", base=2)
    axis.set_xticks(COUNTS, [str(n) for n in COUNTS])
    axis.set_xlabel("parts n")
    axis.legend(fontsize=7)


def _points(results: Results, method: str, kind: str) -> list[tuple[int, float]]:
    """Return n and the share of the centralised score, over the seeds that both have."""
    found = [(n, kept(results, "deepwalk", method, n, kind)) for n in COUNTS]
    return [(n, float(np.round(share[0], 4))) for n, share in found if share is not None]

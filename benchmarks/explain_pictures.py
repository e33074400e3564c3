"""Draws the pictures of docs/explain/how-it-works.md from real runs, a minute of one core; needs matplotlib.

    python benchmarks/explain_pictures.py

The same planted graph in all: 3,000 vertices, 24,000 edges, 10 communities, 30 % of the edges leave theirs.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import parge
from parge.graph.generate import planted
from parge.report.projection import pca
from parge.run.open_run import open_planned

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"
KINDS = (("own vertices", "#23619c"), ("anchors", "#9cc3e6"), ("halo", "#1d9e86"), ("super-vertices", "#a9b0b8"))


def save(figure: plt.Figure, name: str) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def workers(graph: parge.Graph) -> None:
    """What each of 8 workers holds."""
    planned = parge.plan(graph, parts=8, dim=64, seed=1)
    figure, axes = plt.subplots(figsize=(7, 3))
    left = np.zeros(8)
    for (name, color), values in zip(
        KINDS,
        [
            [part.own for part in planned.parts],
            [planned.anchors for _ in planned.parts],
            [part.halo for part in planned.parts],
            [part.supervertices for part in planned.parts],
        ],
        strict=True,
    ):
        axes.barh(range(8), values, left=left, color=color, label=name)
        left = left + np.array(values)
    axes.axvline(graph.n_vertices, color="#c8501f", label="the whole graph")
    axes.set(xlabel="vertices", ylabel="worker", yticks=range(8))
    axes.invert_yaxis()
    axes.legend(fontsize=8)
    save(figure, "explain-workers")
    print(f"8 workers: at most {int(left.max()):,} of {graph.n_vertices:,} vertices; lost {planned.lost_edges:.1%}")


def anchors(graph: parge.Graph) -> None:
    """How many edges are lost with how many anchors."""
    shares = (0, 1, 2, 5, 10, 20)
    lost = [
        parge.plan(
            graph, technique="hope", dim=16, parts=8, seed=1, anchors=f"{share}%" if share else 0, reconcile="none"
        )
        for share in shares
    ]
    figure, axes = plt.subplots(figsize=(5, 3))
    axes.plot(shares, [100 * found.lost_edges for found in lost], marker="o", color="#23619c")
    axes.set(xlabel="anchors, percent of the vertices", ylabel="lost edges, percent", ylim=(0, None))
    save(figure, "explain-anchors")
    print("lost edges:", {share: f"{found.lost_edges:.1%}" for share, found in zip(shares, lost, strict=True)})


def spaces(graph: parge.Graph) -> None:
    """The vectors of 4 workers before and after alignment, in the plane of most variance."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"technique": "hope", "dim": 16, "parts": 4, "reconcile": "consensus", "refine": "none", "seed": 1}
        parge.embed(graph, **given, engine="serial", run_dir=f"{folder}/run")
        with open_planned(Path(folder) / "run") as run:
            maps = run.reconcile().maps
            local = [np.asarray(vectors) for vectors in run.local_vectors]
    before = np.vstack(local)
    after = np.vstack([apply(vectors) for apply, vectors in zip(maps, local, strict=True)])
    part = np.repeat(np.arange(4), [len(vectors) for vectors in local])
    figure, both = plt.subplots(1, 2, figsize=(8, 3.6))
    for axes, rows, title in zip(both, (before, after), ("before: four spaces", "after: one space"), strict=True):
        plane, _ = pca(rows, np.ones(len(rows), bool))
        axes.scatter(*plane.T, c=part, s=2, cmap="tab10", vmax=9, rasterized=True)
        axes.set(title=title, xticks=[], yticks=[])
    save(figure, "explain-spaces")


def main() -> None:
    plt.rcParams.update({"svg.hashsalt": "parge", "font.size": 9})
    graph = planted(3_000, 24_000, communities=10, mixing=0.3, seed=1).graph
    workers(graph)
    anchors(graph)
    spaces(graph)


if __name__ == "__main__":
    main()

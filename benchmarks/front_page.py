"""Claim: the largest of 8 workers takes a fraction of the whole graph's memory and time, at the same score.

From the project's root; five minutes of one core::

    make bench-front

A planted graph of 100,000 vertices and 800,000 edges (50 communities, 40 % of the edges leave theirs), DeepWalk in 128
dimensions with 3 walks per vertex, as in `parge demo`. Memory is the peak of a worker of `parge embed`, in 8 parts and
in one. Time is what `parge embed-part` takes of a core for the largest part and for the whole graph, start included.
Micro-F1 of 4,000 labelled vertices. Means of three
seeds, each with a graph of its own. Draws the picture of the README.
"""

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from harness import markdown_table, measure_command, parge_command

VERTICES, EDGES, COMMUNITIES, MIXING, SCORED = 100_000, 800_000, 50, 0.4, 4_000
FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "front-page.svg"


def run(graph: Path, labels: Path, place: Path, n_parts: int, seed: int) -> dict[str, Any]:
    """Embed in this many parts; return cost and score."""
    folder, vectors = place / f"run-{n_parts}", place / f"vectors-{n_parts}.npy"
    settings = ["--parts", str(n_parts), "--dim", "128", "--param", "walks=3", "--seed", str(seed), "--json"]
    isolated = graph.with_name("graph.vertices.txt")
    settings += ["--vertices", str(isolated)] if isolated.exists() else []
    embedded = measure_command(
        parge_command("embed", str(graph), "-o", str(vectors), "--run-dir", str(folder), *settings)
    )
    parts = embedded.value["parts"]
    largest = folder / "parts" / f"{max(range(n_parts), key=lambda i: parts[i]['edges']):03d}"
    worker = measure_command(parge_command("embed-part", str(largest), "--json"))
    score = measure_command(parge_command("evaluate", "classify", str(vectors), str(labels), "--json")).value
    return {
        "memory": max(part["peak_bytes"] for part in parts),
        "seconds": worker.cpu_seconds,
        "all": embedded.cpu_seconds,
        "coordinator memory": embedded.peak_bytes,
        "micro_f1": score["micro_f1"],
        "lost": embedded.value["lost_edges"],
    }


def some_lines(source: Path, target: Path) -> None:
    lines = source.read_text().splitlines(keepends=True)
    target.write_text("".join(random.Random(1).sample(lines, min(SCORED, len(lines)))))


def spread(values: list[float], unit: str, digits: int) -> str:
    """Return the mean, and where it differs the least and the most."""
    mean, least, most = (f"{value:.{digits}f}" for value in (fmean(values), min(values), max(values)))
    return f"{mean}{unit}" if least == most else f"{mean}{unit} ({least} to {most})"


def row(name: str, found: list[dict[str, Any]]) -> list[str]:
    return [
        name,
        spread([each["memory"] / 1e6 for each in found], " MB", 0),
        spread([each["seconds"] for each in found], " s", 1),
        spread([each["all"] for each in found], " s", 1),
        spread([each["coordinator memory"] / 1e6 for each in found], " MB", 0),
        spread([each["micro_f1"]["mean"] for each in found], "", 3),
    ]


def panel(title: str, values: list[tuple[str, float, str]], left: int) -> str:
    """Return a title and one bar per value, as long as its share of the largest."""
    most = max(value for _, value, _ in values)
    drawn = [f'<text x="{left}" y="24" class="title">{title}</text>']
    for i, (name, value, text) in enumerate(values):
        y, width = 36 + 28 * i, 100 * value / most
        kind = "whole" if name == "whole graph" else "part"
        drawn.append(f'<text x="{left}" y="{y + 15}">{name}</text>')
        drawn.append(f'<rect class="{kind}" x="{left + 104}" y="{y}" width="{width:.0f}" height="20" rx="3"/>')
        drawn.append(f'<text x="{left + 110 + width:.0f}" y="{y + 15}">{text}</text>')
    return "\n".join(drawn)


STYLE = """text { font: 13px system-ui, sans-serif; fill: #1b2027; } .title { font-weight: 600; }
.whole { fill: #a9b0b8; } .part { fill: #1d9e86; } .ground { fill: #ffffff; }"""


def figure(whole: list[dict[str, Any]], parts: list[dict[str, Any]]) -> str:
    """Return three panels side by side: they fit the first screen together with the words and commands below."""

    def both(
        of: Callable[[dict[str, Any]], float], text: Callable[[float], str], name: str
    ) -> list[tuple[str, float, str]]:
        means = [(each, fmean(of(one) for one in found)) for each, found in (("whole graph", whole), (name, parts))]
        return [(each, mean, text(mean)) for each, mean in means]

    pictures = [
        panel(
            "Memory of the largest worker",
            both(lambda f: f["memory"], lambda v: f"{v / 1e6:.0f} MB", "1 of 8 workers"),
            16,
        ),
        panel("Its time, on one core", both(lambda f: f["seconds"], lambda v: f"{v:.1f} s", "1 of 8 workers"), 306),
        panel("Score (micro-F1)", both(lambda f: f["micro_f1"]["mean"], lambda v: f"{v:.3f}", "8 parts, joined"), 596),
    ]
    body = "\n".join(pictures)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 100" role="img" '
        f'aria-label="Memory, time and score of one of 8 workers and of the whole graph">\n<style>{STYLE}</style>\n'
        f'<rect class="ground" width="880" height="100"/>\n{body}\n</svg>\n'
    )


def measured(given: argparse.Namespace, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return cost and score of the whole graph and of 8 parts, of the graph with that seed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        graph, labels, few = place / "graph.txt", place / "labels.txt", place / "few.txt"
        size = ("--vertices", str(given.vertices), "--edges", str(given.edges))
        shape = ("--communities", str(COMMUNITIES), "--mixing", str(MIXING), "--seed", str(seed))
        made = parge_command("generate", *size, *shape, "-o", str(graph), "--labels", str(labels))
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        some_lines(labels, few)
        return run(graph, few, place, 1, seed), run(graph, few, place, 8, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vertices", type=int, default=VERTICES)
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    given = parser.parse_args()
    whole, parts = zip(*(measured(given, seed) for seed in range(1, given.seeds + 1)), strict=True)
    heads = ["", "largest worker", "its time", "the run, all processes", "coordinator", "micro-F1"]
    print(markdown_table(heads, [row("whole graph", list(whole)), row("8 parts", list(parts))]))
    print(f"lost edges: {spread([each['lost'] * 100 for each in parts], ' %', 1)}; {given.seeds} seeds")
    print(json.dumps({"whole": whole, "parts": parts}))
    given.figure.write_text(figure(list(whole), list(parts)))


if __name__ == "__main__":
    main()

"""Claim: the largest of 8 workers takes a fraction of the whole graph's memory and time, at the same score.

From the project's root; two minutes of one core::

    make bench-front

A planted graph of 100,000 vertices and 800,000 edges (50 communities, 40 % of the edges leave theirs), DeepWalk in 128
dimensions with 3 walks per vertex, as in `parge demo`. Memory is the peak of a worker of `parge embed`, in 8 parts and
in one. Time is what `parge embed-part` takes of a core for the largest part and for the whole graph, start included.
Micro-F1 of 4,000 labelled vertices. Draws the picture of the README.
"""

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from harness import markdown_table, measure_command, parge_command

VERTICES, EDGES, COMMUNITIES, MIXING, SCORED = 100_000, 800_000, 50, 0.4, 4_000
FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "front-page.svg"


def run(graph: Path, labels: Path, place: Path, n_parts: int) -> dict[str, Any]:
    """Embed in so many parts; return cost and score."""
    folder, vectors = place / f"run-{n_parts}", place / f"vectors-{n_parts}.npy"
    settings = ["--parts", str(n_parts), "--dim", "128", "--param", "walks=3", "--seed", "1", "--json"]
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


def table(whole: dict[str, Any], parts: dict[str, Any]) -> str:
    rows = [
        [
            name,
            f"{found['memory'] / 1e6:.0f} MB",
            f"{found['seconds']:.1f} s",
            f"{found['all']:.1f} s",
            f"{found['coordinator memory'] / 1e6:.0f} MB",
            f"{found['micro_f1']['mean']:.3f} ± {found['micro_f1']['sd']:.3f}",
        ]
        for name, found in (("whole graph", whole), ("8 parts", parts))
    ]
    heads = ["", "largest worker", "its time", "the run, all processes", "coordinator", "micro-F1"]
    return markdown_table(heads, rows)


def bars(title: str, values: list[tuple[str, float, str]], top: int) -> str:
    """Return a title and one bar per value, as long as its share of the largest."""
    most = max(value for _, value, _ in values)
    drawn = [f'<text x="20" y="{top}" class="title">{title}</text>']
    for i, (name, value, text) in enumerate(values):
        y, width = top + 14 + 30 * i, 400 * value / most
        kind = "whole" if name == "whole graph" else "part"
        drawn.append(f'<text x="20" y="{y + 16}">{name}</text>')
        drawn.append(f'<rect class="{kind}" x="170" y="{y}" width="{width:.0f}" height="22" rx="3"/>')
        drawn.append(f'<text x="{178 + width:.0f}" y="{y + 16}">{text}</text>')
    return "\n".join(drawn)


STYLE = """text { font: 14px system-ui, sans-serif; fill: #1b2027; } .title { font-weight: 600; }
.whole { fill: #a9b0b8; } .part { fill: #1d9e86; } .ground { fill: #ffffff; }"""


def figure(whole: dict[str, Any], parts: dict[str, Any]) -> str:
    both, scored = (
        (("whole graph", whole), ("1 of 8 workers", parts)),
        (("whole graph", whole), ("8 parts, joined", parts)),
    )
    pictures = [
        bars("Memory of the largest worker", [(n, f["memory"], f"{f['memory'] / 1e6:.0f} MB") for n, f in both], 30),
        bars(
            "Time of the largest worker, on one core",
            [(n, f["seconds"], f"{f['seconds']:.1f} s") for n, f in both],
            130,
        ),
        bars("Score (micro-F1)", [(n, f["micro_f1"]["mean"], f"{f['micro_f1']['mean']:.3f}") for n, f in scored], 230),
    ]
    body = "\n".join(pictures)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 320" role="img" '
        f'aria-label="Memory, time and score of one of 8 workers and of the whole graph">\n<style>{STYLE}</style>\n'
        f'<rect class="ground" width="680" height="320"/>\n{body}\n</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vertices", type=int, default=VERTICES)
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        graph, labels, few = place / "graph.txt", place / "labels.txt", place / "few.txt"
        size = ("--vertices", str(given.vertices), "--edges", str(given.edges))
        shape = ("--communities", str(COMMUNITIES), "--mixing", str(MIXING), "--seed", "1")
        made = parge_command("generate", *size, *shape, "-o", str(graph), "--labels", str(labels))
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        some_lines(labels, few)
        whole, parts = (run(graph, few, place, n_parts) for n_parts in (1, 8))
    print(table(whole, parts))
    print(f"lost edges: {parts['lost']:.1%}; one seed, sd of 10 shuffles")
    print(json.dumps({"whole": whole, "parts": parts}))
    given.figure.write_text(figure(whole, parts))


if __name__ == "__main__":
    main()

"""``parge generate``: test graphs with known communities."""

import math
from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.options import COUNT, OUT, SEED, Count, Number, choice_option, json_option, overwrite_option, say_idle
from parge.errors import InputError
from parge.graph import generate
from parge.graph.generate import Planted
from parge.graph.graph import Graph
from parge.io.graphs.write import graph_outputs, lines_output, write
from parge.io.labels import write_labels
from parge.io.outputs import check_outputs
from parge.io.places import given_name
from parge.show.text import count


@click.command("generate")
@choice_option(
    "--kind",
    values=["planted", "tree", "ring", "grid", "star", "path", "disconnected"],
    help="planted: communities; tree: a labelled hierarchy; ring: a ring of cliques; or a plain shape.",
)
@click.option("--vertices", type=COUNT, required=True, metavar="N", help="Number of vertices.")
@click.option("--edges", type=Count(0), metavar="M", help="Number of edges (planted, tree).  [default: 8 N; 1.5 N]")
@click.option("--communities", type=COUNT, metavar="C", help="Number of planted communities, or of cliques.")
@click.option("--mixing", type=Number(0, 1), default=0.3, show_default=True, help="Share of edges between communities.")
@click.option(
    "--exponent",
    type=Number(2, generate.MOST_EXPONENT, min_open=True),
    default=2.5,
    show_default=True,
    help="Exponent of the power law of the degrees.",
)
@click.option(
    "--labels-per-vertex", type=Number(1), default=1.0, show_default=True, help="Mean number of labels per vertex."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same graph.")
@click.option("-o", "--out", required=True, type=OUT, metavar="GRAPH", help="Output file for the edges.")
@click.option("--labels", type=OUT, metavar="FILE", help="Output file for the labels.")
@overwrite_option
@json_option
def command(out: Path, labels: Path | None, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Write a graph with planted communities and their labels, or a graph of a plain shape.

    \b
    Example:
      parge generate --vertices 10000 -o graph.txt.gz --labels labels.txt
    """
    check_outputs([*graph_outputs(out), *([] if labels is None else [lines_output(labels)])], overwrite=overwrite)
    if labels is not None and options["kind"] not in {"planted", "tree"}:
        raise InputError(f"a {options['kind']} graph has no labels. Use --kind planted or --kind tree.")
    unread = (name for name in options if name not in {"kind", "vertices", *_READ.get(options["kind"], options)})
    say_idle(unread, f"on a graph of the kind {options['kind']}")
    with show.steps("generate") as on_step:
        on_step(f"{options['kind']} graph of {options['vertices']:,} vertices")
        made = _make(**options)
        graph = made.graph if isinstance(made, Planted) else made
        on_step(f"writing {given_name(out)}")
        write(graph, out, marked=True)
        if labels is not None and isinstance(made, Planted):
            write_labels(labels, graph.outside_ids, made.labels, marked=True)
    n_isolated = int((graph.degrees == 0).sum())
    if as_json:
        sizes = {"vertices": graph.n_vertices, "edges": graph.n_edges, "isolated": n_isolated}
        show.print_json({**sizes, "graph": given_name(out), "labels": None if labels is None else given_name(labels)})
        return
    show.done(f"{count(graph.n_vertices, 'vertex')}, {count(graph.n_edges, 'edge')}: {given_name(out)}")
    if n_isolated:
        are = "vertex is" if n_isolated == 1 else "vertices are"
        show.done(f"{n_isolated:,} {are} isolated. To read them, use --vertices {graph.n_vertices}.")


# What each kind reads besides the number of vertices; planted communities read all.
_READ: dict[str, tuple[str, ...]] = {
    "tree": ("edges", "mixing", "seed"),
    "ring": ("communities",),
    "grid": (),
    "star": (),
    "path": (),
    "disconnected": ("seed",),
}


def _make(  # noqa: PLR0911  one line a kind
    kind: str,
    vertices: int,
    edges: int | None,
    communities: int | None,
    mixing: float,
    exponent: float,
    labels_per_vertex: float,
    seed: int,
) -> Planted | Graph:
    if kind == "planted":
        return generate.planted(
            vertices,
            min(8 * vertices, vertices * (vertices - 1) // 2) if edges is None else edges,
            communities=communities,
            mixing=mixing,
            exponent=exponent,
            labels_per_vertex=labels_per_vertex,
            seed=seed,
        )
    if kind == "tree":
        if edges is not None and edges < vertices - 1:
            raise InputError(f"a tree of {vertices:,} vertices has at least {vertices - 1:,} edges; got {edges:,}")
        extra = 0.5 if edges is None else (edges - vertices + 1) / max(1, vertices - 1)
        return generate.tree(vertices, extra_edges=extra, mixing=mixing, seed=seed)
    if kind == "ring":
        n_cliques = communities or _divisor(vertices)
        if vertices % n_cliques:
            raise InputError(
                f"the number of vertices must be a multiple of the {n_cliques:,} cliques; got {vertices:,}"
            )
        return generate.ring_of_cliques(n_cliques, vertices // n_cliques)
    if kind == "grid":
        return generate.grid(_divisor(vertices), vertices // _divisor(vertices))
    if kind == "star":
        return generate.star(vertices)
    if kind == "path":
        return generate.path(vertices)
    return generate.disconnected(vertices, seed=seed)


def _divisor(number: int) -> int:
    """Return the largest divisor that is at most the square root; numbers that no memory holds are refused first."""
    generate.check_size(number)
    return next(d for d in range(math.isqrt(number), 0, -1) if number % d == 0)

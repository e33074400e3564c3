"""``parge demo``: a graph that does not fit one worker, embedded in parts; or the user's own, compared."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from parge.cli.demo_steps import FEWEST_PARTS, GRAPH, LABELS, PAGE, RUN, VECTORS, VERTICES, Demo, finish, run_demo
from parge.cli.labels import label_options, take_labels
from parge.cli.options import (
    COLUMN_NAMES,
    COUNT,
    DIM,
    FILE,
    LOCAL,
    SEED,
    PathName,
    all_of,
    graph_inputs,
    graph_name,
    overwrite_option,
    read_graph,
    reading_options,
    say_idle,
)
from parge.cli.show import run_progress
from parge.errors import InputError
from parge.graph.generate import planted
from parge.io.embeddings.files import embedding_outputs
from parge.io.graphs.write import lines_output, write
from parge.io.labels import write_labels
from parge.io.outputs import Output, check_outputs
from parge.planning.plan import Plan
from parge.report.page import is_page
from parge.run.folder import RunFolder
from parge.run.pipeline import embed
from parge.techniques.deepwalk import DeepWalk

# Of about 17 s whole on one core: large enough not to fit `demo_steps.LIMIT`, small enough for a minute in all.
_VERTICES, _EDGES, _COMMUNITIES = 100_000, 800_000, 50

# Beyond this many vertices the whole graph is not embedded for comparison: it may not fit, and takes long.
_COMPARE_UP_TO = 300_000

# With few parts no limit is set (`demo_steps.LIMIT` is for 8), so that nothing is gained by a large graph.
_SMALLER = 10

# Few walks: the pass at the end makes up for them on graphs with communities, on both sides of the comparison.
_WALKS = 3


@click.command("demo")
@click.option("--graph", type=PathName(), metavar="GRAPH", help="Use this graph instead of a generated one.")
@click.option("--labels", type=FILE, metavar="FILE", help="Labels of the vertices of that graph.")
@label_options
@click.option("--parts", type=COUNT, default=8, show_default=True, help="Split the graph into N equal parts.")
@click.option("--dim", type=DIM, default=128, show_default=True, help="Dimensions of the vectors.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same result.")
@click.option("-o", "--out", type=LOCAL, default=Path("demo"), show_default=True, help="Output folder.")
@overwrite_option
@all_of(reading_options())
def command(labels: Path | None, parts: int, dim: int, seed: int, out: Path, overwrite: bool, **options: Any) -> None:
    """Embed a graph that does not fit one worker, in parts, and compare it with the whole graph.

    On a generated graph (by default) one worker is refused the memory by the system, eight workers are not; the run is
    killed once and resumed. With --graph, your graph is embedded in parts and as a whole. Both end with the vectors and
    a report page of the same run.

    \b
    Examples:
      parge demo
      parge demo --graph edges.csv --labels labels.csv --parts 4
    """
    _check(out, options, labels, overwrite=overwrite)
    if options["graph"]:
        _compare(options, labels, Plan(technique=DeepWalk(dim=dim), seed=seed, parts=parts), out)
        return
    say_idle(("labels", "vertices", "features", *COLUMN_NAMES), "without GRAPH")
    _generate(out, seed, 1 if parts >= FEWEST_PARTS else _SMALLER)
    run_demo(Demo(out, DeepWalk(dim=dim, walks=_WALKS), parts, seed))


def _compare(options: dict[str, Any], labels: Path | None, plan: Plan, out: Path) -> None:
    """Embed the user's graph in parts and whole; the page and the vectors are those of the parts."""
    name, header = Path(graph_name(options)).name, options["header"]  # the latter of both files
    graph = read_graph(options)
    options["header"] = header
    known = None if labels is None else take_labels(labels, options, graph.outside_ids)
    with run_progress() as listener, TemporaryDirectory(prefix="parge-run-") as folder:
        embedding = embed(graph, plan, run_dir=folder, listener=listener)
        whole = None
        if graph.n_vertices <= _COMPARE_UP_TO:
            whole = embed(graph, replace(plan, parts=1), listener=listener)
        finish(folder, out, name, known, embedding, whole, listener)


def _check(out: Path, options: dict[str, Any], labels: Path | None, *, overwrite: bool) -> None:
    """Make the folder, and refuse to write over what a demo did not write, or over what this one reads."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot create the folder {out}: {error.strerror}. Choose another one with -o.") from None
    outputs = [Output(out / PAGE, is_page), *embedding_outputs(out / VECTORS)]
    if options["graph"] is None:
        outputs += [lines_output(out / name) for name in (GRAPH, VERTICES, LABELS)]
        with suppress(InputError):  # of a demo that was stopped; what is not a run stays, and is refused
            RunFolder(out / RUN).discard()
        RunFolder(out / RUN).check_open(resume=False)
    read = [] if options["graph"] is None else graph_inputs(options)
    check_outputs(outputs, [*read, *([] if labels is None else [labels])], overwrite=overwrite)


def _generate(out: Path, seed: int, times_smaller: int) -> None:
    made = planted(_VERTICES // times_smaller, _EDGES // times_smaller, communities=_COMMUNITIES, mixing=0.4, seed=seed)
    write(made.graph, out / GRAPH, marked=True)
    write_labels(out / LABELS, made.graph.outside_ids, made.labels, marked=True)

"""``parge evaluate``: the quality of an embedding, with and without labels."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.labels import label_options, take_labels
from parge.cli.options import (
    COUNT,
    DIM,
    FILE,
    SEED,
    Count,
    Number,
    choice_option,
    columns_of,
    graph_options,
    json_option,
    make_plan,
    plan_options,
    read_graph,
    say_idle,
    sizes,
)
from parge.cli.show import run_progress
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.bound import Bounds, bounds
from parge.evaluate.classification import classify
from parge.evaluate.curve import Curve, curve
from parge.evaluate.links import score_links
from parge.evaluate.pip import different_passes, pip
from parge.evaluate.recovery import no_edge_leaves
from parge.evaluate.scores import Classification
from parge.evaluate.signals import SIGNALS, factorise
from parge.graph.graph import Graph
from parge.graph.holdout import by_degree, given_out, hold_out
from parge.io.graphs.read import read
from parge.numbers import MOST_SETTING
from parge.planning.decision import decide, decompose
from parge.planning.plan import Plan
from parge.run.pipeline import embed
from parge.show.text import count
from parge.techniques.adapt import adapt

# Workers of `bound` where nobody says how many.
_PARTS = 2

_SHARE = Number(0, 1, min_open=True, max_open=True)


def ratios(text: str) -> list[float]:
    """Read shares with commas between, each between 0 and 1."""
    return [float(_SHARE(item)) for item in sizes(text)]


@click.group("evaluate")
def command() -> None:
    """Score an embedding: by labels (classify), by edges (links), or against another embedding (pip, bound).

    \b
    Examples:
      parge evaluate classify vectors.parquet labels.csv
      parge evaluate links edges.csv --parts 8
      parge evaluate pip vectors.parquet whole.parquet
    """


@command.command("pip")
@click.argument("embedding", type=FILE)
@click.argument("reference", type=FILE)
@click.option("--core", type=COUNT, metavar="N", help="Compare against N sampled core vertices.")
@click.option(
    "--floor",
    type=FILE,
    metavar="EMBEDDING",
    help="The reference with another seed: how close two runs are anyway.",
)
@json_option
def pip_command(embedding: Path, reference: Path, core: int | None, floor: Path | None, as_json: bool) -> None:
    """Measure the PIP distance (pairwise inner products) of EMBEDDING from REFERENCE. Rotation does not change it.

    \b
    Example:
      parge evaluate pip vectors.parquet whole.parquet
    """
    found, expected = Embedding.load(embedding), Embedding.load(reference)
    if passes := different_passes(found, expected):
        show.notices([f"{passes}. Distances are comparable only between embeddings with the same pass."])
    again = None if floor is None else Embedding.load(floor)
    show.show_score(pip(found, expected, core=core, floor=again), as_json=as_json)


@command.command("classify")
@click.argument("embedding", type=FILE)
@click.argument("labels", type=FILE)
@click.option(
    "--train-ratio",
    type=ratios,
    default="0.5",
    show_default=True,
    metavar="R[,R...]",
    help="Share of the labelled vertices used for training; several shares, separated by commas, give a curve.",
)
@click.option("--repeats", type=Count(1, MOST_SETTING), default=10, show_default=True, help="Number of random splits.")
@choice_option(
    "--protocol",
    values=["known-count", "threshold"],
    help="known-count: the number of labels of each vertex is known, as in the literature; threshold: it is not.",
)
@click.option("--standardise", is_flag=True, help="Scale every column to unit deviation first; HOPE needs it.")
@click.option("--jobs", type=COUNT, metavar="J", help="Splits computed at once.  [default: one per core]")
@click.option("--seed", type=SEED, default=0, show_default=True)
@label_options
@json_option
def classify_command(embedding: Path, labels: Path, train_ratio: list[float], as_json: bool, **settings: Any) -> None:
    """Predict LABELS from the vectors by one-vs-rest logistic regression; prints micro- and macro-F1.

    LABELS has lines 'vertex label [label ...]', or is a table (.csv, .tsv, .parquet) with the label in one column.

    \b
    Examples:
      parge evaluate classify vectors.parquet labels.csv
      parge evaluate classify vectors.parquet table.csv --label-column team
    """
    vectors = Embedding.load(embedding)
    known = take_labels(labels, settings, vectors.ids)
    found: Classification | Curve
    if len(train_ratio) == 1:
        found = classify(vectors, known, train_ratio=train_ratio[0], **settings)
    else:
        found = curve(vectors, known, train_ratio, **settings)
    show.notices(found.notices)
    show.show_score(found, as_json=as_json)
    if not as_json:
        show.out.print("F1 is 1 if all labels are predicted right.")
        if len(vectors.report.parts) != 1:
            show.out.print(_CLASSIFY_NEXT)


_CLASSIFY_NEXT = "Next: score the whole graph, too (parge embed GRAPH --parts 1). The difference is what parts cost."
_LINKS_MEAN = (
    "ROC-AUC is the probability that a held-out edge scores above another pair; 0.5 is chance.\n"
    "A row with * needs no vectors."
)


@command.command("links")
@graph_options
@plan_options
@click.option("--holdout", type=_SHARE, default=0.5, show_default=True, help="Share of the edges that is held out.")
@choice_option(
    "--negatives",
    values=["both", "uniform", "degree"],
    help="Pairs that are not edges: drawn evenly, or by degree, so that degrees alone predict nothing.",
)
@click.option("--hits-at", type=COUNT, default=100, show_default=True, metavar="K", help="K of hits@K.")
@click.option("--recall-at", type=COUNT, default=10, show_default=True, metavar="K", help="K of recall@K.")
@click.option(
    "--embedding",
    type=FILE,
    help="Score this embedding of GRAPH instead of computing one. Needs --held-out.",
)
@click.option(
    "--held-out",
    type=FILE,
    metavar="FILE",
    help="Edges to predict, which GRAPH does not have; in the same columns.",
)
@json_option
def links_command(holdout: float, negatives: str, as_json: bool, **options: Any) -> None:
    """Remove some edges of GRAPH, embed the rest in parts, and predict the removed edges.

    With --embedding and --held-out, nothing is removed or embedded: GRAPH is what the embedding was computed on.

    \b
    Examples:
      parge evaluate links edges.csv --parts 8
      parge evaluate links train.csv --embedding v.parquet --held-out test.csv
    """
    settings = {name: options.pop(name) for name in ("hits_at", "recall_at")}
    embedding, held = options.pop("embedding"), options.pop("held_out")
    if (embedding is None) != (held is None):
        raise InputError("--embedding and --held-out belong together. Use both, or neither.")
    plan = make_plan(options)
    columns = {**columns_of(dict(options)), "weighted": False, "weight": None}
    graph = read_graph(options)
    if embedding is None:
        parted = hold_out(graph, share=holdout, seed=plan.seed)
        vectors = _embedded(parted.train, plan)
    else:
        say_idle(("holdout", "parts", "technique", "dim"), "with --embedding")
        parted, vectors = given_out(graph, read(held, **columns), seed=plan.seed), Embedding.load(embedding)
        show.notices(_of_another_graph(vectors, graph))
    corrected = None if negatives == "uniform" else by_degree(parted.train, parted.positives, seed=plan.seed)
    found = score_links(vectors, *parted, by_degree=corrected, **settings)
    choice = vectors.report.choice
    if as_json:
        show.print_json(found.to_json(negatives) | ({"choice": choice.to_json()} if choice is not None else {}))
    else:
        show.out.print(found.table(negatives), soft_wrap=True)
        show.out.print(f"{_LINKS_MEAN}\n{found.advice(negatives)}", soft_wrap=True)
        if choice is not None:
            show.out.print(str(choice))


def _of_another_graph(embedding: Embedding, graph: Graph) -> list[str]:
    """Say that an embedding was computed on another graph, if its degrees tell: it may know what is to be predicted."""
    if embedding.degrees is None:
        return []
    differ = int((embedding.degrees[embedding.row_numbers(graph.outside_ids)] != graph.degrees).sum())
    if not differ:
        return []
    return [
        f"the embedding was computed on another graph than GRAPH: {count(differ, 'vertex')} of {graph.n_vertices:,} "
        "had other degrees there. If it has seen the held-out edges, its scores are too high."
    ]


def _embedded(graph: Graph, plan: Plan) -> Embedding:
    with run_progress() as listener:
        embedding = embed(graph, plan, listener=listener)
    show.notices(embedding.report.notices)
    show.warnings(embedding.report.warnings)
    return embedding


@command.command("bound")
@graph_options
@choice_option("--signal", values=SIGNALS, default="hope", help="What is factorised.")
@click.option("--alpha", type=Number(0, 1), default=0.5, show_default=True, help="Parameter of the signal.")
@click.option("--dim", type=DIM, default=128, show_default=True, help="Columns of the embedding.")
@click.option(
    "--parts",
    type=COUNT,
    metavar="N",
    help="Split the graph into N equal parts.  [default: 2; with --embedding the number in its report, and without "
    "one no Theorem 1]",
)
@click.option("--embedding", type=FILE, help="Evaluate this embedding instead of computing one in N parts.")
@click.option("--computable", is_flag=True, help="Only the bounds that need no eigenvector of the whole graph.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@json_option
def bound_command(
    signal: str,
    alpha: float,
    dim: int,
    parts: int | None,
    embedding: Path | None,
    computable: bool,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Bound the PIP distance between the embedding of GRAPH in parts and of the whole, and show the true distance.

    \b
    Example:
      parge evaluate bound edges.csv --parts 4 --dim 16
    """
    graph = read_graph(options)
    if embedding is None:
        plan = Plan(
            technique=adapt(partial(factorise, signal=signal, alpha=alpha, dim=dim), dim, name=f"{signal} signal"),
            parts=parts or _PARTS,
            refine="none",
            seed=seed,
        )
        found = _bounds_in_parts(graph, plan, signal=signal, alpha=alpha, spectrum=not computable)
    else:
        say_idle(("dim", "seed"), "with --embedding")
        own = Embedding.load(embedding)
        sizes_of_parts = _sizes(own, parts, graph)
        found = bounds(graph, own, signal=signal, alpha=alpha, sizes=sizes_of_parts, spectrum=not computable)
    show.show_score(found, as_json=as_json)


def _sizes(embedding: Embedding, parts: int | None, graph: Graph) -> list[int]:
    """Return the sizes of the subgraphs that an embedding was computed in, if its report or the user gives them."""
    known = embedding.report.parts
    if parts is not None and known and len(known) != parts:
        raise InputError(
            f"--parts {parts} contradicts the report of the embedding, which says {len(known)} parts. Omit it."
        )
    if known:
        return [part.vertices - part.halo - part.supervertices for part in known]
    return [-(-graph.n_vertices // parts)] * parts if parts is not None else []


def _bounds_in_parts(graph: Graph, plan: Plan, **settings: Any) -> Bounds:
    """Embed in parts as planned, and bound the result; anchors and sizes are those of the decomposition."""
    # The very one that embed makes: same plan, same answer.
    decomposition = decompose(graph, decide(graph, plan)).decomposition
    with run_progress() as listener:
        embedding = embed(graph, plan, listener=listener)
    return bounds(
        graph,
        embedding,
        sizes=decomposition.sizes,
        anchors=decomposition.anchors,
        submatrices=no_edge_leaves(decomposition),
        **settings,
    )

"""``parge evaluate``: what an embedding is worth, with and without a task."""

from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.options import graph_options, json_option, make_plan, plan_options, read_graph
from parge.cli.progress import run_progress
from parge.embedding import Embedding
from parge.evaluate.classification import classify
from parge.evaluate.labels import read_labels
from parge.evaluate.links import hold_out, score_links
from parge.evaluate.pip import pip
from parge.pipeline import embed


@click.group("evaluate")
def command() -> None:
    """Score an embedding: PIP distance, vertex classification, link prediction."""


@command.command("pip")
@click.argument("embedding", type=click.Path(path_type=Path))
@click.argument("reference", type=click.Path(path_type=Path))
@click.option("--core", type=click.IntRange(min=1), metavar="N", help="Compare against N sampled core vertices.")
@json_option
def pip_command(embedding: Path, reference: Path, core: int | None, as_json: bool) -> None:
    """Measure how far EMBEDDING is from REFERENCE by pairwise inner products, whatever their rotation."""
    show.show_score(pip(Embedding.load(embedding), Embedding.load(reference), core=core), as_json=as_json)


@command.command("classify")
@click.argument("embedding", type=click.Path(path_type=Path))
@click.argument("labels", type=click.Path(path_type=Path))
@click.option(
    "--train-ratio", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.5, show_default=True
)
@click.option("--repeats", type=click.IntRange(min=1), default=10, show_default=True, help="Random splits.")
@click.option(
    "--protocol",
    type=click.Choice(["known-count", "threshold"]),
    default="known-count",
    show_default=True,
    help="known-count: the number of true labels is given, as in the literature; threshold: it is not.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@json_option
def classify_command(embedding: Path, labels: Path, as_json: bool, **settings: Any) -> None:
    """Predict LABELS from vectors by one-vs-rest logistic regression; micro- and macro-F1."""
    show.show_score(classify(Embedding.load(embedding), read_labels(labels), **settings), as_json=as_json)


@command.command("links")
@graph_options
@plan_options
@click.option("--holdout", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.5, show_default=True)
@json_option
def links_command(holdout: float, as_json: bool, **options: Any) -> None:
    """Hold out edges of GRAPH, embed the rest in parts, and predict the held-out edges."""
    plan = make_plan(options)
    graph = read_graph(options)
    train, positives, negatives = hold_out(graph, share=holdout, seed=plan.seed)
    with run_progress() as listener:
        embedding = embed(train, plan, listener=listener)
    show.show_score(score_links(embedding.vectors, train, positives, negatives), as_json=as_json)

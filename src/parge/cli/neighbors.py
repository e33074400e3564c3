"""``parge neighbors``: the vertices with the most similar vectors."""

from pathlib import Path

import click
from rich.table import Table

from parge.cli import show
from parge.cli.options import COUNT, PathName, json_option
from parge.embedding import Embedding
from parge.space.neighbors import TASKS, neighbors
from parge.text import on_one_line, pasteable


class _TakesIds(click.Command):
    """Says how to give a vertex whose id looks like an option, such as -1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            word = next((word for word in given if word.startswith(error.option_name)), None)
            if word is None or error.possibilities:
                raise
            given.remove(word)
            example = pasteable("parge", "neighbors", *given, "--", word)
            words = f"{error.message} If {word} is the id of a vertex, use -- before it: {example}"
            raise click.NoSuchOption(error.option_name, words, ctx=error.ctx) from None


@click.command("neighbors", cls=_TakesIds)
@click.argument("embedding", type=PathName(path_type=Path))
@click.argument("vertex")
@click.option("-k", "k", type=COUNT, default=10, show_default=True, help="Number of neighbors.")
@click.option(
    "--for",
    "task",
    type=click.Choice(TASKS),
    default=TASKS[0],
    show_default=True,
    help="labels: vertices that are alike, by cosine; links: vertices likely to have an edge with it.",
)
@json_option
def command(embedding: Path, vertex: str, k: int, task: str, as_json: bool) -> None:
    """List the vertices nearest to VERTEX by cosine similarity, or those most likely linked with it.

    \b
    Example:
      parge neighbors vectors.parquet 42 -k 5
    """
    loaded = Embedding.load(embedding)
    # A text of more digits than any id has stays a text, which no vertex is called.
    wanted = int(vertex) if loaded.ids.dtype.kind == "i" and _whole(vertex) and len(vertex) < 20 else vertex
    ids, scores = neighbors(loaded, wanted, k, task=task)
    name = "cosine" if task == TASKS[0] else "score"
    if as_json:
        found = [{"vertex": i, name: score} for i, score in zip(ids.tolist(), scores.tolist(), strict=True)]
        show.print_json({"vertex": wanted, "neighbors": found})
        return
    table = Table(header_style="bold")
    table.add_column("vertex")
    table.add_column(name, justify="right")
    for i, score in zip(ids.tolist(), scores.tolist(), strict=True):
        table.add_row(on_one_line(i), f"{score:.4f}")
    show.out.print(table)


def _whole(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()

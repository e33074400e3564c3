"""``parge neighbors``: the vertices with the most similar vectors."""

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
from rich.table import Table

from parge.cli import show
from parge.cli.options import (
    COLUMN_NAMES,
    COUNT,
    FILE,
    OUT,
    PathName,
    all_of,
    choice_option,
    column_options,
    header_option,
    json_option,
    overwrite_option,
    say_idle,
)
from parge.cli.update import read_listed
from parge.embedding import Embedding, Metric, Task
from parge.errors import InputError
from parge.ids import STRING
from parge.io.embeddings.files import embedding_inputs
from parge.io.graphs.vertex_data import read_vertices
from parge.io.outputs import Output, check_outputs, replacing
from parge.io.places import fetched, given_name, is_url
from parge.show.text import count, on_one_line, pasteable
from parge.space.neighbors import TASKS
from parge.space.search import Method, Neighbors, search, search_unknown
from parge.storage import row_blocks
from parge.typing import IdArray


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
@click.argument("embedding", type=FILE)
@click.argument("vertex", metavar="[VERTEX]...", nargs=-1)
@click.option("--of", "named", type=PathName(), metavar="FILE|all", help="Vertices: one id per line; all: every one.")
@click.option(
    "--placed",
    type=FILE,
    metavar="FILE",
    help="The vectors of VERTEX are in this file, as `parge place` wrote it; EMBEDDING is searched.",
)
@click.option("-k", "k", type=COUNT, default=10, show_default=True, help="Number of neighbors.")
@choice_option(
    "--for",
    "task",
    values=TASKS,
    help="labels: vertices that are alike, by cosine; links: vertices likely to have an edge with it.",
)
@click.option(
    "--except",
    "known",
    type=PathName(),
    metavar="GRAPH",
    help="Leave out neighbors that have an edge with the vertex in this graph. Compares exactly.",
)
@all_of([*column_options(weights=False), header_option])
@choice_option("--metric", values=get_args(Metric), help="Compare by the cosine, or by the inner product.")
@choice_option(
    "--method",
    values=get_args(Method),
    help="exact: compare with all vertices; approximate: build an index first; auto: an index from 20,000 vertices "
    "asked of 100,000 on.",
)
@click.option("-o", "--out", type=OUT, metavar="OUT.parquet", help="Write vertex, neighbor and score there.")
@overwrite_option
@json_option
def command(
    embedding: Path,
    vertex: tuple[str, ...],
    named: str | None,
    placed: Path | None,
    k: int,
    task: Task,
    known: str | None,
    metric: Metric,
    method: Method,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    **columns: Any,
) -> None:
    """List the vertices nearest to each VERTEX by cosine similarity, or those most likely linked with it.

    \b
    Examples:
      parge neighbors vectors.parquet 42 -k 5
      parge neighbors vectors.parquet --of ids.txt -o near.parquet
      parge neighbors vectors.parquet zoe --placed new.parquet
      parge neighbors vectors.parquet 42 --for links --except edges.csv
    """
    if bool(vertex) == (named is not None):
        raise click.UsageError("Give vertices, or --of FILE.")
    files = [name if is_url(name) else Path(name) for name in (named, known) if name and name != ALL]
    if known is None:
        say_idle(COLUMN_NAMES, "without --except")
    elif method == "approximate":
        raise InputError("--except compares exactly. Omit --method.")
    if placed is not None and (task != TASKS[0] or metric != "cosine" or method == "approximate"):
        raise InputError("--placed compares by the cosine, exactly. Omit --for, --metric and --method.")
    if out is not None:
        read = [*embedding_inputs(embedding), *files, *([] if placed is None else embedding_inputs(placed))]
        check_outputs([_table_output(out)], read, overwrite=overwrite)
    elif overwrite:
        say_idle(("overwrite",), "without --out")
    loaded = Embedding.load(embedding)
    source = loaded if placed is None else Embedding.load(placed)
    asked = _asked(source, vertex, named)
    if out is None and len(asked) * k > _MOST_SHOWN:
        raise InputError(f"{len(asked):,} vertices with {k} neighbors each are too many to print. Give -o OUT.parquet.")

    def find(ids: Any, n_near: int) -> Neighbors:
        if placed is None:
            return search(loaded, ids, n_near, task=task, metric=metric, method=method)
        return Neighbors(*loaded.neighbors(source.rows(ids), n_near))

    edges = None if known is None else read_listed(known, "--except", columns)
    numbered = source.ids[source.row_numbers(asked)]
    found = find(asked, k) if edges is None else search_unknown(find, numbered, k, edges)
    name = "score" if task != TASKS[0] else metric
    if not found.is_exact:
        show.notices(("neighbors are approximate: found through an index, with exact scores",))
    if out is not None:
        _write(out, numbered, found, name)
        show.done(f"neighbors of {count(len(asked), 'vertex')}: {given_name(out)}")
    if as_json:
        written = None if out is None else {"vertices": len(asked), "out": given_name(out)}
        show.print_json(written or _as_json(asked, found, name))
    elif out is None:
        show.out.print(_table(asked, found, name))


# More rows than this are for a file.
_MOST_SHOWN = 100_000

ALL = "all"


def _asked(embedding: Embedding, vertices: tuple[str, ...], named: str | None) -> list[Any]:
    """Return the ids that are asked for, numbers where the embedding has numbers."""
    if named == ALL and not Path(ALL).exists():
        return list(embedding.ids.tolist())
    if named is not None:
        with fetched(named) as path:
            vertices = tuple(str(name) for name in read_vertices(path).tolist())
    # A text of more digits than any id has stays a text, which no vertex is called.
    numbers = embedding.ids.dtype.kind == "i"
    return [int(name) if numbers and _whole(name) and len(name) < 20 else name for name in vertices]


def _table_output(out: Path) -> Output:
    if out.suffix.lower() != ".parquet":
        raise InputError(f"{out}: neighbors are written to .parquet")
    return Output(out, _is_ours)


def _is_ours(path: Path) -> bool:
    from pyarrow import parquet

    return b"parge.neighbors" in (parquet.read_schema(path).metadata or {})


def _write(out: Path, asked: IdArray, found: Neighbors, name: str) -> None:
    """Write one row per vertex and neighbor."""
    import pyarrow as pa
    from pyarrow import parquet

    vertex, neighbor = (pa.string() if ids.dtype == STRING else pa.int64() for ids in (asked, found.ids))
    schema = pa.schema([("vertex", vertex), ("neighbor", neighbor), (name, pa.float32())]).with_metadata(
        {"parge.neighbors": ""}
    )
    with replacing(out) as file, parquet.ParquetWriter(file, schema) as writer:
        for rows in row_blocks(len(asked)):
            width = found.ids.shape[1]
            there = np.isfinite(found.scores[rows]).ravel()
            columns = [np.repeat(asked[rows], width), found.ids[rows].ravel(), found.scores[rows].ravel()]
            columns = [column[there] for column in columns]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _rows(asked: list[Any], found: Neighbors) -> Iterator[tuple[Any, list[tuple[Any, float]]]]:
    """Return each vertex with its neighbors and their scores."""
    for one, ids, scores in zip(asked, found.ids.tolist(), found.scores.tolist(), strict=True):
        yield one, [(i, score) for i, score in zip(ids, scores, strict=True) if isfinite(score)]


def _as_json(asked: list[Any], found: Neighbors, name: str) -> dict[str, Any]:
    rows = [
        {"vertex": one, "neighbors": [{"vertex": i, name: score} for i, score in near]}
        for one, near in _rows(asked, found)
    ]
    return rows[0] if len(rows) == 1 else {"vertices": rows}


def _table(asked: list[Any], found: Neighbors, name: str) -> Table:
    table = Table(header_style="bold")
    for heading in ("vertex", "neighbor") if len(asked) > 1 else ("vertex",):
        table.add_column(heading)
    table.add_column(name, justify="right")
    for one, near in _rows(asked, found):
        for i, score in near:
            first = [on_one_line(one)] if len(asked) > 1 else []
            table.add_row(*first, on_one_line(i), f"{score:.4f}")
    return table


def _whole(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()

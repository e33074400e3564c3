"""``parge align``: carry one embedding into the space of another, from the ids they share."""

from pathlib import Path

import click

from parge.align import align
from parge.cli import show
from parge.cli.options import json_option
from parge.embedding import Embedding
from parge.embedding_files import check_ids, check_output


@click.command("align")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("reference", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="Where the aligned SOURCE goes.")
@json_option
def command(source: Path, reference: Path, out: Path, as_json: bool) -> None:
    """Rotate SOURCE into the space of REFERENCE, from the ids they share; any tool may have made them.

    \b
    Example:
      parge align today.parquet yesterday.vec -o today-aligned.parquet
    """
    check_output(out)
    vectors = Embedding.load(source)
    check_ids(out, vectors.ids)
    aligned, alignment = align(vectors, Embedding.load(reference))
    aligned.save(out)
    if as_json:
        show.print_json(alignment.to_json())
    else:
        show.out.print(str(alignment))

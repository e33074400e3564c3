"""``parge align``: rotate one embedding into the space of another, using the ids they share."""

from pathlib import Path

import click

from parge.cli import show
from parge.cli.options import FILE, OUT, json_option, overwrite_option
from parge.embedding import Embedding
from parge.io.embeddings.files import check_ids, embedding_inputs, embedding_outputs
from parge.io.outputs import check_outputs
from parge.space.align import align


@click.command("align")
@click.argument("source", type=FILE)
@click.argument("reference", type=FILE)
@click.option("-o", "--out", required=True, type=OUT, help="Output file: the aligned SOURCE.")
@overwrite_option
@json_option
def command(source: Path, reference: Path, out: Path, overwrite: bool, as_json: bool) -> None:
    """Rotate SOURCE into the space of REFERENCE, using the ids they share. Embeddings of any tool are accepted.

    \b
    Example:
      parge align today.parquet yesterday.vec -o today-aligned.parquet
    """
    read = [*embedding_inputs(source), *embedding_inputs(reference)]
    check_outputs(embedding_outputs(out), read, overwrite=overwrite)
    vectors = Embedding.load(source)
    check_ids(out, vectors.ids, overwrite=overwrite)
    aligned, alignment = align(vectors, Embedding.load(reference))
    aligned.save(out)
    show.show_score(alignment, as_json=as_json)

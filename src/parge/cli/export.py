"""``parge export``: vectors for other tools."""

from pathlib import Path

import click

from parge.cli import show
from parge.cli.options import OutName, PathName, overwrite_option, say_idle
from parge.embedding import Embedding
from parge.io.embeddings.common import Vectors
from parge.io.embeddings.files import embedding_inputs
from parge.io.exports.common import DTYPES, METRICS, Export
from parge.io.exports.files import check_export, check_ids, export
from parge.io.places import given_name
from parge.text import count


@click.command("export")
@click.argument("embedding", type=PathName(path_type=Path))
@click.option("-o", "--out", required=True, type=OutName(path_type=Path), metavar="OUT", help="Output file or folder.")
@click.option(
    "--dtype",
    type=click.Choice(list(DTYPES)),
    default="float32",
    show_default=True,
    help="Type of the numbers; float16 takes half of the space and keeps three digits.",
)
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    default="cosine",
    show_default=True,
    help="How an index compares: by the cosine, or by the inner product.",
)
@overwrite_option
def command(embedding: Path, out: Path, dtype: str, metric: str, overwrite: bool) -> None:
    """Write EMBEDDING in the format of another tool; the suffix of OUT names it.

    .npy, .npz, .parquet; .safetensors, .faiss, .usearch (pip install 'parge[vectors]'); the folders .lance
    ('parge[lance]') and .hf, a data set for Hugging Face ('parge[remote]').

    \b
    Examples:
      parge export vectors.parquet -o vectors.faiss
      parge export vectors.parquet -o half.safetensors --dtype float16
    """
    kind = check_export(out, embedding_inputs(embedding), overwrite=overwrite)
    if not kind.has_index:
        say_idle(("metric",), f"for {out.suffix}")
    loaded = Embedding.load(embedding)
    check_ids(out, loaded.ids, overwrite=overwrite)
    table = Vectors(loaded.vectors, loaded.ids, loaded.report, loaded.head, loaded.degrees)
    export(table, out, Export(dtype, metric))
    show.err.print(f"{count(len(loaded), 'vector')} of {count(loaded.dim, 'number')}: {given_name(out)}")

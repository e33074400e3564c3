"""``parge export``: vectors for other tools."""

from pathlib import Path

import click

from parge.cli import show
from parge.cli.options import FILE, OUT, choice_option, json_option, overwrite_option, say_idle
from parge.embedding import Embedding
from parge.io.embeddings.common import Vectors
from parge.io.embeddings.files import embedding_inputs
from parge.io.exports.common import DTYPES, METRICS, Export
from parge.io.exports.files import check_export, check_ids, export, queries_path
from parge.io.places import given_name
from parge.show.text import count
from parge.space.neighbors import TASKS


@click.command("export")
@click.argument("embedding", type=FILE)
@click.option("-o", "--out", required=True, type=OUT, metavar="OUT", help="Output file or folder.")
@choice_option(
    "--dtype",
    values=DTYPES,
    default="float32",
    help="Type of the numbers; float16 takes half of the space and keeps three digits.",
)
@choice_option("--metric", values=METRICS, help="How an index compares: by the cosine, or by the inner product.")
@choice_option(
    "--for",
    "task",
    values=TASKS,
    help="links: two matrices whose inner products score links. OUT has the rows to search; "
    "NAME.queries.parquet next to it has the rows that ask.",
)
@overwrite_option
@json_option
def command(embedding: Path, out: Path, dtype: str, metric: str, task: str, overwrite: bool, as_json: bool) -> None:
    """Write EMBEDDING in the format of another tool; the suffix of OUT names it.

    .npy, .npz, .parquet; .safetensors, .faiss, .usearch (pip install 'parge[vectors]'); the folders .lance
    ('parge[lance]') and .hf, a data set for Hugging Face ('parge[remote]').

    \b
    Examples:
      parge export vectors.parquet -o vectors.faiss
      parge export vectors.parquet -o half.safetensors --dtype float16
      parge export vectors.parquet -o links.faiss --for links
    """
    for_links = task != TASKS[0]
    kind = check_export(out, embedding_inputs(embedding), overwrite=overwrite, for_links=for_links)
    if not kind.has_index:
        say_idle(("metric",), f"for {out.suffix}")
    elif for_links:
        say_idle(("metric",), "with --for links: links are scored by the inner product")
    loaded = Embedding.load(embedding)
    check_ids(out, loaded.ids, overwrite=overwrite)
    queries = None
    if for_links:
        queries, dim = queries_path(out), _export_links(loaded, out, dtype)
    else:
        dim = loaded.dim
        table = Vectors(loaded.vectors, loaded.ids, loaded.report, loaded.head, loaded.degrees)
        export(table, out, Export(dtype, metric))
    if as_json:
        names = {"out": given_name(out), "queries": None if queries is None else str(queries)}
        show.print_json({"vectors": len(loaded), "dim": dim, **names})
        return
    also = "" if queries is None else f"; rows that ask: {queries}"
    show.done(f"{count(len(loaded), 'vector')} of {count(dim, 'number')}: {given_name(out)}{also}")


def _export_links(embedding: Embedding, out: Path, dtype: str) -> int:
    """Write the rows to search and those that ask, without the head and degrees, which are in them; return the dim."""
    asking, searched = embedding.link_vectors()
    for rows, path in ((asking, queries_path(out)), (searched, out)):
        export(Vectors(rows, embedding.ids), path, Export(dtype, "ip"))
    return int(searched.shape[1])

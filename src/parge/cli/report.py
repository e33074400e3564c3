"""``parge report``: one HTML page about a run, to look at, keep and pass on."""

import json
from pathlib import Path
from typing import Any

import click

from parge.budget import refuse_over_budget
from parge.cli import show
from parge.cli.labels import label_options, take_labels
from parge.cli.options import PathName, overwrite_option
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.classification import classify
from parge.io.embeddings.files import embedding_inputs
from parge.io.outputs import Output, check_outputs
from parge.report.page import check_page, is_page, write_report
from parge.report.projection import check_projection
from parge.run.folder import RunFolder

# What a byte of JSON takes as values of Python, at most: "[]," is a list of 56 bytes and its place.
_JSON_BYTES = 30


@click.command("report")
@click.argument("folder", type=PathName(path_type=Path, exists=True, file_okay=False), metavar="RUN")
@click.option("-o", "--out", required=True, type=PathName(path_type=Path), metavar="FILE.html", help="The page.")
@click.option("--labels", type=PathName(path_type=Path), metavar="FILE", help="Colour a picture by these labels.")
@click.option(
    "--embedding",
    type=PathName(path_type=Path),
    metavar="OUT",
    help="What came of the run; drawn where it was refined, and scored where there are labels.",
)
@click.option(
    "--scores",
    "files",
    type=PathName(path_type=Path),
    multiple=True,
    metavar="FILE.json",
    help="What `parge evaluate ... --json` printed; may be given several times.",
)
@click.option("--title", default="", help="What the graph is called.")
@click.option(
    "--projection",
    type=click.Choice(["pca", "umap"]),
    default="pca",
    show_default=True,
    help="umap: its picture, too, where umap-learn is installed.",
)
@label_options
@overwrite_option
def command(
    folder: Path,
    out: Path,
    labels: Path | None,
    embedding: Path | None,
    files: tuple[Path, ...],
    title: str,
    projection: str,
    overwrite: bool,
    **options: Any,
) -> None:
    """Write one HTML page about the run in RUN, whose subgraphs are all embedded.

    The page needs no network: sizes against capacities, lost edges, time and memory against projection,
    residuals, and a map of the embedding before and after reconciling.

    \b
    Examples:
      parge embed edges.txt -o vectors.npy --parts 8 --run-dir run
      parge report run -o report.html
      parge report run -o report.html --labels labels.txt --embedding vectors.npy
    """
    check_page(out)
    check_projection(projection)
    RunFolder(folder).check_planned()
    named = [*files, *([] if labels is None else [labels]), *([] if embedding is None else embedding_inputs(embedding))]
    check_outputs([Output(out, is_page)], named, run=folder, overwrite=overwrite)
    vectors = None if embedding is None else Embedding.load(embedding)
    known = None if labels is None else take_labels(labels, options, None if vectors is None else vectors.ids)
    scores = {file.stem: _read_score(file) for file in files}
    if known is not None and vectors is not None:
        found = classify(vectors, known)
        show.say(found.notices, style="dim", label="notice")
        scores = {"labels from vectors": found, **scores}
    write_report(folder, out, known, scores, title=title, embedding=vectors, projection=projection)
    show.out.print(f"report: {out}")


def _read_score(path: Path) -> Any:
    """Return the JSON object in a file."""
    try:
        refuse_over_budget(_JSON_BYTES * path.stat().st_size, f"{path} is a file of {path.stat().st_size:,} bytes")
        score = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path} was to be read as a score; there is no such file") from None
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} was to hold what `parge evaluate ... --json` prints: {error}") from None
    if not isinstance(score, dict):
        raise InputError(f"{path} was to hold one JSON object; it holds {type(score).__name__}")
    return score

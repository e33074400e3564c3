"""``parge report``: one HTML page about a run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.labels import label_options, take_labels
from parge.cli.options import FILE, FOLDER, LOCAL, OUT, choice_option, json_option, overwrite_option
from parge.embedding import Embedding
from parge.errors import InputError, plain_reason
from parge.events import Step
from parge.io.embeddings.files import embedding_inputs
from parge.io.outputs import Output, check_outputs
from parge.io.places import given_name
from parge.memory import refuse_over_budget
from parge.numbers import is_real
from parge.report.page import check_page, is_page, write_report
from parge.report.projection import PROJECTIONS, check_projection
from parge.report.quality import judge
from parge.run.folder import RunFolder
from parge.run.spaces import space_history
from parge.show.text import on_one_line, pasteable

# What a byte of JSON takes as values of Python, at most: "[]," is a list of 56 bytes and its place.
_JSON_BYTES = 30

# Scores have some ten values, those of a curve some hundred, in objects within objects: an own limit, since a page with
# more is of no use.
_MOST_VALUES, _DEEPEST = 1000, 4

_KINDS = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false", type(None): "null"}


@click.command("report")
@click.argument("folder", type=FOLDER, metavar="RUN")
@click.option("-o", "--out", required=True, type=OUT, metavar="FILE.html", help="Output file.")
@click.option("--labels", type=FILE, metavar="FILE", help="Add a picture coloured by these labels.")
@click.option(
    "--embedding",
    type=FILE,
    metavar="OUT",
    help="The vectors that the run wrote: also drawn if they were refined, and scored if there are labels.",
)
@click.option(
    "--whole",
    type=FILE,
    metavar="OUT",
    help="Vectors of the whole graph on one worker (`parge embed --parts 1`): the page compares --embedding with them.",
)
@click.option(
    "--scores",
    "files",
    type=LOCAL,
    multiple=True,
    metavar="FILE.json",
    help="Output of `parge evaluate ... --json`; may be repeated.",
)
@click.option(
    "--space",
    type=LOCAL,
    metavar="SPACE",
    help="The space of the run, or one updated from it: show its drift after updates.",
)
@click.option("--title", default="", help="Name of the graph.")
@choice_option(
    "--projection",
    values=PROJECTIONS,
    help="How vectors are drawn. tsne, umap: neighbours stay together (umap needs umap-learn). pca: at once.",
)
@label_options
@overwrite_option
@json_option
def command(
    folder: Path,
    out: Path,
    labels: Path | None,
    embedding: Path | None,
    whole: Path | None,
    files: tuple[Path, ...],
    space: Path | None,
    title: str,
    projection: str,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write one HTML page about the run in RUN. All its subgraphs must be embedded.

    The page shows sizes and capacities, lost edges, time, projected and measured memory, and how well the anchors
    agree. A map shows the embedding before and after alignment. It needs no network.

    \b
    Examples:
      parge embed edges.txt -o vectors.npy --parts 8 --run-dir run
      parge report run -o report.html
      parge report run -o r.html --labels labels.txt --embedding vectors.npy
    """
    check_page(out)
    check_projection(projection)
    RunFolder(folder).check_planned()
    if whole is not None and embedding is None:
        raise InputError("--whole is compared with the vectors of the run: give them with --embedding")
    vector_files = [file for name in (embedding, whole) if name is not None for file in embedding_inputs(name)]
    named = [*files, *([] if labels is None else [labels]), *vector_files]
    fresh = [space] if space is not None and not space_history(space).looks else []
    check_outputs([Output(out, is_page)], named, run=folder, overwrite=overwrite)
    vectors, reference = (None if name is None else Embedding.load(name) for name in (embedding, whole))
    known = None if labels is None else take_labels(labels, options, None if vectors is None else vectors.ids)
    scores = {file.stem: _read_score(file) for file in files}
    with show.run_progress() as listener:
        quality = None
        if vectors is not None:
            listener(Step("evaluate", "scoring the vectors"))
            quality = judge(vectors, known, reference)
        listener(Step("report", given_name(out)))
        write_report(
            folder,
            out,
            known,
            scores,
            title=title,
            embedding=vectors,
            quality=quality,
            projection=projection,
            space=space,
            on_step=lambda text: listener(Step("report", text)),
        )
    show.notices(() if quality is None or quality.score is None else quality.score.notices)
    show.notices(
        f"no update of {on_one_line(name)} looked at its drift yet, so the page has none. To look now: "
        f"{pasteable('parge', 'drift', given_name(name))}"
        for name in fresh
    )
    if as_json:
        show.print_json({"report": given_name(out)})
        return
    show.out.print(f"report: {given_name(out)}\nNext: open it in a browser; it needs no network.", soft_wrap=True)


def _read_score(path: Path) -> Any:
    """Return the JSON object in a file, which must be made as scores are."""
    wanted = "the output of `parge evaluate ... --json`"
    try:
        refuse_over_budget(_JSON_BYTES * path.stat().st_size, f"{path} is a file of {path.stat().st_size:,} bytes")
        score = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"Cannot read the score {path}: there is no such file.") from None
    except InputError:
        raise
    except UnicodeDecodeError:
        raise InputError(f"{path} is not {wanted}: it is not UTF-8 text") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not {wanted}: {plain_reason(error)}") from None
    if not isinstance(score, dict):
        raise InputError(f"{path} must hold one JSON object, {wanted}; it holds {_KINDS[type(score)]}")
    values = list(_values(path, score))
    if not any(map(is_real, values)):
        raise InputError(f"{path} is not {wanted}: it has no number")
    if len(values) > _MOST_VALUES:
        raise InputError(
            f"{path} is not {wanted}: at most {_MOST_VALUES} values were expected; it holds {len(values):,}"
        )
    return score


def _values(path: Path, value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the numbers and words of a score; lists are those of curves, so of objects."""
    if depth > _DEEPEST:
        raise InputError(f"{path} is not a score: its values are nested more than {_DEEPEST} deep")
    if isinstance(value, dict):
        for inner in value.values():
            yield from _values(path, inner, depth + 1)
    elif isinstance(value, list):
        if not all(isinstance(inner, dict) for inner in value):
            raise InputError(f"{path} is not a score: a list in it holds other things than objects")
        for inner in value:
            yield from _values(path, inner, depth + 1)
    else:
        yield value

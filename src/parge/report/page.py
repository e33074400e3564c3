"""One self-contained HTML page about a run."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any
from zlib import crc32

import parge
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.labels import Labels
from parge.events import OnStep, ignore_step
from parge.io.marks import is_marked, shown
from parge.io.outputs import check_place, replacing
from parge.io.places import is_url, local_name, shown_name
from parge.report.collect import Findings, collect, collect_embedding
from parge.report.maps import map_data
from parge.report.projection import check_projection
from parge.report.quality import Quality, judge
from parge.report.sections import heading, lead, sections
from parge.report.verdict import verdict
from parge.result import Report
from parge.run.open_run import open_planned
from parge.run.run import Run
from parge.show.markup import Markup, joined, tag

# The line of a page that says which program wrote it, with a checksum of all other lines; and lines of the head.
_GENERATOR = '<meta name="generator" content="parge '
_HEAD_LINES = 9


def write_report(
    run: Run | str | PathLike[str],
    path: str | PathLike[str],
    labels: Labels | Mapping[Any, Any] | str | PathLike[str] | None = None,
    scores: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    embedding: Embedding | None = None,
    report: Report | Mapping[str, Any] | None = None,
    projection: str = "tsne",
    whole: Embedding | None = None,
    quality: Quality | None = None,
    space: str | PathLike[str] | None = None,
    on_step: OnStep = ignore_step,
) -> Path:
    """Write a page about a run whose subgraphs are all embedded; return its path.

    The page is one file that needs no network and no other file. Only the vectors of a few thousand sampled vertices
    (always the same ones) and of the anchors are read.

    Parameters
    ----------
    run : Run or path
        An open run, or the folder of one.
    path : path
        The output file.
    labels : Labels, mapping of id to label(s), or path, optional
        Colours of an additional picture; if a vertex has several labels, the first is used.
    scores : mapping, optional
        Name to score: a result of `parge.evaluate`, or plain numbers by name.
    title : str
        Name of the graph.
    embedding : Embedding, optional
        The vectors that the run wrote: also drawn if a final pass changed them; their report has the times.
    report : Report, or its JSON, optional
        The run in numbers, as `parge embed --json` prints them; by default from the run folder.
    projection : str
        How vectors are drawn. ``tsne``: neighbours stay together; ``umap``: the same by UMAP (needs umap-learn). Both
        with the principal components as a second picture. ``pca``: these alone, at once.
    whole : Embedding, optional
        The same graph embedded by one worker: the page compares `embedding` with it.
    quality : Quality, optional
        What `parge.report.quality.judge` found; by default it is computed here if `embedding` is given.
    space : path, optional
        The space of the run, or one that was updated from it: the page shows its drift after each update that
        looked at it.
    on_step : callable
        Called with each step that takes seconds.

    Examples
    --------
    ``parge report run -o report.html --labels labels.txt --embedding vectors.npy --whole whole.npy`` is
    ``write_report("run", "report.html", "labels.txt", embedding=Embedding.load("vectors.npy"), whole=...)``.
    """
    target = check_page(path)
    check_projection(projection)
    known = None if labels is None else Labels.of(labels, None if embedding is None else embedding.ids)
    if whole is not None and embedding is None:
        raise InputError("to compare with the whole graph, the vectors of the run are needed: give `embedding`, too")
    if quality is None and embedding is not None:
        quality = judge(embedding, known, whole)
    with _opened(run) as opened:
        findings = collect(
            opened,
            title=title,
            labels=known,
            scores=scores,
            embedding=embedding,
            report=None if report is None else Report.of(report),
            projection=projection,
            quality=quality,
            space=space,
            on_step=on_step,
        )
    return _write(findings, target)


def write_page(
    embedding: Embedding,
    path: str | PathLike[str],
    labels: Labels | Mapping[Any, Any] | str | PathLike[str] | None = None,
    scores: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    projection: str = "tsne",
    whole: Embedding | None = None,
) -> Path:
    """Write a page about an embedding alone, of parge or of another tool; return its path.

    It has the map of the vectors, and what the embedding's report says. What only a run folder knows is left out: the
    edges between parts, and the map before alignment (`write_report` has them).
    """
    target = check_page(path)
    check_projection(projection)
    if not len(embedding):
        raise InputError("the embedding has no vector. A page needs at least one.")
    known = None if labels is None else Labels.of(labels, embedding.ids)
    quality = judge(embedding, known, whole)
    found = collect_embedding(
        embedding, title=title, labels=known, scores=scores, projection=projection, quality=quality
    )
    return _write(found, target)


def _write(findings: Findings, target: Path) -> Path:
    with replacing(target) as file:
        file.write(render(findings).encode())
    return target


def check_page(path: str | PathLike[str]) -> Path:
    """Return the path if a page can be written there; called before any work."""
    if is_url(path):
        raise InputError(f"expected a file on this machine; got the URL {shown_name(path)}")
    target = Path(local_name(path))
    if target.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"the name of a report must end in .html; got {target}")
    check_place(target)
    return target


def is_page(path: Path) -> bool:
    """Return whether a file is a page that `write_report` wrote, and was not changed since."""
    return is_marked(path, _GENERATOR, within=_HEAD_LINES)


@contextmanager
def _opened(run: Run | str | PathLike[str]) -> Iterator[Run]:
    if isinstance(run, Run):
        yield run
        return
    with open_planned(Path(run)) as opened:
        yield opened


def render(findings: Findings) -> str:
    """Return the page as text; equal findings give equal text."""
    style, script = _asset("page.css"), _asset("page.js")
    parts = sections(findings)
    words = {
        "policy": policy(style, script),
        "version": joined([parge.__version__]),
        "title": joined([f"{heading(findings)} - parge report"]),
        "heading": joined([heading(findings)]),
        "verdict": joined([verdict(findings)]),
        "lead": lead(findings),
        "nav": joined(tag("a", section.nav, href=f"#{section.id}") for section in parts),
        "main": joined((section.markup() for section in parts), "\n"),
        "style": style,
        "script": script,
        "data": as_script_data(map_data(findings.atlas)),
    }
    halves = [
        Template(half).substitute(words).encode("utf-8", "replace").decode()
        for half in _asset("page.html").split("$generator\n")
    ]
    version = f"{words['version']} {shown(crc32(''.join(halves).encode()))}"
    return f'{_GENERATOR}{version}">\n'.join(halves)


def policy(style: str, script: str) -> str:
    """Return the content security policy of the page: our style, our script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def as_script_data(value: Any) -> Markup:
    r"""Return JSON that is safe in a script element: no name in it can end the element or open another.

    >>> as_script_data(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _asset(name: str) -> str:
    return resources.files("parge.report").joinpath(name).read_text(encoding="utf-8")

"""The sections of a report: what each shows, and what it means."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from statistics import fmean
from typing import Any

from parge.memory import format_bytes
from parge.report import pictures, tables
from parge.report.bars import Stretch, bar, key
from parge.report.collect import Findings
from parge.report.maps import controls, legends, panels, watch_panel
from parge.report.quality import Comparison
from parge.show.markup import Markup, joined, named, tag
from parge.show.text import count
from parge.space.aging import advised
from parge.values import known


@dataclass(frozen=True)
class Section:
    """A heading, what it means, and what there is to see."""

    id: str
    nav: str
    heading: str
    intro: Any
    body: Any

    def markup(self) -> Markup:
        """Return the section as HTML."""
        title = tag("h2", self.heading, id=f"{self.id}-heading")
        intro = None if self.intro is None else tag("p", self.intro, class_="words")
        return tag("section", title, intro, self.body, id=self.id, aria_labelledby=f"{self.id}-heading")


def sections(findings: Findings) -> list[Section]:
    """Return the sections that apply to this run."""
    makers: list[tuple[bool, Callable[[Findings], Section]]] = [
        (findings.report.is_measured, _glance),
        (True, _map),
        (_is_scored(findings), _scores),
        (len(findings.parts) > 1, _decomposition),
        (findings.report.is_measured, _workers),
        (findings.rotates and bool(findings.residuals), _reconciling),
        (bool(findings.ages), _aging),
        (bool(findings.report.plan), _plan),
    ]
    return [make(findings) for wanted, make in makers if wanted]


def _is_scored(findings: Findings) -> bool:
    return bool(findings.scores) or findings.quality.score is not None or findings.quality.whole is not None


def heading(findings: Findings) -> str:
    """Return the title of the page."""
    n_parts = len(findings.parts)
    if not n_parts:
        return f"{findings.title or 'Vectors'}, embedded elsewhere"
    how = f"embedded in {n_parts} parts" if n_parts > 1 else "embedded as a whole"
    return f"{findings.title or 'A graph'}, {how}"


def lead(findings: Findings) -> Markup:
    """Return the run in one line."""
    report = findings.report
    plan = report.plan
    said: list[str | None] = [
        f"{count(findings.vertices, 'vertex')}" + ("" if report.edges is None else f", {count(report.edges, 'edge')}"),
        joined([named(findings.technique["name"]), f" in {count(findings.dim, 'dimension')}"]),
    ]
    if len(findings.parts) > 1:
        said.append(f"anchors {plan.anchor_strategy}" if plan.anchor_strategy else None)
        said.append(f"parts by {plan.partitioner}" if plan.partitioner else None)
        said.append(f"reconciled by {report.reconcile.reconciler}")
    said.append(f"seed {plan.seed}" if plan.seed is not None else None)
    return joined((item for item in said if item is not None), " · ")


def _glance(findings: Findings) -> Section:
    report, parts, residuals = findings.report, findings.parts, findings.residuals
    seconds, peaks = report.worker_seconds, report.worker_peaks
    slowest, peak = max(seconds), max(peaks)
    bound = parts[peaks.index(peak)].projected_bytes
    tiles = []
    if len(parts) > 1:
        tiles += [
            _tile(f"{len(parts)}", "parts", f"of at most {max(part.vertices for part in parts):,} vertices"),
            _tile(
                f"{report.lost_edges:.1%}", "edges lost", f"{findings.edges.lost:,}, between two parts, held by neither"
            ),
            _tile(
                f"{findings.anchors:,}",
                "anchors",
                f"{findings.anchors / max(1, findings.dim):.1f} times the {findings.dim} dimensions",
            ),
        ]
    if findings.rotates and residuals:
        before, after = fmean(found.before for found in residuals), fmean(found.after for found in residuals)
        tiles.append(_tile(f"{after:.0%}", "anchors off by", f"mean, after alignment; {before:.0%} before"))
    tiles += [
        _tile(
            pictures.seconds_text(slowest),
            "slowest worker" if len(parts) > 1 else "time to embed",
            f"{slowest / max(fmean(seconds), 1e-9):.2f} times the mean" if len(parts) > 1 else "of the one worker",
        ),
        _tile(
            format_bytes(peak),
            "most memory",
            f"of a worker; the bound was {format_bytes(bound)}" if bound else "of a worker, measured",
        ),
    ]
    notes = [tag("li", tag("b", "warning "), text, class_="warning") for text in report.warnings]
    notes += [tag("li", tag("b", "retried "), text) for text in report.retries]
    notes += [tag("li", tag("b", "notice "), text) for text in report.notices]
    body = joined([tag("dl", *tiles, class_="tiles"), tag("ul", *notes, class_="notes") if notes else None])
    return Section("glance", "At a glance", "At a glance", None, body)


def _tile(number: str, name: str, intro: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", number), tag("dd", intro, class_="words"))


_HOW_TO_LOOK = (
    "Point at a dot for its name; click it for its nearest neighbours. With the keyboard: arrow keys, then Enter."
)


def _map(findings: Findings) -> Section:
    atlas = findings.atlas
    n_copies = int(atlas.sample.is_copy.sum())
    n_anchors = n_copies // max(1, len(findings.parts))
    few = f"{len(atlas.names):,} of {findings.vertices:,} vertices"
    if atlas.views[0].key == "together":
        title = "One space from the start"
        intro = (
            "All workers embed their subgraphs in one shared space, so no rotation is needed: the copies of an anchor "
            f"lie on each other. The pictures show {few}, always the same ones; {n_anchors} anchors are drawn as "
            "rings, one per subgraph. A few very distant vertices are drawn at the edge."
        )
    elif len(atlas.views) == 1:
        title, intro = "The embedding", f"The picture shows {few}. Vertices that are alike lie together."
    else:
        title = "Many spaces, then one"
        intro = (
            "Every worker embeds its subgraph alone, so each part has its own axes. Before alignment the parts lie "
            "apart, and an anchor, which is in every subgraph, has one position per subgraph. Alignment rotates the "
            "spaces until the copies of the anchors meet; all other vertices rotate with them. The pictures show "
            f"{few}, always the same ones; {n_anchors} anchors are drawn as rings, one per subgraph, and connected. "
            "A few very distant vertices are drawn at the edge."
        )
    output = tag("output", _HOW_TO_LOOK, id="named", aria_live="polite")
    body = joined(
        [
            controls(atlas),
            tag("div", panels(atlas), watch_panel(atlas), class_="maps", data_show="all"),
            output,
            tag("div", id="near", hidden=True, aria_live="polite"),
            legends(atlas),
            _mixing(findings),
            tag("noscript", tag("p", "Without scripts the pictures do not move; nothing else is missing.")),
        ]
    )
    return Section("map", "Map", title, intro, body)


def _mixing(findings: Findings) -> Markup | None:
    """Return how mixed the parts are in each view, in a sentence, with the share in the graph itself."""
    shares = [(view.title.lower(), view.same_part) for view in findings.atlas.views]
    if len(shares) < 2 or any(share is None for _, share in shares):
        return None
    said = ", ".join(f"{share:.0%} {title}" for title, share in shares)
    return tag(
        "p",
        f"Share of the 10 nearest sampled vertices that are in the same part: {said}. For comparison, "
        f"{findings.stay:.1%} of the edges between non-anchors stay in one part.",
        class_="words",
    )


_OR_HALO = " or in the halo of the other part (vertices of other parts that its worker also holds)"


def _decomposition(findings: Findings) -> Section:
    intro = (
        "Every vertex is in one part; anchors are in every subgraph. An edge between two parts is lost unless one "
        f"of its ends is an anchor{_OR_HALO if findings.edges.in_halos else ''}. Alignment cannot restore lost edges."
    )
    anchors = [tag("h3", "Anchors and dimensions"), pictures.anchors(findings)] if findings.rotates else []
    where = [tag("h3", "Where the edges are"), pictures.edges(findings), *anchors]
    body = [
        tag("div", tag("h3", "Sizes and capacities"), pictures.sizes(findings), class_="card broad"),
        _between(findings),
        tag("div", *where, class_="card"),
    ]
    return Section("decomposition", "Decomposition", "What each worker holds", intro, tag("div", *body, class_="cards"))


def _between(findings: Findings) -> Markup | None:
    """Return the edges between parts; an embedding alone does not say where they are."""
    if not findings.cut.size:
        return None
    return tag("div", tag("h3", "Edges between parts"), pictures.cut_matrix(findings), class_="card")


# A folder does not say which engine ran it, so this is said of all.
_SERIAL = " (With the engine serial the peak is that of the whole process, and may exceed the bound.)"


def _workers(findings: Findings) -> Section:
    intro = f"Memory was projected before any worker started; the measured peak should stay left of the bound.{_SERIAL}"
    if len(findings.parts) > 1:
        intro += " The others wait for the slowest worker."
    body = [tag("div", pictures.workers(findings), class_="card broad")]
    body.append(tag("div", tag("h3", "Where the time went"), _stages(findings), class_="card broad"))
    title = "Time and memory of the workers" if len(findings.parts) > 1 else "Time and memory"
    return Section("workers", "Workers", title, intro, tag("div", *body, class_="cards"))


_STAGE_KINDS = {"decompose": "stage1", "prepare": "stage4", "embed": "time", "reconcile": "stage2", "refine": "stage3"}


def _stages(findings: Findings) -> Markup:
    """Return the wall time of each stage, and the total that the run reports everywhere."""
    seconds, text = findings.report.seconds, pictures.seconds_text
    total = known(seconds.total, "how long the run took")
    shown = [(_STAGE_KINDS[stage], f"{stage} {text(took)}", took) for stage, took in seconds.stages()]
    slowest = max(findings.report.worker_seconds)
    intro = f"{text(total)} of wall time in total, without reading the graph and writing the vectors."
    if len(findings.parts) > 1:
        intro += f" With one machine per subgraph, embedding takes as long as the slowest worker: {text(slowest)}."
    drawn = bar(total, [Stretch(took, kind, said) for kind, said, took in shown])
    return joined([tag("div", drawn, class_="wide"), key(*((kind, said) for kind, said, _ in shown)), tag("p", intro)])


def _reconciling(findings: Findings) -> Section:
    intro = (
        "How far the anchors of each subgraph are from the mean of the other subgraphs: 0 % means identical, about "
        "141 % unrelated. Held-out anchors were not used for the alignment: they show what to expect for all other "
        "vertices. If they are much worse, use more anchors."
    )
    body = tag("div", pictures.residuals(findings), class_="card broad")
    return Section("reconciling", "Alignment", "How well the spaces agree", intro, tag("div", body, class_="cards"))


def _aging(findings: Findings) -> Section:
    last = findings.ages[-1]
    intro = (
        "How much the frozen space had lost compared with a fresh embedding, as parge drift estimates it, after each "
        "update that measured it. 0: nothing. 1: no better than unrelated vectors. "
        f"The last update that measured it made version {last.version}: {advised(last.drift)}."
    )
    body = tag("div", pictures.ages(findings), class_="card broad")
    return Section("drift", "Drift", "How old the space is", intro, tag("div", body, class_="cards"))


def _scores(findings: Findings) -> Section:
    quality, body = findings.quality, []
    if quality.whole is not None:
        title = tag("h3", "Parts against the whole graph")
        intro = tag("p", _agreement(quality.whole))
        body.append(tag("div", title, tables.against_whole(findings), intro, class_="card broad"))
    if quality.score is not None:
        title = tag("h3", "Labels predicted from vectors")
        intro = tag("p", f"{quality.score}. 1 is perfect.")
        body.append(tag("div", title, tables.by_label(findings), intro, class_="card broad"))
    if findings.scores:
        body.append(tag("div", tag("h3", "Scores"), tables.scores(findings), class_="card broad"))
    return Section("scores", "Quality", "Quality of the vectors", None, tag("div", *body, class_="cards"))


def _agreement(whole: Comparison) -> str:
    """Return how far neighbours agree, and the inner products where they can be compared."""
    intro = (
        f"Of the 10 nearest neighbours of a vertex, {whole.neighbours:.0%} are the same in both (among sampled "
        "vertices). Two seeds of the whole graph would not agree fully, either."
    )
    if whole.pip is None or not isfinite(whole.pip):
        return intro
    return f"{intro} Inner products differ by {whole.pip:.0%} (relative PIP distance; 0 % is identical)."


def _plan(findings: Findings) -> Section:
    body = [
        tag("div", tag("h3", "Plan"), tables.plan(findings), class_="card"),
        tag("div", tag("h3", "Versions"), tables.versions(findings), class_="card") if findings.versions else None,
    ]
    intro = "The same graph, plan and seed give the same vectors on machines of the same kind."
    return Section("plan", "Plan", "How to repeat it", intro, tag("div", *body, class_="cards"))

"""The tables of a report: the plan, the scores, the versions."""

from collections.abc import Mapping, Sequence
from typing import Any

from parge.memory import format_bytes
from parge.report.bars import Column, Mark, Stretch, bar, table
from parge.report.collect import Findings
from parge.report.pictures import seconds_text
from parge.show.markup import Markup, named
from parge.values import known


def plan(findings: Findings) -> Markup:
    """Return all settings of the run; with them it can be repeated."""
    rows = [("technique", findings.technique["name"])]
    rows += [(f"technique: {name}", value) for name, value in findings.technique["settings"].items()]
    rows += [(name.replace("_", " "), value) for name, value in findings.report.plan.items() if value is not None]
    return _pairs(rows, caption="The plan")


def versions(findings: Findings) -> Markup:
    """Return the software that computed the vectors; several columns if workers differed."""
    names = list(dict.fromkeys(name for version in findings.versions for name in version))
    several = len(findings.versions) > 1
    heads = [Column("software", "text")]
    heads += [
        Column(f"workers of kind {i + 1}" if several else "version", "text") for i in range(len(findings.versions))
    ]
    rows = [[name, *(version.get(name, "-") for version in findings.versions)] for name in names]
    return table(heads, rows, caption="Software that computed the vectors")


def scores(findings: Findings) -> Markup:
    """Return one row per score, one column per measure, and bars of the first measure if it is a share."""
    flat = {name: dict(measures(score)) for name, score in findings.scores.items()}
    columns = list(dict.fromkeys(measure for found in flat.values() for measure in found))
    rows = [[named(name), *(found.get(column, "-") for column in columns)] for name, found in flat.items()]
    heads = [Column("", "text"), *(Column(column) for column in columns)]
    shares = [_share(found.get(columns[0])) for found in flat.values()] if columns else []
    if len(shares) > 1 and None not in shares:
        heads.insert(1, Column(columns[0], "bar", "1"))
        for row, share in zip(rows, shares, strict=True):
            row.insert(1, bar(1.0, [Stretch(float(share or 0), "own", f"{columns[0]} {share}")]))
    return table(heads, rows, caption="Scores")


# This many labels have a row of their own: those that most vertices carry.
_MOST_LABELS = 24


def against_whole(findings: Findings) -> Markup:
    """Return the parts and the whole graph, each with its score, and memory and time where both are known."""
    quality, whole = findings.quality, findings.quality.whole
    rows = [[f"{len(findings.parts)} parts"], ["whole graph"]]
    columns = [Column("", "text")]
    if whole is not None and quality.score is not None and whole.score is not None:
        columns += [Column("micro-F1"), Column("macro-F1")]
        for row, score in zip(rows, (quality.score, whole.score), strict=True):
            row += [str(score.micro_f1), str(score.macro_f1)]
    if whole is not None and whole.report is not None:
        columns += [Column("largest worker"), Column("slowest worker"), Column("in total")]
        for row, report in zip(rows, (findings.report, whole.report), strict=True):
            row += [format_bytes(max(report.worker_peaks)), seconds_text(max(report.worker_seconds))]
            row.append(seconds_text(known(report.seconds.total, "how long the run took")))
    return table(columns, rows, caption="The parts and the whole graph") if len(columns) > 1 else Markup("")


def by_label(findings: Findings) -> Markup:
    """Return F1 of each label, most frequent first, that of the whole graph next to it."""
    quality = findings.quality
    mine = {} if quality.score is None else quality.score.by_label
    other = None if quality.whole is None or quality.whole.score is None else quality.whole.score.by_label
    ranked = sorted(mine, key=lambda label: -quality.carriers.get(label, 0))
    columns = [Column("label", "text"), Column("F1", "bar", "1"), Column("F1"), Column("vertices")]
    columns += [] if other is None else [Column("whole graph")]
    rows = [
        [
            named(str(label)),
            bar(1.0, [Stretch(mine[label], "own", f"F1 {mine[label]:.3f}")], _whole_mark(other, label)),
            f"{mine[label]:.3f}",
            f"{quality.carriers.get(label, 0):,}",
            *([] if other is None else [f"{other[label]:.3f}"]),
        ]
        for label in ranked[:_MOST_LABELS]
    ]
    few = "" if len(ranked) <= _MOST_LABELS else f", the {_MOST_LABELS} most frequent of {len(ranked):,}"
    return table(columns, rows, caption=f"F1 of each label{few}")


def _whole_mark(other: Mapping[Any, float] | None, label: Any) -> list[Mark]:
    return [] if other is None else [Mark(other[label], "limit", f"whole graph {other[label]:.3f}")]


def _share(text: str | None) -> float | None:
    """Return a measure as a number if it is in 0..1."""
    try:
        value = float((text or "").split(" ")[0])
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def measures(score: Any) -> list[tuple[str, str]]:
    """Return the measures of a score as pairs of name and text, with nested names joined.

    >>> measures({"micro_f1": {"mean": 0.25, "sd": 0.01}, "repeats": 10})
    [('micro-F1', '0.2500 ± 0.0100'), ('repeats', '10')]
    """
    plain = score.to_json() if hasattr(score, "to_json") else score
    if not isinstance(plain, Mapping):
        return [("score", _number(plain))]
    found: list[tuple[str, str]] = []
    for name, value in plain.items():
        inner = value.to_json() if hasattr(value, "to_json") else value
        if isinstance(inner, Mapping) and set(inner) == {"mean", "sd"}:
            found.append((_words(name), f"{_number(inner['mean'])} ± {_number(inner['sd'])}"))
        elif isinstance(inner, Mapping):
            found += [(f"{_words(name)} {part}", text) for part, text in measures(inner)]
        else:
            found.append((_words(name), _number(inner)))
    return found


def _words(name: Any) -> str:
    text = str(name).replace("_", " ")
    return {"micro f1": "micro-F1", "macro f1": "macro-F1", "roc auc": "ROC-AUC", "pip": "PIP"}.get(text, text)


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 else f"{value:.4g}"
    return "-" if value is None else str(value)


def _pairs(rows: Sequence[tuple[str, Any]], *, caption: str) -> Markup:
    shown = [[name, _plain(value)] for name, value in rows]
    return table([Column("setting", "text"), Column("value", "text")], shown, caption=caption)


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)

"""What came of a run, in one sentence."""

from parge.decompose.decomposition import much_lost
from parge.memory import format_bytes
from parge.reconcile.reconciliation import hardly_met
from parge.report.collect import Findings
from parge.show.text import count


def verdict(findings: Findings) -> str:
    """Return the sentence at the top of the page: how much each worker held, and how good it is."""
    if not findings.report.is_measured:  # an embedding of another tool, or one read from a file
        return f"{count(findings.vertices, 'vector')} of {count(findings.dim, 'number')}{_scored(findings)}."
    peak = format_bytes(max(findings.report.worker_peaks))
    if len(findings.parts) == 1:
        return f"One worker embedded the whole graph with {peak} of memory{_scored(findings)}."
    return f"{len(findings.parts)} workers with at most {peak} each {_outcome(findings)}{_caution(findings)}."


def _scored(findings: Findings) -> str:
    score = findings.quality.score
    return "" if score is None else f"; labels are predicted with micro-F1 {score.micro_f1.mean:.3f}"


def _outcome(findings: Findings) -> str:
    quality = findings.quality
    if quality.score is None:
        if quality.whole is None:
            return _met(findings)
        return (
            f"embedded the graph; {quality.whole.neighbours:.0%} of nearest neighbours are those of the whole graph"
            f"{_of_whole(findings)}"
        )
    mine = f"{quality.score.micro_f1.mean:.3f}"
    if quality.whole is None or quality.whole.score is None or quality.kept is None:
        return f"embedded the graph, and labels are predicted with micro-F1 {mine}"
    return (
        f"reached {_share(quality.kept)} of the whole graph's score: micro-F1 {mine} against "
        f"{quality.whole.score.micro_f1.mean:.3f}{_of_whole(findings)}"
    )


def _met(findings: Findings) -> str:
    """Return whether the parts came into one space; a pass over the whole graph may have helped them afterwards."""
    if hardly_met(findings.report.reconcile.residuals) is None:
        return "embedded the graph into one space"
    return "embedded the graph, but the spaces of the parts hardly agree"


def _share(kept: float) -> str:
    """Return a share in percent, near all of it with a digit: 99.9% is not 100%."""
    return f"{kept:.1%}".replace(".0%", "%") if abs(kept - 1) < 0.01 else f"{kept:.0%}"


def _of_whole(findings: Findings) -> str:
    """Return what the whole graph took, where that is known."""
    whole = findings.quality.whole
    if whole is None or whole.report is None:
        return ""
    return f" with {format_bytes(max(whole.report.worker_peaks))} on one worker"


def _caution(findings: Findings) -> str:
    lost = findings.report.lost_edges or 0.0
    if findings.report.warnings:
        return "; read the warnings below"
    return f"; {lost:.0%} of the edges are in no part, more anchors would help" if much_lost(lost) else ""

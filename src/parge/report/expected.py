"""What parts are expected to cost beside the whole graph: no label is needed, runs with labels were measured before."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Seen(NamedTuple):
    """What runs lost of the centralised score, same pass on both sides: mean, spread over graphs and seeds, runs."""

    loss: float
    spread: float
    runs: int


# Technique -> how it was reconciled -> refined by the technique's own pass, and as it is. Printed by
# `python -m benchmarks.quality.calibrate` from the cells behind docs/quality.md, 8 and 16 parts.
MEASURED: dict[str, dict[str, tuple[Seen, Seen]]] = {
    "deepwalk": {"backbone": (Seen(-0.001, 0.006, 36), Seen(-0.022, 0.021, 36))},
    "node2vec": {"backbone": (Seen(-0.006, 0.004, 18), Seen(-0.017, 0.010, 18))},
    "line": {"rotation": (Seen(0.002, 0.007, 18), Seen(0.247, 0.126, 18))},
    "hope": {"rotation": (Seen(0.000, 0.003, 24), Seen(0.206, 0.244, 24))},
    "netmf": {"rotation": (Seen(0.001, 0.005, 18), Seen(0.142, 0.049, 18))},
    "prone": {"rotation": (Seen(0.002, 0.005, 25), Seen(0.250, 0.173, 25))},
    "sgc": {"rotation": (Seen(-0.008, 0.012, 27), Seen(0.013, 0.033, 27))},
    "closedform": {"backbone": (Seen(-0.003, 0.006, 18), Seen(-0.017, 0.037, 18))},
    "whitened": {"rotation": (Seen(0.005, 0.008, 9), Seen(0.522, 0.100, 9))},
    "any": {"rotation": (Seen(0.002, 0.006, 94), Seen(0.244, 0.193, 94))},
}

# The largest share of lost edges among those runs.
MOST_LOST = 0.279

_ANY = "any"


def expected_loss(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a run in parts is expected to have lost of the centralised score, in numbers and words.

    Parameters
    ----------
    report : mapping
        Of a run, with ``technique``, ``parts``, ``lost_edges``, ``reconcile`` and ``refine``.
    """
    if len(report["parts"]) < 2 or not MEASURED:
        return None
    how = "backbone" if report["reconcile"]["reconciler"] == "backbone" else "rotation"
    known = MEASURED.get(str(report["technique"]), {})
    rows = known.get(how) or MEASURED[_ANY]["rotation"]
    refined = report["refine"]["name"] != "none"
    seen = rows[0 if refined else 1]
    about = report["technique"] if known.get(how) else "techniques of all kinds"
    lost = float(report["lost_edges"])
    words = (
        f"expected: {_percent(seen.loss)} of the centralised score lost, ± {max(1, round(100 * seen.spread))} % "
        f"({'both refined' if refined else 'not refined'}; {seen.runs} runs of {about} in 8 and 16 parts)"
    )
    if lost > max(2 * MOST_LOST, 0.02):
        words += f"; {lost:.0%} of the edges are lost here, {MOST_LOST:.0%} at most were there: expect more"
    return {"loss": seen.loss, "error": seen.spread, "runs": seen.runs, "words": words}


def _percent(loss: float) -> str:
    """Return a loss in words.

    >>> _percent(0.031), _percent(0.002), _percent(-0.01)
    ('3 %', 'less than 1 %', 'nothing')
    """
    if loss <= 0:
        return "nothing"
    return "less than 1 %" if loss < 0.01 else f"{100 * loss:.0f} %"

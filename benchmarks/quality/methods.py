"""What is compared: techniques, ways to compute them in parts, and the pass that both sides get."""

from dataclasses import asdict, dataclass
from typing import Any

import parge
from parge.techniques.resolve import resolve

TECHNIQUES = ("deepwalk", "node2vec", "line", "hope", "netmf", "prone", "sgc", "closedform", "whitened")
TITLES = {
    "deepwalk": "DeepWalk",
    "node2vec": "node2vec",
    "line": "LINE",
    "hope": "HOPE",
    "netmf": "NetMF",
    "prone": "ProNE",
    "sgc": "SGC",
    "closedform": "closed form",
    "whitened": "whitened",
}

# Techniques whose best method is a backbone; of the others it is the rotation, or nothing where spaces agree.
AROUND_A_BACKBONE = ("deepwalk", "node2vec", "closedform")
# node2vec at p = q = 1 is DeepWalk, bit for bit.
SETTINGS: dict[str, dict[str, Any]] = {"node2vec": {"p": 0.5, "q": 2.0}}
# Capacities, which everything that a worker holds is counted against: what a tenth of the vertices as anchors takes of
# every worker, its share of the rest, and a twentieth of that, because no partitioner balances exactly.
ANCHOR_SHARE, SLACK = 0.10, 0.05
METHODS = ("centralised", "NoRecon", "paper", "rotation", "ours")


@dataclass(frozen=True)
class Settings:
    """All that decides a cell but its seed."""

    dim: int = 128
    repeats: int = 3
    holdout: float = 0.5

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def capacities(n_vertices: int, n_parts: int) -> list[int]:
    """Return what every worker may hold.

    >>> capacities(1000, 8)
    [219, 219, 219, 219, 219, 219, 219, 219]
    """
    return [int(n_vertices * (ANCHOR_SHARE + (1 - ANCHOR_SHARE) * (1 + SLACK) / n_parts)) + 1] * n_parts


def plan(
    method: str, technique: str, n_vertices: int, n_parts: int, seed: int, settings: Settings, **how: Any
) -> parge.Plan:
    """Return how a technique is computed by a method, without a refine pass."""
    limits = capacities(n_vertices, n_parts)
    rows: dict[str, dict[str, Any]] = {
        "centralised": {"parts": 1},
        "NoRecon": {"preset": "paper", "parts": n_parts, "reconcile": "none"},
        "paper": {"preset": "paper", "parts": n_parts},
        "rotation": {"capacities": limits, "reconcile": "consensus"},
        "ours": {"capacities": limits},
    }
    what = resolve(technique, {"dim": settings.dim, **SETTINGS.get(technique, {})})
    return parge.Plan(technique=what, seed=seed, refine="none", **rows[method], **{"engine": "serial", **how})


def is_ours(technique: str, method: str) -> bool:
    """Return whether a method is what `ours` does for this technique anyway."""
    return method == "rotation" and technique not in AROUND_A_BACKBONE and not resolve(technique).aligned

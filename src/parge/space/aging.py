"""The age of a space: how far it is from what a fresh embedding would be, without computing one."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from parge.space.fit import measure_fit
from parge.space.frozen import EMBEDDED, Age, Space

# What changed edges, those not taken into account, the residual and held-out edges add to the distance to a fresh
# embedding: fitted without negative factors to age curves of four generated graphs, 2 to 50 % new vertices in ten
# batches, placed or updated (`make bench-space ONLY=calibrate SEEDS=1`). The error of the calibration is the standard
# deviation of what is left.
EDGES, STALE, RESIDUAL, LINKS = 0.288, 0.178, 0.0, 0.316
CALIBRATION_ERROR = 0.018

# From the first on a fresh embedding is advised. On these curves spaces below it had lost at most 4.5 % of the micro-F1
# of all vertices, those above 1 to 40 %.
EMBED_AGAIN, WATCH = 0.15, 0.07


def advised(drift: float, error: float) -> str:
    """Return what to do about a space of that drift.

    >>> advised(0.01, 0.02), advised(0.1, 0.02), advised(0.2, 0.02)
    ('as fresh', 'use it, and watch it', 'embed again')
    """
    if drift >= EMBED_AGAIN:
        return "embed again"
    return "use it, and watch it" if drift + error >= WATCH else "as fresh"


@dataclass(frozen=True)
class Drift:
    """The distance of a space to a fresh embedding, and what it was estimated from.

    Parameters
    ----------
    drift : float
        0: as far apart as two fresh embeddings with different seeds. 1: unrelated. On a new space it is 0.
    error : float
        Standard error, that of the calibration included.
    placed : float
        Share of the vertices that were placed or moved since the space was new.
    edges : float
        Edges that changed since, as a share of the edges now.
    stale : float
        Share of its edges that changed since a vertex was embedded, placed or moved: the mean of all vertices.
    residual : float
        How much less a vertex is where its neighbours expect it: the mean cosine when the space was new, less that of
        now.
    links : float
        How much worse edges held out are ranked by vectors that are placed from the others: the loss of ROC-AUC, as a
        share of what was above one half.
    """

    drift: float
    error: float
    placed: float
    edges: float
    stale: float
    residual: float
    links: float

    @property
    def advice(self) -> str:
        """What to do about it."""
        return advised(self.drift, self.error)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers and the advice."""
        return {**{name: round(value, 4) for name, value in asdict(self).items()}, "advice": self.advice}

    def __str__(self) -> str:
        worse = f"{self.links:.1%}"
        ranked = "ranked as well as at first" if worse == "0.0%" else f"ranked {worse} worse"
        return (
            f"drift {self.drift:.3f} ± {self.error:.3f} (0 as fresh, 1 unrelated): {self.advice}\n"
            f"{self.placed:.1%} of the vertices placed or moved, {self.edges:.1%} of the edges changed, "
            f"{self.stale:.1%} not taken into account; residual {self.residual:.3f}, held-out edges {ranked}"
        )


def drift_now(space: Space) -> Drift:
    """Return the drift of a space as it is; see `parge.space.drift.drift`."""
    was = space.history
    seen = measure_fit(space.vectors, space.graph, space.learned, space.lengths)
    above = max(was.links - 0.5, 0.01)
    changed = min(1.0, space.history.changed / max(1, space.graph.n_edges))
    residual, links = max(0.0, was.fit - seen.alike), min(1.0, max(0.0, (was.links - seen.links) / above))
    # A space in which nothing changed is fresh, whatever is drawn.
    stale = float(np.minimum(space.stale, 1.0).mean()) if len(space) else 0.0
    known = EDGES * changed + STALE * stale + (RESIDUAL * residual + LINKS * links if changed else 0.0)
    sampling = math.hypot(RESIDUAL * seen.alike_error, LINKS * seen.links_error / above)
    return Drift(
        min(1.0, known),
        math.hypot(sampling, CALIBRATION_ERROR) if changed else 0.0,
        float((space.origin != EMBEDDED).mean()) if len(space) else 0.0,
        changed,
        stale,
        residual,
        links,
    )


def aged(space: Space) -> Space:
    """Return a space that has noted the drift of this version of it."""
    found = drift_now(space)
    age = Age(
        version=space.history.version,
        placed=round(found.placed, 4),
        edges=round(found.edges, 4),
        drift=round(found.drift, 4),
        error=round(found.error, 4),
    )
    return replace(space, history=replace(space.history, ages=(*space.history.ages, age)))

"""The age of a space: how much it has lost compared with a fresh embedding, without computing one."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from parge.space.communities import CommunityFit, measure_communities
from parge.space.fit import measure_fit
from parge.space.frozen import EMBEDDED, Age, History, Space

# What changed edges, those not taken into account, the residual and held-out edges add to the distance to a fresh
# embedding: fitted without negative factors to age curves of nine generated graphs, 1 to 50 % new vertices in ten
# batches, placed or updated (`make bench-space ONLY=calibrate SEEDS=1`). The error is the standard deviation of what is
# left.
EDGES, STALE, RESIDUAL, LINKS = 0.262, 0.135, 0.569, 0.206
DISTANCE_ERROR = 0.015

# The loss that the distance alone would suggest counts as this many vertices, besides those that were asked for their
# community. Where a smaller share of the edges changed, none is asked: as little as is lost then is not seen, and a
# small update stays quick.
_SUGGESTED, _FEW = 200.0, 0.015

# An update looks at the drift where such a share of the edges changed since the last look. A look takes longer than the
# update of a small graph itself (`make bench-space ONLY=times`).
LOOK_AFTER = 0.04

# Standard deviation of the drift around the true loss of micro-F1 of all vertices on these curves.
CALIBRATION_ERROR = 0.02

# From the first on a fresh embedding is advised, from the second on a look from time to time. On these curves spaces
# below them had lost at most 4.9 and 2.4 % of the micro-F1 of all vertices, those above up to 35 %.
EMBED_AGAIN, WATCH = 0.05, 0.02


def advised(drift: float) -> str:
    """Return what to do about a space of that drift.

    >>> advised(0.01), advised(0.04), advised(0.1)
    ('as fresh', 'use it, and watch it', 'embed again')
    """
    if drift >= EMBED_AGAIN:
        return "embed again"
    return "use it, and watch it" if drift >= WATCH else "as fresh"


@dataclass(frozen=True)
class Drift:
    """How much a space has lost compared with a fresh embedding, and what that was estimated from.

    Parameters
    ----------
    drift : float
        0: it tells as much as a fresh embedding. 1: no more than unrelated vectors. On a new space it is 0.
    error : float
        Standard error, that of the calibration included.
    communities : float
        How much less the vectors tell of communities of the graph than a copy of them does after two rounds over the
        graph as it is now: the loss of what a classifier names above chance. Not looked at where hardly anything
        changed, and in graphs of a few vertices.
    distance : float
        Estimated distance to a fresh embedding. 0: as far apart as two of them with different seeds. 1: unrelated.
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
    communities: float
    distance: float
    placed: float
    edges: float
    stale: float
    residual: float
    links: float

    @property
    def advice(self) -> str:
        """What to do about it."""
        return advised(self.drift)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers and the advice."""
        return {**{name: round(value, 4) for name, value in asdict(self).items()}, "advice": self.advice}

    def __str__(self) -> str:
        worse, less = f"{self.links:.1%}", f"{self.communities:.1%}"
        ranked = "ranked as well as at first" if worse == "0.0%" else f"ranked {worse} worse"
        named = "named as well as by a fresh copy" if less == "0.0%" else f"named {less} worse"
        return (
            f"drift {self.drift:.3f} ± {self.error:.3f} (0 as fresh, 1 unrelated): {self.advice}\n"
            f"{self.placed:.1%} of the vertices placed or moved, {self.edges:.1%} of the edges changed, "
            f"{self.stale:.1%} not taken into account; distance {self.distance:.3f}, residual {self.residual:.3f}, "
            f"communities {named}, held-out edges {ranked}"
        )


def drift_now(space: Space) -> Drift:
    """Return the drift of a space as it is; see `parge.space.drift.drift`."""
    was = space.history
    seen = measure_fit(space.vectors, space.graph, space.learned, space.lengths)
    above = max(was.links - 0.5, 0.01)
    changed = _changed(space)
    residual, links = max(0.0, was.fit - seen.alike), min(1.0, max(0.0, (was.links - seen.links) / above))
    stale = float(np.minimum(space.stale, 1.0).mean()) if len(space) else 0.0
    # A space in which nothing changed is fresh, whatever is drawn.
    distance = min(1.0, EDGES * changed + STALE * stale + (RESIDUAL * residual + LINKS * links if changed else 0.0))
    sampling = math.hypot(RESIDUAL * seen.alike_error, LINKS * seen.links_error / above, DISTANCE_ERROR)
    nothing = CommunityFit(was.communities, 0.0, was.communities_weight)
    fitted = measure_communities(space.vectors, space.graph) if changed >= _FEW else nothing
    lost = min(1.0, max(0.0, 1.0 - fitted.share / was.communities)) if fitted.weight else 0.0
    trust = fitted.weight / (fitted.weight + _SUGGESTED)
    error = math.hypot(trust * fitted.error / was.communities, (1 - trust) * sampling / 2, CALIBRATION_ERROR)
    return Drift(
        drift=trust * lost + (1 - trust) * suggested_loss(distance),
        error=error if changed else 0.0,
        communities=lost,
        distance=distance,
        placed=_placed(space),
        edges=changed,
        stale=stale,
        residual=residual,
        links=links,
    )


def _placed(space: Space) -> float:
    return float((space.origin != EMBEDDED).mean()) if len(space) else 0.0


def _changed(space: Space) -> float:
    return min(1.0, space.history.changed / max(1, space.graph.n_edges))


def suggested_loss(distance: float) -> float:
    """Return the loss that a distance suggests where nothing else is known: about half of it while it is small.

    >>> suggested_loss(0.0), suggested_loss(0.5), suggested_loss(1.0)
    (0.0, 0.375, 1.0)
    """
    return distance * (1 + distance) / 2


def aged(space: Space) -> Space:
    """Return a space that has noted its drift: as it is where many edges changed since the last look, else as it was.

    What a chain of updates notes depends on these alone: looks of `parge.drift` in between leave nothing.
    """
    history, is_due = space.history, unseen_changes(space) >= LOOK_AFTER
    seen = _looked_at(space) if is_due else _last_look(history)
    age = replace(seen, version=history.version, placed=round(_placed(space), 4), edges=round(_changed(space), 4))
    looked = history.changed if is_due else history.looked
    return replace(space, history=replace(history, ages=(*history.ages, age), looked=looked))


def unseen_changes(space: Space) -> float:
    """Return the edges that changed since an update last looked at the drift, as a share of the edges now."""
    return (space.history.changed - space.history.looked) / max(1, space.graph.n_edges)


def _looked_at(space: Space) -> Age:
    found, version = drift_now(space), space.history.version
    drift, error = round(found.drift, 4), round(found.error, 4)
    return Age(version=version, placed=0.0, edges=0.0, drift=drift, error=error, is_loss=True, seen=version)


def _last_look(history: History) -> Age:
    """Return what was found at the last look; a space that was never looked at had no drift when it was new."""
    new = Age(version=1, placed=0.0, edges=0.0, drift=0.0, error=0.0, is_loss=True)
    last = next((age for age in reversed(history.ages) if age.is_loss), new)
    return replace(last, seen=last.looked_at)

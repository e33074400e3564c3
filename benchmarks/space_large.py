"""Whether drift follows the loss on graphs of more than some thousand vertices, and where a part of one is looked at.

Run it by ``make bench-space ONLY=large``. Eight generated kinds, 12,000 to 24,000 vertices, a third of them labelled; 1
to 50 % new vertices in five batches, `whitened` with 64 columns. They are looked at as a whole; parts of 6,000 and
3,000 vertices stand for graphs that are larger. *8 groups*: not more of them for more vertices. *Walks alone*: how
0.4.0 chose a part, of 6,000 vertices and in 8 groups; no vertex is drawn beside those that walks meet, and all count
alike.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.kinds import coauthors, copurchase, nested
from benchmarks.space_ages import ages
from benchmarks.space_kept import by_seed
from benchmarks.space_stays import Case, _planted_labels, hubs_first
from scipy.stats import spearmanr

import parge
from parge.graph.generate import Planted, planted, tree
from parge.graph.graph import Graph
from parge.graph.pairs import edges_once
from parge.graph.sample import connected_sample
from parge.space import communities
from parge.space.aging import EMBED_AGAIN, WATCH, drift_now
from parge.space.frozen import Space

DIM, BATCHES = 64, 5


def _walks(graph: Graph, rng: np.random.Generator) -> Any:
    return connected_sample(graph, communities._LOOKED_AT, rng)


def _alike(_: Any, some: Any) -> Any:
    return np.ones(some.size)


BEFORE = {"_part": _walks, "_stands_for": _alike, "_GROUP": 1 << 30}
PARTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "8 groups": {"_GROUP": 1 << 30},
    "of 6,000": {"_LOOKED_AT": 6_000},
    "of 3,000": {"_LOOKED_AT": 3_000},
    "walks alone, 6,000": {"_LOOKED_AT": 6_000, **BEFORE},
    "walks alone, 3,000": {"_LOOKED_AT": 3_000, **BEFORE},
}


def whitened(graph: Graph, seed: int) -> tuple[Any, float]:
    plan = parge.Plan(technique=parge.Whitened(dim=DIM, seed=seed), parts=1, engine="serial")
    return np.asarray(parge.embed(graph, plan).vectors), 0.0


def _case(name: str, graph: Graph, labels: Any, seed: int, order: Any = None) -> Case:
    """Return a graph of which a third of the vertices keeps its labels."""
    labels = labels.copy()
    labels[np.random.default_rng(seed).random(len(labels)) >= 1 / 3] = False
    return Case(name, graph, labels, order)


def _of(name: str, made: Planted, seed: int, is_growing: bool = False) -> Case:
    order = hubs_first(made.graph, seed) if is_growing else None
    return _case(name, made.graph, _planted_labels(made), seed, order)


def _by_group(name: str, graph: Graph, group: Any, seed: int) -> Case:
    """Return a graph labelled by groups of its vertices, those without edges included."""
    source, target, _ = edges_once(graph)
    ids = graph.outside_ids
    whole = Graph.from_edges(np.stack([ids[source], ids[target]], axis=1), vertices=np.arange(group.size))
    return _case(name, whole, group[:, None] == np.unique(group), seed)


def _nested(n: int = 16_000, seed: int = 405) -> Case:
    return _by_group("groups within groups", nested(n, 80_000, seed), np.arange(n) // (n // 64), seed)


def _coauthors(n: int = 14_000, seed: int = 406, fields: int = 60) -> Case:
    rng = np.random.default_rng(seed)
    rng.pareto(1.5, n)  # as `coauthors` draws: first who is busy, then fields
    return _by_group("co-authors", coauthors(n, 10_000, seed, fields), rng.integers(fields, size=n), seed)


def _copurchase(n: int = 18_000, seed: int = 407) -> Case:
    points = np.random.default_rng(seed).random((n, 3))  # as `copurchase` draws them
    return _by_group("co-purchases", copurchase(n, 6, seed), (points * 4).astype(int) @ np.array([16, 4, 1]), seed)


LARGE: dict[str, Callable[[], Case]] = {
    "hubs and small vertices": lambda: _of(
        "hubs and small vertices",
        planted(24_000, 100_000, communities=60, mixing=0.45, labels_per_vertex=1.6, exponent=2.1, seed=401),
        401,
    ),
    "hubs first": lambda: _of("hubs first", planted(16_000, 110_000, communities=100, mixing=0.4, seed=402), 402, True),
    "sparse": lambda: _of("sparse", planted(20_000, 45_000, communities=60, mixing=0.2, seed=403), 403),
    "tree": lambda: _of("tree", tree(20_000, seed=404), 404),
    "groups within groups": _nested,
    "co-authors": _coauthors,
    "co-purchases": _copurchase,
    "dense": lambda: _of(
        "dense",
        planted(12_000, 250_000, communities=39, mixing=0.75, labels_per_vertex=1.4, exponent=2.15, seed=408),
        408,
    ),
}


def looks(new: Space, aged: Space) -> dict[str, float]:
    """Return the drift by how the part is chosen; what the new space fitted is measured in the same way."""
    found = {}
    for name, changes in PARTS.items():
        with patch.multiple(communities, **changes) if changes else nullcontext():
            fitted = communities.measure_communities(new.vectors, new.graph)
            history = replace(aged.history, communities=fitted.beyond_error(), communities_weight=fitted.weight)
            found[name] = drift_now(replace(aged, history=history)).drift
    return found


def show_large(seeds: int) -> None:
    """Print how drift ranks spaces by the loss of all vertices, and how far it is from that, by the part looked at."""
    print(f"| rank correlation of the drift with the loss, its mean less the loss's | loss | {' | '.join(PARTS)} |")
    print("|---" * (2 + len(PARTS)) + "|")
    points: list[Any] = []
    for name, make in LARGE.items():
        runs = list(
            by_seed(
                f"large.{name}",
                seeds,
                lambda seed, make=make: list(ages(make(), seed, whitened, batches=BATCHES, look=looks)),
            )
        )
        here = [
            np.mean([[row["whole"], *(row["drift"][part] for part in PARTS)] for row in same], axis=0)
            for same in zip(*runs, strict=True)
            if same[0]["drift"] is not None
        ]
        points += here
        _show(name, np.array(here))
    _show("all", np.array(points))
    loss, drift = np.array(points)[:, :2].T
    for limit in (WATCH, EMBED_AGAIN):
        print(f"drift below {limit}, as it is: loss up to {loss[drift < limit].max():.3f}")


def _show(name: str, table: Any) -> None:
    loss = table[:, 0]
    cells = [
        f"{spearmanr(drift, loss)[0]:.3f}, {(drift - loss).mean():+.3f} ± {(drift - loss).std():.3f}"
        for drift in table[:, 1:].T
    ]
    print(f"| {name} ({len(table)} points) | {loss.mean():.3f} | {' | '.join(cells)} |", flush=True)

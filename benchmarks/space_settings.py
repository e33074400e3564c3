"""Settings of a frozen space, chosen on generated graphs that no table reports.

From the project's root::

    python -m benchmarks.space_stays --only choices     # what the settings of placing are worth
    python -m benchmarks.space_stays --only calibrate   # the factors of parge.space.aging
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.kinds import coauthors, words
from benchmarks.space_ages import ages
from benchmarks.space_kept import by_seed
from benchmarks.space_stays import DIM, Case, Split, _planted_labels, embedded, hubs_first, subgraph
from scipy.optimize import nnls
from scipy.stats import spearmanr

import parge
from parge.graph.generate import planted, tree
from parge.graph.graph import Graph
from parge.space import aging, learned, moving, rehearsal
from parge.space.frozen import Space
from parge.space.place import place

KINDS: dict[str, Callable[[], Any]] = {
    "overlapping": lambda: planted(5_000, 38_000, mixing=0.5, labels_per_vertex=1.5, communities=30, seed=211),
    "dense": lambda: planted(
        4_000, 100_000, communities=39, mixing=0.75, labels_per_vertex=1.4, exponent=2.15, seed=212
    ),
    "sparse": lambda: planted(4_000, 9_000, mixing=0.2, communities=12, seed=213),
    "tree": lambda: tree(5_000, seed=214),
    "mixed": lambda: planted(6_000, 60_000, communities=40, mixing=0.7, labels_per_vertex=1.2, exponent=2.3, seed=218),
    "words": lambda: words(3_000, 60_000, 215),
    "co-authors": lambda: coauthors(5_000, 3_500, 216),
}

# More graphs with labels, for age curves: labels easy and hard to tell, few edges, and small vertices that come last.
AGED: dict[str, Callable[[], Any]] = {
    "easy": lambda: planted(5_000, 42_000, communities=20, mixing=0.4, seed=301),
    "few edges": lambda: planted(3_000, 6_500, communities=8, mixing=0.25, seed=302),
    "hard": lambda: planted(4_000, 24_000, communities=25, mixing=0.6, labels_per_vertex=1.3, seed=303),
}


def kinds(made_by: dict[str, Callable[[], Any]]) -> Iterator[Case]:
    for name, make in made_by.items():
        made = make()
        yield Case(name, made) if isinstance(made, Graph) else Case(name, made.graph, _planted_labels(made))


def aged_kinds() -> Iterator[Case]:
    """Yield graphs with labels; the last one grows by time stamps, hubs first."""
    yield from (case for case in kinds({**KINDS, **AGED}) if case.labels is not None)
    made = planted(5_000, 30_000, communities=30, mixing=0.5, seed=304)
    yield Case("hubs first", made.graph, _planted_labels(made), hubs_first(made.graph, 304))


def _with_own_part(
    graph: Graph, vectors: Any, scale: Any, sampled: Any, own: Any, first: Any, used: Any, storage: Any
) -> Any:
    """Stand in for `learned._without_own_part`, and take nothing out of the means that the map is fitted on."""
    partial = _WITHOUT(graph, vectors, scale, sampled, own, first, used, storage)[1]
    return learned.neighbour_means(graph, vectors, scale, sampled)[0], partial


_WITHOUT = learned._without_own_part
CHOICES: dict[str, tuple[Any, str, Any]] = {
    **{f"ridge {share}": (learned, "chosen_ridge", lambda *_, share=share: share) for share in (0.003, 0.3, 3.0)},
    **{f"{rounds} rounds": (moving, "ROUNDS", rounds) for rounds in (0, 1, 3)},
    "no pass": (rehearsal, "SHARE", 1.0),
    **{f"pass of {rounds}": (rehearsal, "ROUNDS", rounds) for rounds in (1, 4)},
    "own part left in": (learned, "_without_own_part", _with_own_part),
}


def choices(case: Case, seed: int) -> dict[str, float]:
    """Return the score of new vertices, 10 %, as a share of embedding again, by setting."""
    split = Split.of(case, 0.1, seed)
    graph, judge = subgraph(split.edges, split.rank, split.n_old), split.judge
    (vectors, _), (fresh, _) = embedded(graph, seed), embedded(split.everything(), seed + 100)
    old = split.spread(graph.outside_ids, vectors)
    trained, again = judge.trained(old), judge.score(judge.trained(fresh), fresh)

    def score(*changes: tuple[Any, str, Any]) -> float:
        with ExitStack() as stack:
            for change in changes:
                stack.enter_context(patch.object(*change))
            placed = place(Space.of(vectors, graph), split.later(split.n_old, split.rank.size)).embedding
        found = old.copy()
        found[placed.ids] = placed.vectors
        return judge.score(trained, found) / again

    return {"as it is": score(), **{name: score(change) for name, change in CHOICES.items()}}


def show_choices(seeds: int) -> None:
    """Print what placing keeps with other settings; a deviation is that of the mean of the differences."""
    print(f"| % of again, {seeds} seeds | as it is | " + " | ".join(CHOICES) + " |")
    print("|---" * (2 + len(CHOICES)) + "|")
    for case in kinds(KINDS):
        rows = [choices(case, seed) for seed in range(seeds)]
        now = np.array([row["as it is"] for row in rows])
        cells = [f"{100 * now.mean():.1f}"]
        for name in CHOICES:
            less = np.array([row[name] for row in rows]) - now
            cells.append(f"{100 * less.mean():+.1f} ± {100 * less.std() / max(1, len(rows) - 1) ** 0.5:.1f}")
        print(f"| {case.name} | {' | '.join(cells)} |", flush=True)


def calibrate(seeds: int) -> None:
    """Print the numbers of `parge.space.aging` on graphs that no table reports: factors, errors, and when to advise."""

    def whitened(graph: Graph, seed: int) -> tuple[Any, float]:
        plan = parge.Plan(technique=parge.Whitened(dim=DIM, seed=seed), parts=1, engine="serial")
        return np.asarray(parge.embed(graph, plan).vectors), 0.0

    names, points = ("edges", "stale", "residual", "links"), []
    shown = (*names, "distance", "communities", "drift")
    print(f"| graph | way | new | {' | '.join(shown)} | distance to fresh | loss over all vertices |")
    print("|---" * (5 + len(shown)) + "|")
    for case in aged_kinds():
        runs = by_seed(f"calibrate.{case.name}", seeds, lambda seed, case=case: list(ages(case, seed, whitened)))
        for same in zip(*runs, strict=True):
            if same[0]["drift"] is not None:
                seen = [[*(row["drift"][name] for name in shown), row["true"], row["whole"]] for row in same]
                points.append(np.mean(seen, axis=0))
                cells = " | ".join(f"{value:.3f}" for value in points[-1])
                print(f"| {case.name} | {same[0]['way']} | {same[0]['share']:.0%} | {cells} |", flush=True)
    table = np.array(points)
    signs, drift, true, loss = table[:, : len(names)], table[:, -3], table[:, -2], table[:, -1]
    factors, _ = nnls(signs, true)
    reported = ", ".join(f"{name} {factor:.3f}" for name, factor in zip(names, factors, strict=True))
    print(f"\ndistance: {reported}; standard deviation of what is left {(true - signs @ factors).std():.3f}")
    ranks = [spearmanr(column, loss)[0] for column in (drift, table[:, -5], true)]
    print(
        f"rank correlation with the loss: drift {ranks[0]:.3f}, distance {ranks[1]:.3f}, true distance {ranks[2]:.3f}"
    )
    print(f"standard deviation of drift less loss {(drift - loss).std():.3f}")
    for limit in (aging.WATCH, aging.EMBED_AGAIN):
        below, above = loss[drift < limit], loss[drift >= limit]
        print(f"drift below {limit}: loss up to {below.max():.3f}; from it on {above.min():.3f} to {above.max():.3f}")

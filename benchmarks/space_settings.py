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
from benchmarks.space_stays import DIM, Case, Split, _planted_labels, embedded, subgraph
from scipy.optimize import nnls

import parge
from parge.graph.generate import planted, tree
from parge.graph.graph import Graph
from parge.space import learned, moving, rehearsal
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


def kinds() -> Iterator[Case]:
    for name, make in KINDS.items():
        made = make()
        yield Case(name, made) if isinstance(made, Graph) else Case(name, made.graph, _planted_labels(made))


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
    for case in kinds():
        rows = [choices(case, seed) for seed in range(seeds)]
        now = np.array([row["as it is"] for row in rows])
        cells = [f"{100 * now.mean():.1f}"]
        for name in CHOICES:
            less = np.array([row[name] for row in rows]) - now
            cells.append(f"{100 * less.mean():+.1f} ± {100 * less.std() / max(1, len(rows) - 1) ** 0.5:.1f}")
        print(f"| {case.name} | {' | '.join(cells)} |", flush=True)


def calibrate(seeds: int) -> None:
    """Print the factors of `parge.space.aging`, fitted on four graphs that no table reports; and losses beside it."""

    def whitened(graph: Graph, seed: int) -> tuple[Any, float]:
        plan = parge.Plan(technique=parge.Whitened(dim=DIM, seed=seed), parts=1, engine="serial")
        return np.asarray(parge.embed(graph, plan).vectors), 0.0

    names, rows = ("edges", "stale", "residual", "links"), []
    print(f"| graph | way | new | {' | '.join(names)} | distance to fresh | loss over all vertices |")
    print("|---" * (5 + len(names)) + "|")
    for case in kinds():
        for seed in range(seeds if case.labels is not None else 0):
            for row in ages(case, seed, whitened, (0.02, 0.1, 0.3, 0.5)):
                if row["drift"] is not None:
                    rows.append([*(getattr(row["drift"], name) for name in names), row["true"]])
                    cells = " | ".join(f"{value:.3f}" for value in (*rows[-1], row["whole"]))
                    print(f"| {case.name} | {row['way']} | {row['share']:.0%} | {cells} |", flush=True)
    table = np.array(rows)
    factors, _ = nnls(table[:, :-1], table[:, -1])
    left = table[:, -1] - table[:, :-1] @ factors
    told = ", ".join(f"{name} {factor:.3f}" for name, factor in zip(names, factors, strict=True))
    print(f"\n{told}; standard deviation of what is left {left.std():.3f}")

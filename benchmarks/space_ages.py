"""How a frozen space ages: new vertices in ten batches, what is lost, and what `parge drift` says of it.

Run it by ``make bench-space ONLY=ages``. *Loss*: of the new vertices, by a classifier of the old vectors, against a
fresh embedding with its own. *Loss over all vertices*: of a classifier of half of all vertices for the other half, the
same halves for aged and fresh vectors; this is what the drift of a space is to follow. *Distance*: the residual after
the best rotation, 0 at that of two seeds, 1 unrelated.

The loss has noise of its own: of the seeds of aged and fresh vectors, and of the vertices that come later. *Two seeds*:
the rank correlation of the loss that one seed gives with that of another, the mean of all pairs. *Ceiling*: what a
number would reach that knew the expected loss exactly, with the mean of all seeds: the square root of that mean's
reliability (Spearman and Brown). The range is that of nine tenths of 2,000 draws of the seeds, with replacement.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
from benchmarks.space_kept import by_seed
from benchmarks.space_stays import Case, Split, cases, embedded, subgraph, warm
from scipy.stats import spearmanr

from parge.graph.graph import Graph
from parge.linalg.procrustes import rotation
from parge.space.drift import drift
from parge.space.frozen import Space
from parge.space.update import update

AGES = (0.01, 0.05, 0.1, 0.2, 0.5)
BATCHES = 10


def residual(one: Any, other: Any) -> float:
    turned = one @ rotation(one.T.astype(np.float64) @ other)
    return float(np.linalg.norm(turned - other) / np.sqrt(((one**2).sum() + (other**2).sum()) / 2))


Embed = Callable[[Graph, int], tuple[Any, float]]
Look = Callable[[Space, Space], dict[str, float]]


def drift_of(_: Space, aged: Space) -> dict[str, float]:
    """Return what `parge drift` says of a space that was another when it was new."""
    return asdict(drift(aged))


def ages(
    case: Case,
    seed: int,
    embed: Embed,
    shares: Sequence[float] = AGES,
    batches: int = BATCHES,
    look: Look = drift_of,
) -> Iterator[dict[str, Any]]:
    """Yield, for each age and way, the score, the loss, the distance to fresh vectors, and what a look finds."""
    everything = Split.of(case, 0.0, seed).everything()
    fresh, other = (embed(everything, seed + more)[0] for more in (100, 200))
    floor = residual(fresh, other)
    whole = None if case.labels is None else Split.of(case, 0.0, seed).judge
    best_known = None if whole is None else np.mean([whole.over_all(vectors) for vectors in (fresh, other)])
    for share in shares:
        split = Split.of(case, share, seed)
        judge, n = split.judge, split.rank.size
        graph = subgraph(split.edges, split.rank, split.n_old)
        vectors, _ = embed(graph, seed)
        old = split.spread(graph.outside_ids, vectors)
        trained, again = judge.trained(old), judge.score(judge.trained(fresh), fresh)
        # Without labels, edges held out at new vertices are all that there is to score by.
        best = np.mean([judge.over_all(each) for each in (fresh, other)]) if best_known is None else best_known
        both = old[judge.old].any(axis=1)
        turn = rotation(fresh[judge.old][both].T.astype(np.float64) @ old[judge.old][both])
        found = {"again + aligned": (fresh @ turn, None), "warm": (warm(split, old), None)}
        for way, threshold in (("placed", np.inf), ("updated", 0.2)):
            space = new = Space.of(vectors, graph)
            cuts = np.linspace(split.n_old, n, batches + 1).astype(int)
            for first, last in pairwise(cuts):
                some = split.later(first, last)
                if len(some) and np.isin(some, space.ids).any():
                    space = update(space, some, threshold=min(threshold, 1e9)).space
            found[way] = (split.spread(space.ids, space.vectors), look(new, space))
        for way, (rows, reported) in found.items():
            score = judge.score(trained, rows)
            whole_loss = None if reported is None else float(1 - judge.over_all(rows) / best)
            true = (residual(rows, fresh) - floor) / (2**0.5 - floor)
            yield {
                "share": share,
                "way": way,
                "score": score,
                "loss": 1 - score / again,
                "whole": whole_loss,
                "true": max(0.0, true),
                "drift": reported,
            }


def show_ages(names: list[str], seeds: int) -> None:
    print("| graph | new | way | score | loss | loss over all vertices | distance to fresh | its estimate | drift |")
    print("|---" * 9 + "|")
    points: dict[str, list[list[tuple[float, ...]]]] = {}
    for case in cases(names):
        runs = list(by_seed(f"ages.{case.name}", seeds, lambda seed, case=case: list(ages(case, seed, embedded))))
        for same in zip(*runs, strict=True):
            score, loss, true = (float(np.mean([row[key] for row in same])) for key in ("score", "loss", "true"))
            cells = ["", "", ""]
            if same[0]["drift"] is not None:
                rows = [(row["drift"]["drift"], row["loss"], row["whole"], row["true"]) for row in same]
                points.setdefault(case.name, []).append(rows)
                distance = np.mean([row["drift"]["distance"] for row in same])
                number, _, lost, _ = np.mean(rows, axis=0)
                cells = [f"{lost:+.4f}", f"{distance:.3f}", f"{number:.4f}"]
            print(
                f"| {case.name} | {same[0]['share']:.0%} | {same[0]['way']} | {score:.3f} | {loss:+.3f} | {cells[0]} | "
                f"{true:.3f} | {cells[1]} | {cells[2]} |",
                flush=True,
            )
    show_ranks({**points, "all": list(chain(*points.values()))})


def show_ranks(points: dict[str, list[list[tuple[float, ...]]]]) -> None:
    """Print how the drift ranks spaces; `points` have, for each seed, drift, loss of new, loss of all, and distance."""
    print(
        "\n| rank correlation of the drift | loss over all vertices | range by seeds | two seeds of that loss | "
        "ceiling | loss of new vertices | distance to fresh | the distance itself, with the loss over all vertices |"
    )
    print("|---" * 8 + "|")
    for name, found in points.items():
        table = np.array(found)  # points x seeds x numbers
        drift, new, whole, true = table.mean(axis=1).T
        low, high = spread_over_seeds(table)
        two, ceiling = noise(table[:, :, 2])
        others = (spearmanr(*pair)[0] for pair in ((drift, new), (drift, true), (true, whole)))
        print(
            f"| {name} ({len(found)} points) | {spearmanr(drift, whole)[0]:.3f} | {low:.2f} to {high:.2f} | "
            f"{two:.2f} | {ceiling:.2f} | {' | '.join(f'{value:.3f}' for value in others)} |",
            flush=True,
        )


def spread_over_seeds(table: Any, draws: int = 2_000) -> tuple[float, float]:
    """Return between which values nine tenths of the rank correlations are, where seeds are drawn again."""
    rng = np.random.default_rng(0)
    some = rng.integers(table.shape[1], size=(draws, table.shape[1]))
    means = (table[:, each].mean(axis=1) for each in some)
    low, high = np.quantile([spearmanr(mean[:, 0], mean[:, 2])[0] for mean in means], (0.05, 0.95))
    return float(low), float(high)


def noise(losses: Any) -> tuple[float, float]:
    """Return the rank correlation of two seeds' losses, and the most that any number can reach with their mean."""
    n_seeds = losses.shape[1]
    if n_seeds < 2:
        return float("nan"), float("nan")
    two = float(np.mean([spearmanr(losses[:, a], losses[:, b])[0] for a, b in combinations(range(n_seeds), 2)]))
    return two, float(np.sqrt(max(0.0, n_seeds * two / (1 + (n_seeds - 1) * two))))

"""How a frozen space ages: new vertices in ten batches, what is lost, and what `parge drift` says of it.

Run it by ``make bench-space ONLY=ages``. *Loss*: of the new vertices, by a classifier of the old vectors, against a
fresh embedding with its own. *Loss over all vertices*: of a classifier of half of all vertices for the other half, the
same halves for aged and fresh vectors; this is what the drift of a space is to follow. *Distance*: the residual after
the best rotation, 0 at that of two seeds, 1 unrelated.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
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


def ages(case: Case, seed: int, embed: Embed, shares: Sequence[float] = AGES) -> Iterator[dict[str, Any]]:
    """Yield, for each age and way, the score, the loss, the true distance to fresh vectors, and the drift."""
    everything = Split.of(case, 0.0, seed).everything()
    fresh, other = (embed(everything, seed + more)[0] for more in (100, 200))
    floor = residual(fresh, other)
    whole = Split.of(case, 0.0, seed).judge
    best_known = np.mean([whole.over_all(vectors) for vectors in (fresh, other)])
    for share in shares:
        split = Split.of(case, share, seed)
        judge, n = split.judge, split.rank.size
        graph = subgraph(split.edges, split.rank, split.n_old)
        vectors, _ = embed(graph, seed)
        old = split.spread(graph.outside_ids, vectors)
        trained, again = judge.trained(old), judge.score(judge.trained(fresh), fresh)
        both = old[judge.old].any(axis=1)
        turn = rotation(fresh[judge.old][both].T.astype(np.float64) @ old[judge.old][both])
        found = {"again + aligned": (fresh @ turn, None), "warm": (warm(split, old), None)}
        for way, threshold in (("placed", np.inf), ("updated", 0.2)):
            space = Space.of(vectors, graph)
            cuts = np.linspace(split.n_old, n, BATCHES + 1).astype(int)
            for first, last in pairwise(cuts):
                some = split.later(first, last)
                if len(some) and np.isin(some, space.ids).any():
                    space = update(space, some, threshold=min(threshold, 1e9)).space
            found[way] = (split.spread(space.ids, space.vectors), drift(space))
        for way, (rows, told) in found.items():
            score = judge.score(trained, rows)
            whole_loss = None if told is None else 1 - judge.over_all(rows) / best_known
            true = (residual(rows, fresh) - floor) / (2**0.5 - floor)
            yield {"graph": case.name, "share": share, "way": way, "again": again, "score": score, "drift": told} | {
                "loss": 1 - score / again,
                "whole": whole_loss,
                "true": max(0.0, true),
            }


def show_ages(names: list[str], seeds: int) -> None:
    print("| graph | new | way | score | loss | loss over all vertices | distance to fresh | drift |")
    print("|---|---|---|---|---|---|---|---|")
    points: dict[str, list[tuple[float, ...]]] = {}
    for case in cases(names):
        runs = [list(ages(case, seed, embedded)) for seed in range(seeds)]
        for same in zip(*runs, strict=True):
            score, loss, true = (float(np.mean([row[key] for row in same])) for key in ("score", "loss", "true"))
            told, whole = "", ""
            if same[0]["drift"] is not None:
                number, lost = np.mean([row["drift"].drift for row in same]), np.mean([row["whole"] for row in same])
                points.setdefault(case.name, []).append((float(number), loss, float(lost), true))
                told, whole = f"{number:.3f}", f"{lost:+.4f}"
            print(
                f"| {case.name} | {same[0]['share']:.0%} | {same[0]['way']} | {score:.3f} | {loss:+.3f} | {whole} | "
                f"{true:.3f} | {told} |",
                flush=True,
            )
    # The last column bounds the third: it is what a drift would reach that told the distance without any error.
    print(
        "\n| rank correlation of the drift | loss of new vertices | loss over all vertices | distance to fresh | "
        "the distance itself, with the loss over all vertices |"
    )
    print("|---|---|---|---|---|")
    for name, found in {**points, "all": list(chain(*points.values()))}.items():
        columns = np.array(found).T
        pairs = [*((columns[0], other) for other in columns[1:]), (columns[3], columns[2])]
        row = " | ".join(f"{spearmanr(*pair)[0]:.3f}" for pair in pairs)
        print(f"| {name} ({len(found)} points) | {row} |", flush=True)

"""Claim: a frozen space takes new vertices; what that keeps of embedding everything again, and what it costs.

From the project's root; what is already in results/space is not computed twice, so a run that was stopped goes on. Real
graphs are left out where there are none::

    python -m benchmarks.space_stays                    # 10 % new vertices on every graph, 3 seeds
    python -m benchmarks.space_stays --only ages        # 1 to 50 % new vertices in ten batches; drift beside loss
    python -m benchmarks.space_stays --only times       # of a placed vertex, and of ten updates against embedding all
    python -m benchmarks.space_stays --only choices     # what the settings of placing are worth, on other graphs
    python -m benchmarks.space_stays --only calibrate   # the factors of parge.space.aging, on other graphs
    python -m benchmarks.space_stays --only large       # drift of graphs of which a part is looked at

A classifier (or the cosine, for links) is trained once, on vectors of the old vertices, and asked for the new ones.
Known-count micro-F1, or the ROC-AUC of held-out edges at new vertices. *Again*: everything embedded again with another
seed, and a classifier of its own; *sd of its seeds*: that of its score for the same new vertices, from two seeds each
time. *Warm*: the pass once more over the grown graph, from the old vectors and the mean of the neighbours (what
pycleora's `embed_inductive` does); it moves the old vertices, too. Two rows say what the frozen space allows. *Fresh,
mapped*: the vectors that embedding again gives to the new vertices, through the best linear map to the old vectors
(fitted on old vertices), for the classifier of these. *Old / fresh*: old vertices in turn, by classifiers of nine
tenths of them: the score of their old vectors over that of fresh ones, same vertices, same splits.
Times are CPU seconds.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.quality.graphs import load
from benchmarks.space_kept import by_seed
from threadpoolctl import threadpool_limits

import parge
from parge.evaluate.classification import best, f1
from parge.evaluate.labels import Labels
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.pairs import edges_once
from parge.linalg import logistic
from parge.linalg.tall import unit
from parge.refine.base import Workspace
from parge.refine.whiten import Whiten
from parge.space.frozen import Space
from parge.space.learned import inverse, neighbour_means
from parge.space.place import place
from parge.space.ridge import ridge

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DIM = 128
SPLITS = 5


@dataclass(frozen=True, eq=False)
class Case:
    """A graph, its labels (vertices x classes; None for links), and the order in which its vertices came, if any."""

    name: str
    graph: Graph
    labels: Any = None
    order: Any = None

    def arrivals(self, seed: int) -> Any:
        """Return the vertices in the order in which they come: by time stamp, or drawn."""
        return np.random.default_rng(seed).permutation(self.graph.n_vertices) if self.order is None else self.order


def _indicator(labels: Any, n_vertices: int) -> Any:
    found = Labels.of(labels) if not isinstance(labels, Labels) else labels
    Y = np.zeros((n_vertices, len(found.classes)), np.bool_)
    Y[found.ids.astype(np.int64)] = found.indicator.toarray()
    return Y


def growing() -> Case:
    """Return a graph whose hubs came first, as citations and friendships do; the last vertices are small."""
    made = planted(6_000, 48_000, communities=24, mixing=0.4, seed=77)
    return Case("growing", made.graph, _planted_labels(made), hubs_first(made.graph, 77))


def hubs_first(graph: Graph, seed: int) -> Any:
    """Return the vertices in the order of their degrees, largest first, and much chance."""
    chance = np.random.default_rng(seed).lognormal(0, 1, graph.n_vertices)
    return np.argsort(-graph.degrees * chance, kind="stable")


def _planted_labels(made: Any) -> Any:
    Y = np.zeros((made.graph.n_vertices, made.labels.n_labels), np.bool_)
    Y[np.repeat(np.arange(len(Y)), np.diff(made.labels.indptr)), made.labels.labels] = True
    return Y


def cases(names: list[str]) -> Iterator[Case]:
    for name in names:
        if name == "growing":
            yield growing()
            continue
        data = load(name, SHARED)
        if data is None:
            print(f"{name}: skipped, there is no copy of it")
            continue
        if data.labels is None:
            yield Case(name, data.graph)
        else:
            labels = data.labels
            if not isinstance(labels, Labels):
                from parge.evaluate.labels import read_labels

                labels = read_labels(labels, label_column="all")
            yield Case(name, data.graph, _indicator(labels, data.graph.n_vertices))


# --- embedding and scoring --------------------------------------------------------------------------------------------


def embedded(graph: Graph, seed: int) -> tuple[Any, float]:
    """Return vectors of DeepWalk with its pass, and the CPU seconds that they took."""
    started = time.process_time()
    plan = parge.Plan(technique=parge.DeepWalk(dim=DIM), parts=1, engine="serial", seed=seed)
    return np.asarray(parge.embed(graph, plan).vectors), time.process_time() - started


def subgraph(edges: Any, rank: Any, count: int) -> Graph:
    """Return the graph of the vertices that came first, under their own ids."""
    old = np.flatnonzero(rank < count)
    kept = edges[(rank[edges] < count).all(axis=1)]
    return Graph.from_edges(kept, vertices=old)


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores vectors of new vertices; it has seen vectors of old ones only."""

    case: Case
    old: Any
    new: Any
    held_out: Any
    others: Any

    def trained(self, vectors: Any) -> Any:
        """Return weights of a classifier of old vertices (none for links); `vectors` are of all vertices."""
        if self.case.labels is None:
            return None
        some = self.old[self.case.labels[self.old].any(axis=1)]
        return logistic.fit(_ones(vectors[some]), self.case.labels[some])

    def score(self, weights: Any, vectors: Any) -> float:
        """Return micro-F1 of the new vertices, or ROC-AUC of held-out edges at them."""
        if self.case.labels is None:
            rows = unit(vectors.astype(np.float64))
            near, far = (np.einsum("ij,ij->i", *rows[pairs.T]) for pairs in (self.held_out, self.others))
            order = np.argsort(np.concatenate([near, far]), kind="stable")
            rank = np.empty(order.size)
            rank[order] = np.arange(1, order.size + 1)
            return float((rank[: near.size].sum() - near.size * (near.size + 1) / 2) / (near.size * far.size))
        some = self.new[self.case.labels[self.new].any(axis=1)]
        truth = self.case.labels[some]
        return f1(truth, best(_ones(vectors[some]) @ weights, truth.sum(axis=1)))[0]

    def over_all(self, vectors: Any) -> float:
        """Return the mean micro-F1 over fixed halves of all labelled vertices: what the vectors as a whole are worth.

        For links, the score of `score`.
        """
        if self.case.labels is None:
            return self.score(None, vectors)
        labelled = np.flatnonzero(self.case.labels.any(axis=1))
        return _halves(self.case, vectors, labelled, SPLITS)

    def over_old(self, vectors: Any) -> float:
        """Return the same for the old vertices alone, by classifiers of nine tenths of them."""
        if self.case.labels is None:
            return float("nan")
        return _halves(self.case, vectors, self.old[self.case.labels[self.old].any(axis=1)], SPLITS, 0.9)


def _halves(case: Case, vectors: Any, labelled: Any, splits: int, share: float = 0.5) -> float:
    found, none = [], np.zeros((0, 2), np.int64)
    for split in range(splits):
        some = np.random.default_rng(split).permutation(labelled)
        judge = Judge(case, *np.split(some, [int(share * some.size)]), none, none)
        found.append(judge.score(judge.trained(vectors), vectors))
    return float(np.mean(found))


def _ones(rows: Any) -> Any:
    return np.hstack([rows, np.ones((len(rows), 1))], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Split:
    """A graph of which some vertices come later."""

    graph: Graph
    edges: Any
    rank: Any
    n_old: int
    judge: Judge

    @staticmethod
    def of(case: Case, share: float, seed: int) -> "Split":
        """Return a case of which that share of the vertices, the last ones, comes later."""
        n = case.graph.n_vertices
        rank = np.empty(n, np.int64)
        rank[case.arrivals(seed)] = np.arange(n)
        n_old = round(n * (1 - share))
        new, old = np.flatnonzero(rank >= n_old), np.flatnonzero(rank < n_old)
        source, target, _ = edges_once(case.graph)
        edges = np.stack([source, target], axis=1).astype(np.int64)
        held_out = others = np.zeros((0, 2), np.int64)
        if case.labels is None:
            rng = np.random.default_rng(seed)
            out = rng.random(len(edges)) < 0.5
            held_out, edges = edges[out], edges[~out]
            held_out = held_out[(rank[held_out] >= n_old).any(axis=1)]
            others = np.stack([rng.choice(new, len(held_out)), rng.integers(n, size=len(held_out))], axis=1)
        return Split(case.graph, edges, rank, n_old, Judge(case, old, new, held_out, others))

    def later(self, first: int, last: int) -> Any:
        """Return the edges whose later end came in between."""
        when = self.rank[self.edges].max(axis=1)
        return self.edges[(when >= first) & (when < last)]

    def everything(self) -> Graph:
        """Return the grown graph."""
        return Graph.from_edges(self.edges, vertices=np.arange(self.rank.size))

    def spread(self, ids: Any, vectors: Any) -> Any:
        """Return vectors in vertex order; zeros where there is none."""
        out = np.zeros((self.rank.size, vectors.shape[1]), np.float32)
        out[ids] = vectors
        return out


def mean_of_neighbours(split: Split, vectors: Any) -> Any:
    """Return the vectors with those of new vertices: the mean of the unit vectors of their old neighbours."""
    graph = split.everything()
    lengths = np.linalg.norm(vectors, axis=1)
    found, _ = neighbour_means(graph, vectors, inverse(lengths.astype(np.float64)), split.judge.new)
    out = vectors.copy()
    out[split.judge.new] = unit(found) * lengths[lengths > 0].mean()
    return out


def warm(split: Split, vectors: Any) -> Any:
    """Return the vectors after the pass over the grown graph, from the old vectors and means of neighbours."""
    out = mean_of_neighbours(split, vectors)
    Whiten().refine(split.everything(), out, parge.DeepWalk(dim=DIM), Workspace(threads=1))
    return out


def mapped(split: Split, fresh: Any, old: Any) -> Any:
    """Return fresh vectors through the best linear map to the old ones, at their length."""
    both = split.judge.old[old[split.judge.old].any(axis=1)]
    by = ridge(unit(fresh[both]), unit(old[both]), 0.001)
    found = unit(unit(fresh) @ by[:-1] + by[-1])
    found[~fresh.any(axis=1)] = 0
    return found * np.linalg.norm(old[both], axis=1).mean()


# --- what is shown ----------------------------------------------------------------------------------------------------


def ten_percent(case: Case, seed: int) -> dict[str, float]:
    split = Split.of(case, 0.1, seed)
    graph, judge = subgraph(split.edges, split.rank, split.n_old), split.judge
    vectors, _ = embedded(graph, seed)
    old = split.spread(graph.outside_ids, vectors)
    trained = judge.trained(old)
    fresh, other = (embedded(split.everything(), seed + more)[0] for more in (100, 200))
    space = Space.of(vectors, graph)
    before = vectors.copy()
    started = time.process_time()
    placed = place(space, split.later(split.n_old, split.rank.size))
    seconds = time.process_time() - started
    found = old.copy()
    found[placed.embedding.ids] = placed.embedding.vectors
    return {
        "mapped": judge.score(trained, mapped(split, fresh, old)),
        "old / fresh": judge.over_old(old) / judge.over_old(fresh),
        "again": judge.score(judge.trained(fresh), fresh),
        "other": judge.score(judge.trained(other), other),
        "placed": judge.score(trained, found),
        "mean": judge.score(trained, mean_of_neighbours(split, old)),
        "warm": judge.score(trained, warm(split, old)),
        "changed": float((before != space.vectors).sum()),
        "ms": 1000 * seconds / len(placed.embedding),
    }


def _paired(differences: Any) -> str:
    """Return the mean of differences of the same seeds, with its standard error."""
    error = differences.std(ddof=1) / np.sqrt(differences.size) if differences.size > 1 else np.nan
    return f"{differences.mean():+.4f} ± {error:.4f}"


def show_ten(names: list[str], seeds: int) -> None:
    print(
        "| 10 % new | again | placed | of again | mean of neighbours | warm | placed - warm, standard error | "
        "placed - again | warm - again | again, sd of its seeds | fresh, mapped | its share of again | old / fresh | "
        "bits | ms per vertex |"
    )
    print("|---" * 15 + "|")
    for case in cases(names):
        rows = list(by_seed(f"ten.{case.name}", seeds, lambda seed, case=case: ten_percent(case, seed)))
        found = {key: np.array([row[key] for row in rows]) for key in rows[0]}
        cells = {
            key: f"{found[key].mean():.3f} ± {found[key].std():.3f}"
            for key in ("again", "placed", "mean", "warm", "mapped")
        }
        pairs = (("placed", "warm"), ("placed", "again"), ("warm", "again"))
        ahead = [_paired(found[one] - found[another]) for one, another in pairs]
        twice = np.sqrt(((found["again"] - found["other"]) ** 2).mean() / 2)
        placed, bound = (f"{100 * found[key].mean() / found['again'].mean():.1f} %" for key in ("placed", "mapped"))
        print(
            f"| {case.name} | {cells['again']} | {cells['placed']} | {placed} | {cells['mean']} | {cells['warm']} | "
            f"{' | '.join(ahead)} | {twice:.4f} | "
            f"{cells['mapped']} | {bound} | {100 * found['old / fresh'].mean():.1f} % | {found['changed'].sum():.0f} | "
            f"{found['ms'].mean():.3f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("ten", "ages", "times", "choices", "calibrate", "large"), default="ten")
    parser.add_argument("--graphs", default="cora,blogcatalog,planted,growing,ca-AstroPh,youtube-groups")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    with threadpool_limits(1):
        if given.only == "ten":
            show_ten(given.graphs.split(","), given.seeds)
        elif given.only == "ages":
            from benchmarks.space_ages import show_ages

            show_ages(given.graphs.split(","), given.seeds)
        elif given.only == "times":
            from benchmarks.space_times import show_times

            show_times(given.seeds)
        elif given.only == "large":
            from benchmarks.space_large import show_large

            show_large(given.seeds)
        else:
            from benchmarks import space_settings

            {"choices": space_settings.show_choices, "calibrate": space_settings.calibrate}[given.only](given.seeds)


if __name__ == "__main__":
    main()

"""Claim: a frozen space takes new vertices; what that keeps of embedding everything again, and what it costs.

From the project's root (the real graphs are left out where there are none)::

    python -m benchmarks.space_stays                    # 10 % new vertices on every graph, 3 seeds
    python -m benchmarks.space_stays --only ages        # 1 to 50 % new vertices in ten batches; drift beside loss
    python -m benchmarks.space_stays --only times       # of a placed vertex, and of an update against embedding all
    python -m benchmarks.space_stays --only calibrate   # the factors of parge.space.drift, on other graphs

A classifier (or the cosine, for links) is trained once, on vectors of the old vertices, and asked for the new ones.
Known-count micro-F1, or the ROC-AUC of held-out edges at new vertices. *Again*: everything embedded again with another
seed, and a classifier of its own. *Warm*: the pass once more over the grown graph, from the old vectors and the mean of
the neighbours (what pycleora's `embed_inductive` does); it moves the old vertices, too. Times are CPU seconds.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.quality.graphs import load
from scipy.optimize import nnls
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

import parge
from parge.evaluate.classification import best, f1
from parge.evaluate.labels import Labels
from parge.graph.generate import planted, tree
from parge.graph.graph import Graph
from parge.graph.pairs import edges_once
from parge.linalg import logistic
from parge.linalg.procrustes import rotation
from parge.linalg.tall import unit
from parge.refine.base import Workspace
from parge.refine.whiten import Whiten
from parge.space.drift import drift
from parge.space.frozen import Space
from parge.space.learned import inverse, neighbour_means
from parge.space.place import place
from parge.space.update import update

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DIM = 128
AGES = (0.01, 0.05, 0.1, 0.2, 0.5)
BATCHES = 10


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
    rng = np.random.default_rng(77)
    order = np.argsort(-made.graph.degrees * rng.lognormal(0, 1, made.graph.n_vertices), kind="stable")
    return Case("growing", made.graph, _planted_labels(made), order)


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
    begun = time.process_time()
    plan = parge.Plan(technique=parge.DeepWalk(dim=DIM), parts=1, engine="serial", seed=seed)
    return np.asarray(parge.embed(graph, plan).vectors), time.process_time() - begun


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


# --- what is shown ----------------------------------------------------------------------------------------------------


def ten_percent(case: Case, seed: int) -> dict[str, float]:
    split = Split.of(case, 0.1, seed)
    graph, judge = subgraph(split.edges, split.rank, split.n_old), split.judge
    vectors, _ = embedded(graph, seed)
    old = split.spread(graph.outside_ids, vectors)
    trained = judge.trained(old)
    fresh, _ = embedded(split.everything(), seed + 100)
    space = Space.of(vectors, graph)
    before = vectors.copy()
    begun = time.process_time()
    placed = place(space, split.later(split.n_old, split.rank.size))
    seconds = time.process_time() - begun
    found = old.copy()
    found[placed.embedding.ids] = placed.embedding.vectors
    return {
        "again": judge.score(judge.trained(fresh), fresh),
        "placed": judge.score(trained, found),
        "mean": judge.score(trained, mean_of_neighbours(split, old)),
        "warm": judge.score(trained, warm(split, old)),
        "changed": float((before != space.vectors).sum()),
        "ms": 1000 * seconds / len(placed.embedding),
    }


def show_ten(names: list[str], seeds: int) -> None:
    print(
        "| 10 % new | again | placed | of again | mean of neighbours | warm restart | old bits changed | ms a vertex |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for case in cases(names):
        rows = [ten_percent(case, seed) for seed in range(seeds)]
        found = {key: np.array([row[key] for row in rows]) for key in rows[0]}
        ratio = found["placed"].mean() / found["again"].mean()
        scores = " | ".join(f"{found[key].mean():.3f} ± {found[key].std():.3f}" for key in ("again", "placed"))
        rest = " | ".join(f"{found[key].mean():.3f} ± {found[key].std():.3f}" for key in ("mean", "warm"))
        end = f"{found['changed'].sum():.0f} | {found['ms'].mean():.3f}"
        print(f"| {case.name} | {scores} | {100 * ratio:.1f} % | {rest} | {end} |", flush=True)


def residual(one: Any, other: Any) -> float:
    turned = one @ rotation(one.T.astype(np.float64) @ other)
    return float(np.linalg.norm(turned - other) / np.sqrt(((one**2).sum() + (other**2).sum()) / 2))


Embed = Callable[[Graph, int], tuple[Any, float]]


def ages(case: Case, seed: int, embed: Embed) -> Iterator[dict[str, Any]]:
    """Yield, for each age and way, the score, the loss, the true distance to fresh vectors, and the drift."""
    everything = Split.of(case, 0.0, seed).everything()
    fresh, other = (embed(everything, seed + more)[0] for more in (100, 200))
    floor = residual(fresh, other)
    for share in AGES:
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
            true = (residual(rows, fresh) - floor) / (2**0.5 - floor)
            yield {"graph": case.name, "share": share, "way": way, "again": again, "score": score, "drift": told} | {
                "loss": 1 - score / again,
                "true": max(0.0, true),
            }


def show_ages(names: list[str], seeds: int) -> None:
    print("| graph | new | way | score | loss | distance to fresh | drift |")
    print("|---|---|---|---|---|---|---|")
    drifts, losses, trues = [], [], []
    for case in cases(names):
        runs = [list(ages(case, seed, embedded)) for seed in range(seeds)]
        for same in zip(*runs, strict=True):
            score, loss, true = (float(np.mean([row[key] for row in same])) for key in ("score", "loss", "true"))
            told = "" if same[0]["drift"] is None else f"{np.mean([row['drift'].drift for row in same]):.3f}"
            if told:
                drifts.append(float(told))
                losses.append(loss)
                trues.append(true)
            print(
                f"| {case.name} | {same[0]['share']:.0%} | {same[0]['way']} | {score:.3f} | {loss:+.3f} | {true:.3f} | "
                f"{told} |",
                flush=True,
            )
    of_loss, of_true = (spearmanr(drifts, other)[0] for other in (losses, trues))
    print(f"\nrank correlation of the drift with the loss: {of_loss:.3f}; with the distance to fresh: {of_true:.3f}")


def calibrate() -> None:
    """Print the factors of `parge.space.drift`, fitted on four graphs that no table reports."""
    made = {
        "p15": planted(8_000, 60_000, mixing=0.6, labels_per_vertex=1.3, seed=1),
        "p4": planted(10_000, 20_000, mixing=0.2, seed=5),
        "tree": tree(12_000, seed=3),
        "dense": planted(6_000, 150_000, communities=39, mixing=0.75, labels_per_vertex=1.4, exponent=2.15, seed=7),
    }

    def whitened(graph: Graph, seed: int) -> tuple[Any, float]:
        plan = parge.Plan(technique=parge.Whitened(dim=DIM, seed=seed), parts=1, engine="serial")
        return np.asarray(parge.embed(graph, plan).vectors), 0.0

    rows = []
    for name, found in made.items():
        for row in ages(Case(name, found.graph, _planted_labels(found)), 0, whitened):
            if row["drift"] is not None:
                rows.append((row["drift"].edges, row["drift"].residual, row["drift"].links, row["true"]))
                print(name, row["way"], row["share"], *(f"{value:.3f}" for value in rows[-1]), flush=True)
    table = np.array(rows)
    factors, _ = nnls(table[:, :3], table[:, 3])
    left = table[:, 3] - table[:, :3] @ factors
    print(f"edges, residual, links: {factors.round(3)}; standard deviation of what is left {left.std():.3f}")


def show_times(seeds: int) -> None:
    """Print the time of a placed vertex at degree 20, and that of an update after 1 % of the edges changed."""
    made = planted(20_000, 200_000, communities=40, seed=8).graph
    vectors, _ = embedded(made, 0)
    space = Space.of(vectors, made)
    rng = np.random.default_rng(0)
    for count in (1_000, 10_000):
        new = np.repeat(np.arange(count) + 20_000, 20)
        edges = Graph.from_edges(new, rng.integers(20_000, size=new.size))
        place(space, edges)  # what is compiled is loaded
        begun = time.process_time()
        place(space, edges)
        took = time.process_time() - begun
        print(f"placing {count:,} vertices of degree 20, d = {DIM}: {1000 * took / count:.4f} ms of a core each")
    print("| 1 % of the edges changed | update | fit of the space | embed all | update / embed |")
    print("|---|---|---|---|---|")
    for name, graph in [("planted-20000-200000", made), *((c.name, c.graph) for c in cases(["blogcatalog", "cora"]))]:
        shares = []
        for seed in range(seeds):
            vectors, whole = embedded(graph, seed)
            begun = time.process_time()
            space = Space.of(vectors, graph)
            fitted = time.process_time() - begun
            source, target, _ = edges_once(graph)
            gone = np.random.default_rng(seed).permutation(source.size)[: source.size // 200]
            ids = graph.outside_ids
            removed = np.stack([ids[source[gone]], ids[target[gone]]], axis=1)
            added = ids[np.random.default_rng(seed + 1).integers(graph.n_vertices, size=(source.size // 200, 2))]
            begun = time.process_time()
            update(space, added[added[:, 0] != added[:, 1]], removed)
            shares.append((time.process_time() - begun, fitted, whole))
        updated, fitted, whole = np.mean(shares, axis=0)
        print(f"| {name} | {updated:.2f} s | {fitted:.2f} s | {whole:.2f} s | {updated / whole:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("ten", "ages", "times", "calibrate"), default="ten")
    parser.add_argument("--graphs", default="cora,blogcatalog,planted,growing,ca-AstroPh,youtube-groups")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    with threadpool_limits(1):
        if given.only == "ten":
            show_ten(given.graphs.split(","), given.seeds)
        elif given.only == "ages":
            show_ages(given.graphs.split(","), given.seeds)
        elif given.only == "times":
            show_times(given.seeds)
        else:
            calibrate()


if __name__ == "__main__":
    main()

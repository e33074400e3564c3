"""What a start from the coarse graph, and locking of converged pairs, would save `spectral` and `hope`.

From the project's root, two minutes of one core::

    python -m benchmarks.eigenvector_starts

*Coarse start*: vertices are grouped (`parge.graph.clusters`), the matrix of the groups is decomposed, and its vectors,
given to all members, begin the blocks instead of draws. Its seconds count with and without what forming groups takes.
*Locking*: the most that leaving converged pairs out of later products could save. After each filter the pairs are
counted whose residual is under a hundredth of their eigenvalue; the products that all later filters spend on them are
compared with all products. Seconds of a core; the proximity is the sum of the wanted ones over that of a run to 1e-5.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import kinds
from benchmarks.comparison import shared_case
from benchmarks.harness import markdown_table

from parge.graph.clusters import group_vertices
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.landmarks.backbone import coarse_matrix
from parge.linalg.adjacency import Adjacency
from parge.linalg.subspace import Eigenpairs, Operator, leading_eigenpairs
from parge.linalg.threads import Threads, one_blas_thread
from parge.techniques.hope import HOPE
from parge.techniques.spectral import Spectral

DIM, GROUPS, CONVERGED = 128, 1024, 0.01
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def graphs() -> Iterator[tuple[str, Graph]]:
    """Yield generated graphs of several kinds, and BlogCatalog where the shared data is there."""
    yield "planted, mixed", planted(20_000, 200_000, mixing=0.6, communities=60, seed=1).graph
    yield "planted, sparse", planted(40_000, 120_000, mixing=0.3, communities=80, seed=2).graph
    yield "co-purchase", kinds.copurchase(30_000, 6, 3)
    yield "words", kinds.words(8_000, 200_000, 4)
    found = shared_case("blogcatalog", "links", SHARED)
    if found is not None:
        yield "BlogCatalog", found.graph


def coarse_start(technique: Any, graph: Graph) -> tuple[Callable[[slice], Any], float]:
    """Return rows of the coarse graph's eigenvectors, given to all members, and the seconds that groups took."""
    begin = time.process_time()
    group = group_vertices(graph, np.arange(graph.n_vertices), GROUPS)
    grouped = time.process_time() - begin
    weights = coarse_matrix(graph, group, int(group.max()) + 1)
    rows, columns = np.nonzero(weights)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(weights)))])
    merged = Graph(indptr.astype(np.int64), columns.astype(np.int32), weights[rows, columns].astype(np.float32))
    pairs = leading_eigenpairs(technique.operator(Adjacency(merged)), technique.n_pairs, tolerance=technique.tolerance)
    found = pairs.vectors(slice(0, len(weights))) / np.sqrt(np.bincount(group))[:, None]
    return (lambda where: found[group[where]]), grouped


def residuals(operator: Operator, pairs: Eigenpairs) -> Any:
    """Return the residual of each pair as a share of its eigenvalue."""
    n = operator.A.shape[0]
    X = pairs.vectors(slice(0, n))
    held = X if operator.root is None else X / operator.root[:, None]
    with one_blas_thread(), Threads(1) as threads:
        image, _ = operator.recur(np.array(held), np.empty_like(held), [(1.0, 0.0, 0.0)], threads)
    image = image if operator.root is None else image * operator.root[:, None]
    wrong = np.linalg.norm(image - X * pairs.values, axis=0)
    return wrong / np.maximum(np.abs(pairs.values), np.finfo(float).tiny)


class Counting(Adjacency):
    """An adjacency matrix whose products with a whole block are counted."""

    products = 0

    def step(self, *arguments: Any) -> None:
        """Count the pass with its first rows, and do it."""
        self.products += arguments[4] == 0
        super().step(*arguments)


def solved(technique: Any, graph: Graph, **options: Any) -> tuple[Eigenpairs, float, int, Operator]:
    """Return pairs, their seconds of a core, how many products they took, and the operator."""
    A = Counting(graph)
    operator = technique.operator(A)
    A.products, begin = 0, time.process_time()
    pairs = leading_eigenpairs(operator, technique.n_pairs, **options)
    return pairs, time.process_time() - begin, A.products, operator


def lockable(technique: Any, graph: Graph, steps: int, products: int) -> float:
    """Return the share of all products that are spent on pairs which have converged before."""
    saved, before, last = 0.0, 0.0, 0
    for step in range(1, steps + 1):
        pairs, _, so_far, operator = solved(technique, graph, tolerance=0.0, steps=step)
        if step > 1:
            saved += before * (so_far - last)
        last, before = so_far, float((residuals(operator, pairs) < CONVERGED).mean())
    return saved / products


def row(name: str, technique: Any, graph: Graph) -> list[str]:
    """Compare both starts on one graph, and bound what locking saves."""
    exact, *_ = solved(technique, graph, tolerance=1e-5, steps=60)
    wanted = float(np.abs(exact.values).sum())
    drawn, drawn_s, products, _ = solved(technique, graph, tolerance=technique.tolerance)
    start, grouped = coarse_start(technique, graph)
    begin = time.process_time()
    start, grouped = coarse_start(technique, graph)
    made = time.process_time() - begin - grouped
    coarse, coarse_s, coarse_products, _ = solved(technique, graph, start=start, tolerance=technique.tolerance)
    reached = [float(np.abs(pairs.values).sum()) / wanted for pairs in (drawn, coarse)]
    return [
        name,
        technique.name,
        f"{drawn_s:.2f} s, {products}",
        f"{coarse_s:.2f} s, {coarse_products}",
        f"{made:.2f} s, {grouped:.2f} s",
        f"{reached[0]:.4f} / {reached[1]:.4f}",
        f"{lockable(technique, graph, drawn.steps, products):.0%}",
    ]


def main() -> None:
    heads = ["graph", "technique", "draws: time, products", "coarse start", "coarse vectors, groups"]
    heads += ["proximity, draws / coarse", "locking saves at most"]
    found = [row(name, kind(dim=DIM), graph) for name, graph in graphs() for kind in (Spectral, HOPE)]
    print(markdown_table(heads, found))


if __name__ == "__main__":
    main()

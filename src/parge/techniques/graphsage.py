"""GraphSAGE: a small neural network over sampled neighbourhoods, trained without labels."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from parge.errors import Extra
from parge.events import Progress, silent
from parge.graph.features import projected_features, vertex_features
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.eigen import LINEAR_ALGEBRA_BYTES, MATRIX_BYTES_PER_EDGE, MATRIX_BYTES_PER_VERTEX
from parge.linalg.tall import unit
from parge.linalg.threads import one_blas_thread
from parge.memory import Footprint
from parge.techniques.base import MOST_RATE, Technique, check_counts, check_range
from parge.typing import FloatArray, IntArray

# PyTorch loaded, one step of training done. Measured over a worker without it, its files included: 290 MB on one make
# of machine. On another the same work took 75 MB more.
_TORCH_BYTES = 400_000_000

# Negatives are drawn in proportion to this power of the degree, as in the paper.
_NOISE_POWER = 0.75

# Rows of the final pass computed at once.
_ROWS = 4096


_TORCH = Extra("torch", "torch", "torch")


@dataclass(frozen=True)
class GraphSAGE(Technique):
    """Vectors from two rounds of averaging over neighbours, through matrices learnt from random walks.

    Use it if vertices have features and a model should be trained on them. On the command line: ``--technique
    graphsage``.

    Hamilton, Ying and Leskovec, "Inductive representation learning on large graphs" (NIPS 2017), algorithm 1 with the
    mean aggregator. ``h_v = unit(relu(W [x_v, mean x_u]))`` over neighbours u, twice (the last round without relu).
    Vertices that meet on short walks are trained to have similar vectors, and drawn ones not (equation 1). The inputs x
    are the graph's features, or normal draws keyed by the vertex's number in the graph, as `SGC` has them. These carry
    little information, so without features other techniques do better.

    Needs PyTorch. The averages of the first round do not depend on the training: they are computed once, over all
    neighbours. The second round samples neighbours while training (ten times as fast for a batch of blogcatalog), and
    uses all of them at the end.

    Edge weights determine which neighbours are sampled, and how much each counts in the final averages.

    Parameters
    ----------
    dim : int
        Length of a vector, of the features, and of the layer between.
    samples : int
        Neighbours drawn for each vertex in the second round.
    walks : int
        Positive pairs per vertex.
    walk_length : int
        Most steps between the two vertices of a pair.
    negatives : int
        Number of negative samples per batch. (The paper has 20; with features, vectors of cora classify .82 with 5 and
        .77 with 20.)
    batch : int
        Pairs per training step.
    learning_rate : float
        Learning rate of Adam.
    seed : int
        Seed of the features drawn; the same in all subgraphs, independent of the seed of the run.
    """

    name: ClassVar[str] = "graphsage"
    needs_extra: ClassVar[Extra | None] = _TORCH

    samples: int = 5
    walks: int = 20
    walk_length: int = 5
    negatives: int = 5
    batch: int = 64
    learning_rate: float = 0.003
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim", "samples", "walks", "walk_length", "negatives", "batch")
        check_counts(self, 0, "seed")
        check_range(self, "learning_rate", 0.0, MOST_RATE)

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector of length 1 per vertex; an isolated vertex has the vector of its own features."""
        torch = _torch()
        graph = subgraph.graph
        with one_blas_thread(), _one_torch_thread(torch):
            inputs = with_averages(graph, vertex_features(subgraph, self.dim, self.seed))
            layers = _first_layers(torch, self.dim, rng)
            if graph.n_edges:
                self._train(torch, layers, inputs, Neighbourhood(graph), rng, progress)
            first, second = (np.array(layer.detach().numpy()) for layer in layers)
            hidden = _mixed(inputs, first, relu=True)
            del inputs
            return _mixed(with_averages(graph, hidden), second, relu=False)

    def footprint(self) -> Footprint:
        """Return the bound for a graph without features: features, two rounds, a batch, the graph, PyTorch."""
        rows = (2 * self.batch + self.negatives) * (self.samples + 1)
        batch = rows * 4 * self.dim * 16  # inputs, hidden vectors, their gradients and what lies between
        return Footprint(
            LINEAR_ALGEBRA_BYTES + _TORCH_BYTES + batch + 16 * _ROWS * self.dim,
            MATRIX_BYTES_PER_VERTEX + 4 * 4 * self.dim + 16,
            MATRIX_BYTES_PER_EDGE,
        )

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the bound with the graph's features, and what projecting them takes."""
        return projected_features(self.footprint(), graph, self.dim)

    def _train(
        self,
        torch: Any,
        layers: list[Any],
        inputs: FloatArray,
        near: "Neighbourhood",
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        optimiser = torch.optim.Adam(layers, lr=self.learning_rate)
        X = torch.from_numpy(inputs)
        total = max(1, self.walks * near.connected.size // self.batch)
        for i in range(total):
            start = near.connected[rng.integers(near.connected.size, size=self.batch)]
            met = near.walk(start, self.walk_length, rng)
            drawn = near.noise(self.negatives, rng)
            z = self._forward(torch, layers, X, near, np.concatenate([start, met, drawn]), rng)
            loss = _loss(torch, z[: self.batch], z[self.batch : 2 * self.batch], z[2 * self.batch :])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            progress((i + 1) / total)

    def _forward(
        self, torch: Any, layers: list[Any], X: Any, near: "Neighbourhood", vertices: IntArray, rng: np.random.Generator
    ) -> Any:
        """Return the vectors of some vertices, by sampled neighbours."""
        n = vertices.size
        around = np.concatenate([vertices, near.sample(vertices, self.samples, rng).ravel()])
        hidden = _unit(torch, torch.relu(X[torch.from_numpy(around)] @ layers[0]))
        connected = torch.from_numpy(near.has_neighbour(vertices))
        averages = hidden[n:].reshape(n, self.samples, -1).mean(1) * connected
        return _unit(torch, torch.cat([hidden[:n], averages], 1) @ layers[1])


class Neighbourhood:
    """Draws from a graph with at least one edge: neighbours, walks and negatives, all by weight."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.connected = np.flatnonzero(graph.degrees)
        self.reach = (
            None if graph.weights is None else np.concatenate([[0.0], np.cumsum(graph.weights, dtype=np.float64)])
        )
        strengths = graph.degrees.astype(np.float64) if self.reach is None else np.diff(self.reach[graph.indptr])
        self.mass = np.cumsum(strengths**_NOISE_POWER)

    def has_neighbour(self, vertices: IntArray) -> FloatArray:
        """Return 1 for vertices with a neighbour and 0 for isolated ones, (n, 1) float32."""
        return (self.graph.degrees[vertices] > 0).astype(np.float32)[:, None]

    def sample(self, vertices: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Return `count` neighbours of each vertex, drawn with replacement; an isolated vertex is its own."""
        start, stop = self.graph.indptr[vertices][:, None], self.graph.indptr[vertices + 1][:, None]
        draws = rng.random((vertices.size, count))
        if self.reach is None:
            place = start + (draws * (stop - start)).astype(np.int64)
        else:
            mark = self.reach[start] + draws * (self.reach[stop] - self.reach[start])
            place = np.searchsorted(self.reach, mark, side="right") - 1
        place = np.clip(place, start, np.maximum(stop - 1, start))
        found = self.graph.indices[np.minimum(place, self.graph.indices.size - 1)].astype(np.int64)
        return np.where(stop > start, found, vertices[:, None])

    def walk(self, vertices: IntArray, length: int, rng: np.random.Generator) -> IntArray:
        """Return where a walk from each vertex is after a number of steps drawn from 1..length."""
        steps = rng.integers(1, length + 1, size=vertices.size)
        here = vertices.copy()
        for i in range(length):
            here = np.where(steps > i, self.sample(here, 1, rng)[:, 0], here)
        return here

    def noise(self, count: int, rng: np.random.Generator) -> IntArray:
        """Return vertices drawn in proportion to the 3/4th power of their degrees."""
        place = np.searchsorted(self.mass, rng.random(count) * self.mass[-1], side="right")
        return np.asarray(np.minimum(place, self.mass.size - 1))


def _torch() -> Any:
    _TORCH.check("GraphSAGE")
    import torch

    return torch


@contextmanager
def _one_torch_thread(torch: Any) -> Iterator[None]:
    """Hold PyTorch to one thread, so that its sums have one order, and give the others back afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _first_layers(torch: Any, dim: int, rng: np.random.Generator) -> list[Any]:
    """Return two (2 dim, dim) matrices to train, uniform as Glorot and Bengio (2010) have them."""
    generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
    limit = float(np.sqrt(6.0 / (3 * dim)))
    return [
        torch.empty(2 * dim, dim, dtype=torch.float32).uniform_(-limit, limit, generator=generator).requires_grad_()
        for _ in range(2)
    ]


def _loss(torch: Any, start: Any, met: Any, drawn: Any) -> Any:
    """Return equation 1: pairs that met are alike, and unlike what was drawn."""
    log_sigmoid = torch.nn.functional.logsigmoid
    return -log_sigmoid((start * met).sum(1)).mean() - log_sigmoid(-(start @ drawn.T)).sum(1).mean()


def _unit(torch: Any, rows: Any) -> Any:
    return torch.nn.functional.normalize(rows, dim=1)


def with_averages(graph: Graph, rows: FloatArray) -> FloatArray:
    """Return ``[x_v, mean x_u]`` over all neighbours u by weight, 0 where there is none."""
    matrix = graph.to_scipy()
    strengths = np.asarray(matrix.sum(axis=1), np.float32).reshape(-1, 1)
    strengths[strengths == 0] = 1
    dim = rows.shape[1]
    out: FloatArray = np.empty((graph.n_vertices, 2 * dim), np.float32)
    out[:, :dim] = rows
    for start in range(0, graph.n_vertices, _ROWS):
        part = slice(start, start + _ROWS)
        out[part, dim:] = (matrix[part] @ rows) / strengths[part]
    return out


def _mixed(inputs: FloatArray, layer: FloatArray, *, relu: bool) -> FloatArray:
    """Return unit rows of ``inputs layer``."""
    out: FloatArray = inputs @ layer
    if relu:
        np.maximum(out, 0, out=out)
    for start in range(0, len(out), _ROWS):
        rows = out[start : start + _ROWS]
        unit(rows, out=rows)
    return out

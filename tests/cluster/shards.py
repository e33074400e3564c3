"""Graphs in shards, for tests: rows of any owners, and programs that all shards run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from parge.cluster.mesh import Mesh, run_local
from parge.cluster.rows import Owners, Rows, rows_of
from parge.graph.graph import Graph
from parge.reconcile.merge import stretches


def owners_of(n_vertices: int, size: int, seed: int) -> Owners:
    """Return blocks of any length on any of the shards; even ones for seed 0."""
    return Owners.drawn(n_vertices, size, np.random.default_rng(seed)) if seed else Owners.even(n_vertices, size)


def rows_in(mesh: Mesh, graph: Graph, owners: Owners) -> Rows:
    """Return the rows of a graph that a shard holds."""
    names = owners.held(mesh.rank)
    arcs = stretches(graph.indptr[names], graph.degrees[names])
    indptr = np.concatenate([[0], np.cumsum(graph.degrees[names])]).astype(np.int64)
    return rows_of(mesh, names, indptr, graph.indices[arcs].astype(np.int32), owners)


def together(
    graph: Graph, size: int, seed: int, program: Callable[[Mesh, Owners, Rows], tuple[Any, ...]]
) -> tuple[Any, ...]:
    """Run a program on shards; return its arrays over own vertices in the order of all vertices."""
    owners = owners_of(graph.n_vertices, size, seed)

    def run(mesh: Mesh) -> tuple[Any, ...]:
        rows = rows_in(mesh, graph, owners)
        return rows.names, *program(mesh, owners, rows)

    found = run_local(size, run)
    order = np.argsort(np.concatenate([one[0] for one in found]))
    return tuple(np.concatenate([one[i] for one in found])[order] for i in range(1, len(found[0])))

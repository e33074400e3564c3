"""The halo of a part: foreign vertices that it holds one by one, with their rows, which other shards have."""

from typing import NamedTuple

import numpy as np

from parge.cluster.cutting import Held, Landmarks
from parge.cluster.mesh import Mesh
from parge.decompose.decomposition import nearest_first
from parge.decompose.supervertices import LandmarkDecomposer
from parge.graph.graph import Counted
from parge.memory import trim_heap
from parge.reconcile.merge import stretches
from parge.stage_reports import EdgeCounts
from parge.storage import release_pages
from parge.typing import FloatArray, IntArray, PartArray


class Halo(NamedTuple):
    """Foreign vertices that a part holds one by one: their numbers, ascending, and their rows.

    `near` are the numbers of their neighbours, `marks` the landmarks of those, `sizes` how many each has.
    """

    names: PartArray
    landmark: PartArray
    sizes: IntArray
    near: PartArray
    marks: PartArray
    weights: FloatArray


def nearest(mesh: Mesh, held: Held, graph: Counted, decomposer: LandmarkDecomposer) -> IntArray:
    """Return the places among the ghosts of those that may be in the halo, best first."""
    rows, own = held.rows, np.zeros(held.rows.n_own, np.bool_)
    own[held.own] = True
    degrees = rows.ghost_values(mesh, rows.degrees.astype(np.int32))
    count: PartArray = np.zeros(rows.ghosts.size, np.int32)
    for some, sizes, arcs in held.blocks():
        near = rows.indices[arcs]
        np.add.at(count, near[np.repeat(own[some], sizes) & (near >= rows.n_own)] - rows.n_own, 1)
    found = np.flatnonzero((count > 0) & (held.codes[rows.n_own :] & 1 == 0))
    found = found[nearest_first(count[found], degrees[found])]
    chosen = found[: decomposer.most_near(graph, mesh.size, held.anchors.size, degrees[found])].copy()
    del found, count, degrees
    trim_heap()
    return chosen


def fetch(mesh: Mesh, held: Held, marks: Landmarks, chosen: IntArray) -> tuple[Halo, list[PartArray]]:
    """Fetch the rows of ghosts from the shards that hold them; also return which own vertices each part asked for."""
    rows, part = held.rows, held.part
    chosen = np.sort(chosen)
    names, to = rows.ghosts[chosen], held.codes[rows.n_own + chosen] >> 1
    asked = [wanted for (wanted,) in mesh.deal(to, names)]
    out = []
    for wanted in asked:
        place = np.searchsorted(part.names, wanted)
        arcs = stretches(part.indptr[place], part.degrees[place])
        out.append((part.degrees[place], part.neighbours[arcs], marks.of[rows.indices[arcs]], held.weights_of(arcs)))
    release_pages(part.neighbours)
    found = mesh.swap(out)
    del out
    order = np.argsort(to, kind="stable")
    sizes, near, their, heavy = (np.concatenate([one[i] for one in found]) for i in range(4))
    del found
    back = np.argsort(order)
    arcs = stretches((np.cumsum(sizes) - sizes)[back], sizes[back])
    landmark = marks.of[rows.n_own + chosen]
    return Halo(names, landmark, sizes[back], near[arcs], their[arcs], heavy[arcs]), asked


def edge_counts(mesh: Mesh, held: Held, halo: PartArray, asked: list[PartArray]) -> tuple[EdgeCounts, float]:
    """Return where the edges of the graph are, and the share of this part's that its subgraph holds as they are.

    `asked` are the own vertices that each other part has in its halo.
    """
    rows = held.rows
    in_halo = np.zeros(rows.n_own + rows.ghosts.size, np.bool_)
    in_halo[rows.n_own + np.searchsorted(rows.ghosts, halo)] = True
    wanted = np.zeros((rows.n_own, mesh.size), np.bool_)
    for q, names in enumerate(asked):
        wanted[np.searchsorted(rows.names, names), q] = True
    found, touched, kept = np.zeros(4, np.int64), 0, 0
    for some, sizes, arcs in held.blocks():
        source, there = np.repeat(np.arange(some.start, some.stop), sizes), held.codes[rows.indices[arcs]]
        code, own = held.codes[source], ~held.part.is_anchor[source]
        at_anchor = ((code | there) & 1).astype(np.bool_)
        inside, between = ~at_anchor & (code == there), ~at_anchor & (code != there)
        held_here = between & in_halo[rows.indices[arcs]]
        lost = between & ~held_here & ~wanted[source, there >> 1]
        found += np.array([inside.sum(), at_anchor.sum(), between.sum() - lost.sum(), lost.sum()])
        touched += int((own & ~inside).sum())
        kept += int((own & (at_anchor | held_here)).sum())
    n_inside = int(found[0]) // 2  # an edge inside of the part has two arcs here
    counts = mesh.total(found) // 2
    share = (kept + n_inside) / (touched + n_inside) if touched + n_inside else 1.0
    return EdgeCounts(*map(int, counts)), share

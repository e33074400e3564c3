"""The degree head of a graph in shards: fitted on edges and on other pairs, whose ends may be on any two shards.

Edges are chosen by a hash of their ends, and other pairs are drawn by number: so the same pairs in the same order are
looked at for any number of shards. `parge.space.head` has what is fitted, and why.
"""

import numpy as np

from parge.cluster.cutting import Held
from parge.cluster.mesh import Mesh, Message
from parge.kernels.splitmix import item_keys
from parge.links import ONLY_COSINE, LinkHead
from parge.seeds import keyed_rng
from parge.space.head import PAIRS, head_from
from parge.storage import release_pages, row_blocks
from parge.typing import BoolArray, FloatArray, IntArray, Matrix

# Pairs whose vectors travel at a time.
_AT_ONCE = 2048


def fit_shared_head(mesh: Mesh, held: Held, vectors: FloatArray, n_vertices: int, n_edges: int, seed: int) -> LinkHead:
    """Return the head of vectors that all shards hold together; `vectors` are those of this part, in its order."""
    edges = _some_edges(mesh, held, n_edges, seed)
    others = _some_others(mesh, held, n_vertices, seed)
    if not len(edges) or not len(others):
        return ONLY_COSINE
    pairs = np.concatenate([edges, others])
    found = [_told(mesh, held, vectors, pairs[some]) for some in row_blocks(len(pairs), _AT_ONCE)]
    alike, degrees = (np.concatenate([one[i] for one in found]) for i in range(2))

    def fit(_found: list[Message]) -> Message:
        head = head_from(alike[: len(edges)], degrees[: len(edges)], alike[len(edges) :], degrees[len(edges) :])
        return (np.array([head.cosine, head.degree, head.constant]),)

    (numbers,) = mesh.lead(fit)
    return LinkHead(*map(float, numbers))


def _some_edges(mesh: Mesh, held: Held, n_edges: int, seed: int) -> IntArray:
    """Return about `PAIRS` edges, or all where there are no more: those whose hashes are the smallest."""
    rows, names = held.rows, held.rows.all_names.astype(np.int64)
    most = np.uint64(min(2**64 - 1, PAIRS * 2**64 // max(1, n_edges)))
    salt = keyed_rng(seed, "link head").integers(2**63, dtype=np.uint64)
    found = [np.zeros((0, 2), np.int64)]
    for some, sizes, arcs in held.blocks():
        one, other = np.repeat(names[some], sizes), names[rows.indices[arcs]]
        up = one < other
        one, other = one[up], other[up]
        chosen = item_keys(salt, 0, one << 32 | other) <= most
        found.append(np.stack([one[chosen], other[chosen]], axis=1))
    edges = np.concatenate([message[0] for message in mesh.share(np.concatenate(found))])
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def _some_others(mesh: Mesh, held: Held, n_vertices: int, seed: int) -> IntArray:
    """Return `PAIRS` pairs that are no edges, drawn evenly; fewer where there are hardly any."""
    pairs = keyed_rng(seed, "link head", 1).integers(max(1, n_vertices), size=(2 * PAIRS, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    are_edges = np.concatenate([message[0] for message in mesh.share(_edges_among(held, pairs))])
    kept = np.ones(len(pairs), np.bool_)
    kept[are_edges] = False
    return np.asarray(pairs[kept][:PAIRS])


def _edges_among(held: Held, pairs: IntArray) -> IntArray:
    """Return the places of pairs that are edges, by the rows of the first end, where that is here."""
    part = held.part
    place, here = _places(held, pairs[:, 0])
    found = [
        i
        for i in np.flatnonzero(here)
        if pairs[i, 1] in part.neighbours[part.indptr[place[i]] : part.indptr[place[i] + 1]]
    ]
    release_pages(part.neighbours)
    return np.array(found, np.int64)


def _places(held: Held, numbers: IntArray) -> tuple[IntArray, BoolArray]:
    """Return where vertices are among those of this part, and which are."""
    names = held.part.names
    place = np.minimum(np.searchsorted(names, numbers), max(0, names.size - 1))
    return place, np.asarray(names[place] == numbers) if names.size else np.zeros(numbers.size, np.bool_)


def _told(mesh: Mesh, held: Held, vectors: FloatArray, pairs: IntArray) -> tuple[Matrix, Matrix]:
    """Return the cosine of each pair, and the degrees of both ends, on every shard.

    The shard of the second end sends that vector to the shard of the first.
    """
    (left, is_left), (right, is_right) = (_places(held, end) for end in pairs.T)
    degrees = held.part.degrees
    to = np.zeros(len(pairs), np.int64)
    for rank, (places,) in enumerate(mesh.share(np.flatnonzero(is_left))):
        to[places] = rank
    sent = np.flatnonzero(is_right)
    arrived = mesh.deal(to[sent], sent, vectors[right[sent]], degrees[right[sent]])
    place, second, their = (np.concatenate([message[i] for message in arrived]) for i in range(3))
    first = left[place]
    found = mesh.share(place, _cosines(vectors[first], second), degrees[first], their)
    alike, both = np.zeros(len(pairs)), np.zeros((len(pairs), 2))
    for places, cosines, one, other in found:
        alike[places], both[places, 0], both[places, 1] = cosines, one, other
    return alike, both


def _cosines(left: FloatArray, right: FloatArray) -> Matrix:
    """Return the cosines of rows; each depends on its two rows alone, to the bit."""
    u, v = (np.ascontiguousarray(rows, np.float64) for rows in (left, right))
    lengths = np.sqrt((u * u).sum(axis=1)) * np.sqrt((v * v).sum(axis=1))
    return np.asarray((u * v).sum(axis=1) / np.where(lengths > 0, lengths, 1.0))

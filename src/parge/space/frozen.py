"""Space: a frozen embedding that new vertices can be placed in."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from functools import cached_property, partial
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parge.embedding import Embedding
from parge.errors import InputError
from parge.graph.graph import Graph
from parge.ids import STRING, as_ids, is_number, show_ids
from parge.io.graphs.anything import as_graph
from parge.links import LinkHead
from parge.space.communities import measure_communities
from parge.space.fit import measure_fit
from parge.space.head import fit_head
from parge.space.learned import LearnedRound, fit, row_lengths, row_sums
from parge.storage import MEMORY, Storage
from parge.typing import FloatArray, IdArray, IntArray
from parge.values import Value

EMBEDDED, PLACED, MOVED = 0, 1, 2
"""What `Space.origin` says of a vertex: embedded with all others, placed later, or embedded and moved since."""


@dataclass(frozen=True, kw_only=True)
class Age(Value):
    """What one update left: the version that it made, and how old that was (`parge.space.aging.Drift`).

    Before 0.4.0 the drift was an estimated distance; such an age does not say `is_loss`.
    """

    NULLS: ClassVar[frozenset[str]] = frozenset()
    KEYS: ClassVar[Mapping[str, str]] = {}

    version: int
    # Vertices placed or moved and edges changed since the space was new, as shares.
    placed: float
    edges: float
    # As they were at the last look (`parge.space.aging.aged`).
    drift: float
    error: float
    is_loss: bool = False
    seen: int = 0  # the version that was looked at. 0, as in spaces of 0.4.0: this one

    @property
    def looked_at(self) -> int:
        """The version that the drift was found in."""
        return self.seen or self.version


@dataclass(frozen=True, kw_only=True)
class History(Value):
    """Where a space comes from, and what happened to it since."""

    NULLS: ClassVar[frozenset[str]] = frozenset()
    KEYS: ClassVar[Mapping[str, str]] = {"communities": "told", "communities_weight": "told_weight"}

    # How it was embedded, for people to read.
    technique: str
    refine: str
    version: int = 1  # 1 for a new space; each update adds 1
    edges: int = 0  # edges of the graph that was embedded
    changed: int = 0  # edges added and removed since
    # How the space was when it was new (`parge.space.fit.measure_fit`): the mean cosine of some vertices with where
    # their neighbours expect them, and the ROC-AUC of held-out edges.
    fit: float = 1.0
    links: float = 1.0
    # How well it fitted communities of its graph when it was new (`parge.space.communities.measure_communities`), drawn
    # toward 1 by twice its error; and how much that says, 0 in spaces older than this number.
    communities: float = 1.0
    communities_weight: float = 0.0
    ages: tuple[Age, ...] = ()  # one for each update
    # The three numbers of the degree head (`parge.links.LinkHead`), which updates keep; none in older spaces.
    head: tuple[float, ...] = ()
    # What `changed` was when an update last looked at the drift. Spaces of 0.4.0 do not say it: every update looked.
    looked: int = 0

    @classmethod
    def _read(cls, data: Any, where: str) -> dict[str, Any]:
        found = super()._read(data, where)
        ages = found.get("ages", ())
        if "looked" not in found and ages and ages[-1].is_loss:
            found["looked"] = found.get("changed", 0)
        return found

    @property
    def looks(self) -> tuple[Age, ...]:
        """Ages of the updates that looked at the drift; those before 0.4.0 noted another number."""
        return tuple(age for age in self.ages if age.is_loss and age.looked_at == age.version)


@dataclass(frozen=True, eq=False)
class Space:
    """A finished embedding, the graph it was computed on, and the learned round that places a vertex by its edges.

    Made by `Space.of`, by ``parge embed --space DIR``, or read by `parge.open_space`. All arrays may be memory maps.

    Laws: placing and updating return new values and change nothing here. Vertices that neither are new nor move keep
    their bits. The same edges in any order give the same bits.

    Parameters
    ----------
    vectors : (n_vertices, dim) float32
        In the order of `ids`.
    ids : (n_vertices,) int64 or numpy strings
        In any order, none twice.
    graph : Graph
        The edges, by row number: it has no ids of its own.
    learned : LearnedRound
        Fitted when the space was new, and never again: it is part of the space.
    history : History
    origin : (n_vertices,) uint8
        `EMBEDDED`, `PLACED` or `MOVED`.
    stale : (n_vertices,) float32
        Share of each vertex's edges that changed since it was embedded, placed or moved.
    """

    vectors: FloatArray = field(repr=False)
    ids: IdArray = field(repr=False)
    graph: Graph
    learned: LearnedRound = field(repr=False)
    history: History
    origin: NDArray[np.uint8] = field(repr=False)
    stale: FloatArray = field(repr=False)

    @classmethod
    def of(
        cls,
        vectors: FloatArray,
        graph: Graph,
        *,
        technique: str = "",
        refine: str = "none",
        head: LinkHead | None = None,
        storage: Storage = MEMORY,
    ) -> "Space":
        """Freeze vectors of a graph's vertices; `storage` is where the largest table goes meanwhile.

        The degree head is fitted where none is given.
        """
        if len(vectors) != graph.n_vertices:
            raise InputError(f"{len(vectors):,} vectors for {graph.n_vertices:,} vertices; give one each")
        plain = Graph(graph.indptr, graph.indices, graph.weights)
        lengths = row_lengths(vectors)
        learned = fit(vectors, plain, lengths, storage)
        seen, fitted = measure_fit(vectors, plain, learned, lengths), measure_communities(vectors, plain)
        history = History(
            technique=technique,
            refine=refine,
            edges=graph.n_edges,
            fit=seen.alike,
            links=seen.links,
            communities=fitted.beyond_error(),
            communities_weight=fitted.weight,
            head=astuple(fit_head(vectors, plain) if head is None else head),
        )
        new = (np.zeros(len(vectors), np.uint8), np.zeros(len(vectors), np.float32))
        return cls(vectors, graph.outside_ids, plain, learned, history, *new)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dim(self) -> int:
        """Columns of a vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Length of every vector."""
        return row_lengths(self.vectors)

    @property
    def typical_length(self) -> float:
        """Mean length of the vectors that are not 0; 1 where there is none."""
        return float(self.lengths[self.lengths > 0].mean()) if (self.lengths > 0).any() else 1.0

    def lengths_around(self, near: IntArray, indptr: IntArray) -> NDArray[np.float64]:
        """Return the mean length of the neighbours in each row that the space knows; the typical one where none is.

        `near` are rows of the space, or -1 for a vertex that it does not know.
        """
        known = near >= 0
        total = row_sums(np.where(known, self.lengths[np.maximum(near, 0)], 0.0), indptr)
        count = row_sums(known.astype(np.float64), indptr)
        return np.where(count > 0, total / np.maximum(count, 1), self.typical_length)

    def embedding(self) -> Embedding:
        """Return all vectors with their ids, the degrees that they have now, and the degree head."""
        rest, numbers = (self.graph, self.learned, self.history, self.origin, self.stale), self.history.head
        head = LinkHead(*numbers) if numbers else fit_head(self.vectors, self.graph)
        made = partial(_frozen_again, rest)
        return Embedding(self.vectors, self.ids, head=head, degrees=self.graph.degrees, freeze=made)

    def place(self, edges: Any) -> Embedding:
        """Return vectors of the vertices that the space does not know: see `parge.space.place.place`."""
        from parge.space.place import place

        return place(self, edges).embedding

    def update(self, edges: Any = None, removed: Any = None, *, threshold: float | None = None) -> "Space":
        """Return the space with changed edges: see `parge.space.update.update`."""
        from parge.space.update import THRESHOLD, update

        return update(self, edges, removed, threshold=THRESHOLD if threshold is None else threshold).space


def frozen_from(graph: Graph, technique: str, refine: str, embedding: Embedding) -> Space:
    """Return the space of an embedding of a graph; with the first arguments given, what `Embedding.freeze` is."""
    return Space.of(embedding.vectors, graph, technique=technique, refine=refine, head=embedding.head)


def _frozen_again(rest: tuple[Any, ...], embedding: Embedding) -> Space:
    return Space(embedding.vectors, embedding.ids, *rest)


def as_space(space: Any) -> Space:
    """Return a space, or that of an embedding; refuse anything else, with what to give."""
    found = space.space if isinstance(space, Embedding) else space
    if not isinstance(found, Space):
        what = f"the path {str(space)!r}" if isinstance(space, str | PathLike) else type(space).__name__
        raise InputError(f"{what} is not a space. Give parge.open_space(path), or an embedding of parge.embed.")
    return found


def as_edges(edges: Any) -> Graph:
    """Return edges of any kind as a graph: pairs of ids, arrays with or without weights, whatever `as_graph` takes."""
    if isinstance(edges, np.ndarray):
        return Graph.from_edges(edges)
    if isinstance(edges, tuple) and len(edges) in (2, 3) and all(np.ndim(array) == 1 for array in edges):
        return Graph.from_edges(*edges)
    if not isinstance(edges, list | tuple | set | frozenset):
        return as_graph(edges)
    if not all(isinstance(pair, list | tuple | np.ndarray) and len(pair) == 2 for pair in edges):
        raise InputError("edges must be pairs of ids; give weights as a third array: (sources, targets, weights)")
    source, target = zip(*edges, strict=True) if edges else ((), ())
    return Graph.from_edges(as_ids(list(source)), as_ids(list(target)))


def named_notice(space: Space, new: IdArray) -> tuple[str, ...]:
    """Say that new ids are names where those of the space are integers; nothing where all are of one kind."""
    if not new.size or new.dtype != STRING or space.ids.dtype == STRING:
        return ()
    names = np.array([name for name in new.tolist() if not is_number(name)] or new[:1].tolist(), STRING)
    return (
        f"the space has integers as ids, but new ones are names, such as {show_ids(names)}. All ids are now written as "
        "names, '7' instead of 7. If that is a mistake, correct the edges.",
    )

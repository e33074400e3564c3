"""Disjoint parts within hard limits: KaMinPar, METIS, Fennel, random. A part over its limit is repaired by moves."""

import ctypes
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import IO, Any

import numpy as np

from parge.decompose.limits import repair
from parge.decompose.registry import COMPRESSED, STREAMING, partitioners
from parge.errors import PargeError
from parge.memory import Footprint
from parge.seeds import keyed_rng
from parge.storage import Files, release_pages, row_blocks, storage_like
from parge.typing import IntArray, NeighbourArray, PartArray

# KaMinPar's better context costs two to four times its default one; below this many stored neighbours that is at most
# a second, and it cuts 9 % fewer edges (BlogCatalog in 8 parts: .568 against .622). Larger graphs are split once and
# improved, which finds what the default settings miss: on five generated graphs of 1 to 2 M edges (planted of three
# kinds, dense, co-purchase) .996 to 1.03 x as many edges are lost, with .7 % and 10 % anchors.
_ECO_BELOW = 2_000_000

# Offsets written together.
_BLOCK = 1 << 20

# A share of room that lets a partitioner move vertices: parts are kept near their share of the capacity.
IMBALANCE = 0.03


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be split: rows of a graph, what each vertex weighs, and the most that each part may hold.

    Parameters
    ----------
    indptr, indices : CSR rows
        The graph, without anchors.
    weights : (n_vertices,) int64
        What the limits count: 1 per vertex, or bytes.
    limits : (n_parts,) int64
        The most weight of each part, kept without exception.
    work : (n_vertices,) int64
        What is balanced within the limits, so that no worker takes much longer than the others.
    seed : int
        Seeds the partitioner.
    quick : bool
        Whether a rough split is enough: many small groups, of which none is a worker's.
    times : int32, optional
        How often each edge counts, where vertices are merged ones; METIS counts all once.
    """

    indptr: IntArray
    indices: NeighbourArray
    weights: IntArray
    limits: IntArray
    work: IntArray
    seed: int
    quick: bool = False
    times: PartArray | None = None

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return self.indptr.size - 1

    @cached_property
    def balanced(self) -> IntArray:
        """What the partitioner balances: the work, or the weights themselves where the limits leave no room."""
        tight = self.limits.sum() < (1 + 2 * IMBALANCE) * self.weights.sum()
        return self.weights if tight else self.work

    @cached_property
    def targets(self) -> IntArray:
        """The most work of each part: its share by limit, and a little room to move in.

        Without it, generous limits would let a partitioner put all vertices in a few parts, since that cuts
        least; the paper asks for sizes in proportion to capacity.
        """
        share = self.limits / max(1, int(self.limits.sum()))
        targets = np.ceil(share * int(self.balanced.sum()) * (1 + IMBALANCE)).astype(np.int64)
        return np.minimum(self.limits, targets) if self.balanced is self.weights else targets


@dataclass(frozen=True)
class SplitMemory:
    """Bytes that a partitioner needs besides the graph at its peak."""

    # Of every vertex and every edge.
    per_vertex: int
    per_edge: int = 0
    per_early_edge: int = 0  # in addition, of each of the first 6 million edges: what grows with small graphs alone
    copies_rows: bool = False  # whether it is given a copy of the rows without anchors, where the graph is in memory


@dataclass(frozen=True)
class Partitioner:
    """How to split a graph, and what the decomposer may do with it. Plug-ins may register the function alone.

    Parameters
    ----------
    split : callable
        Returns the part of every vertex of a `Problem`.
    package : str
        Package that it needs. If that is not installed, METIS splits instead, and a notice says so.
    is_improvable : bool
        Whether a split of a large graph is improved where anchors change what is cut. Otherwise it is split again.
    has_quick : bool
        Whether `Problem.quick` saves it time.
    around_anchors : callable, optional
        Splits a whole graph around its anchors, from its rows, without a copy (`parge.decompose.fennel.streamed`).
    memory : SplitMemory, optional
        What it is projected to need; None if unknown.
    smaller : tuple of str
        Partitioners to use where the coordinator's memory is too small for this one, best first.
    """

    split: Callable[[Problem], PartArray]
    package: str = ""
    is_improvable: bool = False
    has_quick: bool = False
    around_anchors: Callable[..., PartArray] | None = None
    memory: SplitMemory | None = None
    smaller: tuple[str, ...] = ()


def partitioner_named(name: str) -> Partitioner:
    """Return the partitioner of that name; a function alone is one without special abilities."""
    found = partitioners.get(name)
    return found if isinstance(found, Partitioner) else Partitioner(found)


def work_of(degrees: IntArray, balance: Footprint | None = None) -> IntArray:
    """Return the work a vertex brings, 1 + deg / mean deg, in sixteenths: vectors to train and edges to walk.

    With `balance`, its bytes instead, in sixteenths of a vertex without edges; an edge counts half at each end.
    """
    mean = max(1.0, float(degrees.mean()) if degrees.size else 1.0)
    edge = 1 / mean if balance is None else balance.per_edge / (2 * balance.per_vertex)
    work: IntArray = np.rint(16 * (1 + edge * degrees)).astype(np.int64)
    return work


def partition(problem: Problem, method: str) -> PartArray:
    """Split the vertices so that no part outweighs its limit.

    With unit weights this succeeds whenever the limits add up to the vertices; with other weights, whenever
    the repair finds room (else `InfeasibleError`).
    """
    split = partitioner_named(method).split
    usable = np.flatnonzero(problem.limits > 0)
    if problem.n_vertices == 0:
        return np.zeros(0, np.int32)
    if usable.size <= 1 or problem.n_vertices <= 2 * usable.size or problem.indices.size == 0:
        part = fill(problem.balanced, problem.targets)
    else:
        # Parts without room are left out: a partitioner need not know how to treat a limit of 0.
        part = usable[split(replace(problem, limits=problem.limits[usable]))].astype(np.int32)
    return repair(problem.indptr, problem.indices, problem.weights, problem.limits, part)


def kaminpar(problem: Problem) -> PartArray:
    """Split with KaMinPar, whose block limits are absolute (one thread: only so is it deterministic)."""
    return _kaminpar(problem, compressed=False)


def kaminpar_compressed(problem: Problem) -> PartArray:
    """Split with KaMinPar, which holds the graph compressed: a little slower, for graphs that hardly fit."""
    return _kaminpar(problem, compressed=True)


def _kaminpar(problem: Problem, *, compressed: bool) -> PartArray:
    if not _is_installed("kaminpar"):
        return metis(problem)
    import kaminpar as library

    storage = storage_like(problem.indices)
    place = storage.folder if isinstance(storage, Files) else None
    # A file without a name: a process that is killed here leaves nothing behind.
    with tempfile.TemporaryFile(dir=place) as file:
        write_parhip(file, problem.indptr, problem.indices, problem.balanced, problem.times)
        file.seek(0)
        path = f"/dev/fd/{file.fileno()}"
        try:
            graph = library.load_graph(path, library.GraphFileFormat.PARHIP, compress=compressed)
        except ValueError as error:  # KaMinPar gives no reason; the system's shows when the file is opened again
            os.close(os.open(path, os.O_RDONLY))
            raise PargeError(f"KaMinPar cannot read the graph: {error}. Use --partitioner metis.") from error
    library.reseed(problem.seed % 2**31)
    context = _context(library, problem, compressed)
    limits = [int(limit) for limit in problem.targets]
    return np.array(library.KaMinPar(1, context).compute_partition(graph, max_block_weights=limits), np.int32)


def _context(library: Any, problem: Problem, compressed: bool) -> Any:
    """Return KaMinPar's settings. Its fast ones cut a part into 110 groups in a quarter of eco's time, as well."""
    if problem.quick:
        return library.fast_context()
    if compressed:
        return library.terapart_context()
    return library.eco_context() if problem.indices.size < _ECO_BELOW else library.default_context()


def substitution(method: str) -> tuple[str, ...]:
    """Say which partitioner does the work of one that is not installed; nothing where it is.

    KaMinPar has no wheel for some platforms; METIS has one for all.
    """
    package = partitioner_named(method).package
    if not package or _is_installed(package):
        return ()
    return (f"{method} is not installed, so METIS splits the graph instead. To use it: pip install {package}",)


def _is_installed(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def write_parhip(
    file: IO[bytes],
    indptr: IntArray,
    indices: NeighbourArray,
    weights: IntArray,
    times: PartArray | None = None,
) -> None:
    """Write rows in the ParHIP binary format: header, byte offsets, neighbours, vertex weights, edge weights.

    The version field is a bit set: 1 no edge weights, 2 no vertex weights, 8 neighbours of 32 bit.
    """
    n_vertices = indptr.size - 1
    weighted = bool(weights.size) and bool((weights != 1).any())
    version = (1 if times is None else 0) | (0 if weighted else 2) | (8 if indices.itemsize == 4 else 0)
    first = 24 + 8 * (n_vertices + 1)
    # Not tofile, which does not notice that a disk is full before its buffer is flushed.
    file.write(np.array([version, n_vertices, indices.size], np.uint64).data)
    for some in row_blocks(indptr.size, _BLOCK):
        file.write((indptr[some] * indices.itemsize + first).astype(np.uint64).data)
    for some in row_blocks(indices.size, _BLOCK):
        file.write(np.ascontiguousarray(indices[some]).data)
        release_pages(indices)
    if weighted:
        file.write(weights.astype(np.int64).data)
    if times is not None:
        file.write(times.astype(np.int64).data)
    file.flush()


def metis(problem: Problem) -> PartArray:
    """Split with METIS k-way; its sizes are targets, so `partition` repairs what is over.

    Not recursive bisection, pymetis' default for few parts: it packs the dense core into one part, which
    cuts less and embeds worse (BlogCatalog in 8 parts: F1 .230 against .272).
    """
    import pymetis

    targets = problem.targets
    with _quiet_stdout():
        result = pymetis.part_graph(
            targets.size,
            pymetis.CSRAdjacency(problem.indptr, problem.indices),
            vweights=problem.balanced if (problem.balanced != 1).any() else None,
            tpwgts=list(targets / targets.sum()),
            recursive=False,
            options=pymetis.Options(seed=problem.seed % 2**31, ufactor=max(1, int(1000 * IMBALANCE / 2))),
        )
    return np.asarray(result.vertex_part, np.int32)


@contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Send what C code prints to nowhere: METIS writes its complaints to stdout, where our JSON goes."""
    libc = ctypes.CDLL(None)
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    libc.fflush(None)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        libc.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def random(problem: Problem) -> PartArray:
    """Split at random, in proportion to the limits: the control."""
    order = keyed_rng(problem.seed, "random partition").permutation(problem.n_vertices)
    part = np.empty(problem.n_vertices, np.int32)
    part[order] = fill(problem.balanced[order], problem.targets)
    return part


def streaming(problem: Problem) -> PartArray:
    """Split in a few passes over the rows, with memory for one number per vertex (Fennel)."""
    from parge.decompose.fennel import Fennel

    part = np.full(problem.n_vertices, -1, np.int32)
    no_anchors = np.zeros(problem.n_vertices, np.bool_)
    Fennel(problem.indptr, problem.indices, no_anchors, problem.limits, problem.weights).split(part)
    return part


def _streamed(*args: Any, **options: Any) -> PartArray:
    from parge.decompose.fennel import streamed

    return streamed(*args, **options)


# KaMinPar's peak besides what it is given, measured on planted graphs of 0.8, 8.6 and 34.5 M edges: 71, 689 and
# 1,032 MB; of a compressed graph 61, 592 and 667 MB. A part of it grows with small graphs alone. Around it, choosing
# anchors and splitting keep numbers of 64 bits of every vertex; the stream is written to do with few.
KAMINPAR = Partitioner(
    kaminpar,
    package="kaminpar",
    is_improvable=True,
    has_quick=True,
    memory=SplitMemory(per_vertex=100, per_edge=30, per_early_edge=75, copies_rows=True),
    smaller=(COMPRESSED, STREAMING),
)
KAMINPAR_COMPRESSED = replace(
    KAMINPAR,
    split=kaminpar_compressed,
    has_quick=False,
    memory=SplitMemory(per_vertex=100, per_edge=20, per_early_edge=75, copies_rows=True),
    smaller=(),
)
STREAM = Partitioner(streaming, around_anchors=_streamed, memory=SplitMemory(per_vertex=13))


def fill(weights: IntArray, limits: IntArray) -> PartArray:
    """Fill parts in order of vertices, each up to its limit; what is left over goes to the last part.

    >>> fill(np.ones(5, np.int64), np.array([2, 0, 3])).tolist()
    [0, 0, 2, 2, 2]
    """
    ends = np.cumsum(limits)
    part = np.searchsorted(ends, np.cumsum(weights), side="left")
    return np.minimum(part, limits.size - 1).astype(np.int32)

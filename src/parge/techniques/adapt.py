"""Any callable, and any object that fits, as a technique."""

import copy
import inspect
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError, MissingExtraError
from parge.events import Progress, silent
from parge.graph.subgraph import Subgraph
from parge.linalg.threads import one_blas_thread
from parge.memory import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, Footprint
from parge.numbers import is_whole
from parge.techniques.base import Technique, check_choice, check_counts

GraphAs = Literal["auto", "csr", "networkx"]

# What other libraries call the length of a vector.
DIM_NAMES = ("dim", "n_components", "dimensions", "embedding_dimension", "embedding_dim")

# What other libraries call the seed.
_SEED_NAMES = ("random_state", "seed")

# Small subgraphs: answers of fewer columns than promised are filled with zeros up to this many vertices over the
# promise. (scikit-network gives n - 2 columns at most.)
_SPARE = 2

# The default bound: five copies of the vectors in float64, six of the matrix, room for another library's imports.
_VECTOR_COPIES, _MATRIX_COPIES = 5, 6
_MATRIX_BYTES = 24  # neighbour and float64 value, for both directions of an edge
_ASSUMED_DIM = 128
_IMPORT_BYTES = 240_000_000

# Dictionaries of a networkx graph (measured: 0.6 kB a vertex, 0.7 kB an edge).
_NETWORKX_BYTES_PER_VERTEX, _NETWORKX_BYTES_PER_EDGE = 1000, 1000


def adapt(
    target: Any,
    dim: int | None = None,
    *,
    graph_as: GraphAs = "auto",
    footprint: Footprint | None = None,
    name: str | None = None,
    path: str = "",
    settings: tuple[tuple[str, Any], ...] = (),
) -> Technique:
    """Return a technique that embeds each subgraph with a given function or object of any library.

    Use it for settings that a plan cannot guess; ``Plan(technique=target)`` calls it with the defaults. On the command
    line: ``--technique module:function``.

    Parameters
    ----------
    target : callable or object
        A callable ``f(csr, rng)``, or ``f(csr)``, that returns one row per vertex. Or an object with
        ``fit_transform(csr)`` (as in scikit-learn and scikit-network), or with ``fit`` and ``get_embedding`` (as in
        karateclub). The matrix ``csr`` is the subgraph's symmetric adjacency, scipy CSR in float32; the callable may
        change it. Objects are copied for every subgraph, and their ``random_state`` or ``seed``, if any, is set.
    dim : int, optional
        Columns of the result. By default an attribute of the object (``n_components``, ``dimensions`` ...); otherwise
        it is known after the first result, and the technique's `dim` is 0 until then. On a subgraph of about dim
        vertices or fewer, columns that are missing are filled with zeros.
    graph_as : "auto", "csr" or "networkx"
        What ``fit`` receives. "auto" is a networkx graph on 0..n-1, with weights, for classes of karateclub, and for
        classes that set ``graph_as = "networkx"`` or annotate ``fit`` with it. Other objects with ``get_embedding``
        receive csr, or a networkx graph where they use attributes that only graphs have.
    footprint : Footprint, optional
        Bound on the memory of a worker. The default assumes five copies of the vectors in float64, six of the matrix, a
        networkx graph where one is made, and 500 MB for libraries.
    name : str, optional
        Name in messages.

    Examples
    --------
    >>> def degrees(csr, rng):
    ...     return csr.sum(axis=1)
    >>> adapt(degrees, dim=1).name
    'degrees'
    """
    if isinstance(target, Technique):
        return target
    if inspect.isclass(target):
        target = _instance(target, dim)
    return Adapted(
        dim=dim if dim is not None else _declared_dim(target),
        target=target,
        title=name or path or _title(target),
        graph_as=graph_as,
        memory=footprint,
        path=path,
        settings=settings,
    )


@dataclass(frozen=True)
class Adapted(Technique):
    """A function or object of another library as a technique; created by `adapt`."""

    dim: int = 0
    target: Any = None
    title: str = ""
    graph_as: GraphAs = "auto"
    memory: Footprint | None = None
    path: str = ""  # ``module:attribute`` that it came from, and `settings` given to it; empty for a live object
    settings: tuple[tuple[str, Any], ...] = ()

    name: ClassVar[str] = "adapted"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.title or _title(self.target))
        check_counts(self, 0, "dim")
        check_choice(self, "graph_as", get_args(GraphAs))
        if not self._fits:
            _check_callable(self.target, self.name)

    @property
    def _fits(self) -> bool:
        return hasattr(self.target, "fit_transform") or (
            hasattr(self.target, "fit") and hasattr(self.target, "get_embedding")
        )

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> Any:
        """Return the unchecked result of the code, which is not called for an empty subgraph."""
        if subgraph.n_vertices == 0:
            return np.zeros((0, self.dim), np.float32)
        matrix = sp.csr_matrix(subgraph.graph.to_scipy(), copy=True)
        with one_blas_thread(), _seeded(rng):
            answer = self._fit(matrix, rng) if self._fits else self._call(matrix, rng)
        progress(1.0)
        return self._filled(answer, subgraph.n_vertices)

    def footprint(self) -> Footprint:
        """Return the bound given to `adapt`, or the default it documents."""
        if self.memory is not None:
            return self.memory
        graph = _wants_networkx(self.target, self.graph_as) is not False
        return Footprint(
            BASE_BYTES + _IMPORT_BYTES,
            GRAPH_BYTES_PER_VERTEX
            + _VECTOR_COPIES * 8 * (self.dim or _ASSUMED_DIM)
            + (_NETWORKX_BYTES_PER_VERTEX if graph else 0),
            GRAPH_BYTES_PER_EDGE + _MATRIX_COPIES * _MATRIX_BYTES + (_NETWORKX_BYTES_PER_EDGE if graph else 0),
        )

    def _call(self, matrix: Any, rng: np.random.Generator) -> Any:
        return self.target(matrix, rng) if _binds(self.target, 2) else self.target(matrix)

    def _fit(self, matrix: Any, rng: np.random.Generator) -> Any:
        seed = int(rng.integers(2**31 - 1))
        networkx = _wants_networkx(self.target, self.graph_as)
        try:
            return _run(self.target, _as_networkx(matrix, self.name) if networkx else matrix, seed)
        except (AttributeError, TypeError) as error:
            if networkx is not None or not _wanted_a_graph(error, matrix):
                raise
        return _run(self.target, _as_networkx(matrix, self.name), seed)

    def _filled(self, answer: Any, n_vertices: int) -> Any:
        """Return the answer with zeros for the columns that a small subgraph cannot give."""
        missing = self.dim - (answer.shape[1] if getattr(answer, "ndim", 0) == 2 else self.dim)
        if missing <= 0 or n_vertices > self.dim + _SPARE or sp.issparse(answer):
            return answer
        return np.pad(np.asarray(answer), ((0, 0), (0, missing)))


def _run(target: Any, graph: Any, seed: int) -> Any:
    """Fit a copy of the object, so that no subgraph sees what another left behind."""
    fresh = copy.deepcopy(target)
    for name in _SEED_NAMES:
        if hasattr(fresh, name):
            setattr(fresh, name, seed)
            break
    if hasattr(fresh, "fit_transform"):
        return fresh.fit_transform(graph)
    fresh.fit(graph)
    return fresh.get_embedding()


def _wants_networkx(target: Any, graph_as: str) -> bool | None:
    """Return whether the object is to receive a networkx graph; None where only trying shows it."""
    if graph_as == "auto":
        graph_as = getattr(target, "graph_as", "auto")
    if graph_as != "auto":
        return graph_as == "networkx"
    if hasattr(target, "fit_transform") or not hasattr(target, "get_embedding"):
        return False
    if any(base.__module__.split(".")[0] == "karateclub" for base in type(target).__mro__):
        return True
    parameters = list(inspect.signature(target.fit).parameters.values())
    annotation = str(parameters[0].annotation) if parameters else ""
    return True if "networkx" in annotation or "nx." in annotation else None


def _wanted_a_graph(error: Exception, matrix: Any) -> bool:
    """Return whether the code asked the matrix for an attribute it lacks, or for its length as that of a graph."""
    if isinstance(error, AttributeError):
        return error.obj is matrix
    return "sparse" in str(error) and "length is ambiguous" in str(error)


def _as_networkx(matrix: Any, name: str) -> Any:
    try:
        import networkx
    except ImportError as error:
        raise MissingExtraError(f"the technique {name}", "networkx", "test") from error
    return networkx.from_scipy_sparse_array(matrix)


@contextmanager
def _seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed the process-wide generators for code that draws from them, and put them back afterwards.

    From a copy of the generator, so that a callable receives it unspent.
    """
    seed = int(copy.deepcopy(rng).integers(2**32))
    before, numpy_before = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)


def _instance(cls: type, dim: int | None) -> Any:
    """Return an object of the class with its default settings, and that length where it has a word for it."""
    parameters = inspect.signature(cls).parameters
    alias = next((name for name in DIM_NAMES if name in parameters), None)
    try:
        return cls() if dim is None or alias is None else cls(**{alias: dim})
    except TypeError as error:
        raise InputError(
            f"{cls.__name__} cannot be created without settings ({error}). Give an instance of it."
        ) from error


def _declared_dim(target: Any) -> int:
    for name in DIM_NAMES:
        value: Any = getattr(target, name, None)
        if is_whole(value) and value > 0:
            return int(value)
    return 0


def _title(target: Any) -> str:
    function = getattr(target, "func", target)  # of a functools.partial
    return str(getattr(function, "__name__", type(target).__name__))


def _check_callable(target: Any, name: str) -> None:
    if not callable(target):
        raise InputError(
            f"a technique cannot be {target!r}, a {type(target).__name__}. Give a Technique, a name, a callable "
            "f(csr, rng), or an object with fit_transform, or with fit and get_embedding"
        )
    if not (_binds(target, 2) or _binds(target, 1)):
        raise InputError(f"{name} is called as f(csr, rng), but is declared as {name}{inspect.signature(target)}")
    second = _second(target)
    if second in DIM_NAMES:
        raise InputError(
            f"{name} is called as f(csr, rng), so that its second parameter, {second!r}, would receive the random "
            f"generator. Settings are passed by name: declare it as {name}(csr, rng, {second}), or as "
            f"{name}(csr, *, {second})."
        )


def _second(function: Any) -> str | None:
    """Return the name of the parameter that a second value would go to."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # some built-in functions have no signature
        return None
    by_place = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return by_place[1] if len(by_place) > 1 else None


def _binds(function: Any, count: int) -> bool:
    """Return whether a function can be called with that many values; true where its signature is not known."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # some built-in functions have no signature
        return True
    return True

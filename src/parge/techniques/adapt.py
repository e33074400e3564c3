"""Anybody's technique as one of ours: a function, an object with fit_transform, or with fit and get_embedding."""

import copy
import importlib
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.techniques.base import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, Progress, Technique, silent
from parge.typing import FloatArray


@dataclass(frozen=True)
class Adapted(Technique):
    """A foreign technique.

    Called with the subgraph as a symmetric scipy CSR matrix, for every subgraph afresh:

    * a function: ``f(csr, rng) -> (n, d)``, or ``f(csr)``;
    * an object with ``fit_transform(csr)`` (scikit-learn, scikit-network), deep-copied first, its ``random_state``
      or ``seed`` set from the generator where it has one;
    * an object with ``fit(graph)`` and ``get_embedding()`` (karateclub), which receives a networkx graph.

    How much memory it takes is not known: `bytes_per_vertex` and `bytes_per_edge` are assumptions to overrule.

    Parameters
    ----------
    dim : int
        Columns of what it returns; for the advice on anchors only, the answer itself decides.
    target : object
        The function or object.
    path : str, optional
        Where it is found, ``module:attribute``, so that other machines can find it too.
    settings : tuple of pairs
        Settings that were given with the path.
    """

    target: Any = None
    path: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    bytes_per_vertex: float = field(default=4096.0)
    bytes_per_edge: float = field(default=256.0)

    name = "adapted"  # replaced per object below: people read the name of what they passed

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.path or _name(self.target))

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return what the foreign technique answers."""
        progress(0.0)
        answer: FloatArray = _call(self.target, subgraph, rng)
        return answer

    def footprint(self) -> Footprint:
        """Return a guess: a few matrices of vectors and a few copies of the graph."""
        return Footprint(
            2 * BASE_BYTES, GRAPH_BYTES_PER_VERTEX + self.bytes_per_vertex, GRAPH_BYTES_PER_EDGE + self.bytes_per_edge
        )


def adapt(target: Any, dim: int | None = None, *, path: str | None = None) -> Technique:
    """Return any callable or estimator as a technique.

    >>> adapt(lambda csr, rng: rng.normal(size=(csr.shape[0], 4)), dim=4).name
    '<lambda>'
    """
    if isinstance(target, Technique):
        return target
    if isinstance(target, type):
        target = target()
    fits = hasattr(target, "fit_transform") or (hasattr(target, "fit") and hasattr(target, "get_embedding"))
    if not (fits or callable(target)):
        raise InputError(
            f"a technique is a function f(csr, rng), or an object with fit_transform, or with fit and get_embedding; "
            f"got {type(target).__name__}"
        )
    return Adapted(dim=dim or _dim_of(target) or 128, target=target, path=path)


def from_path(path: str, settings: Mapping[str, str]) -> Technique:
    """Return the technique at ``module:attribute``; modules in the current folder are found."""
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise InputError(f"a technique of your own is given as module:function; got {path!r}")
    settings = dict(settings)
    dim = settings.pop("dim", None)
    if settings:
        raise InputError(f"{path} takes no --param; only dim can be given for a technique of your own")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(
            f"the technique {path!r} was asked for, but {module_name!r} cannot be imported: {error}"
        ) from error
    if not hasattr(module, attribute):
        raise InputError(f"the module {module_name!r} has no {attribute!r}")
    found = adapt(getattr(module, attribute), int(dim) if dim else None, path=path)
    if isinstance(found, Adapted) and dim:
        object.__setattr__(found, "settings", (("dim", dim),))
    return found


def _name(target: Any) -> str:
    return str(getattr(target, "__name__", type(target).__name__))


def _dim_of(target: Any) -> int | None:
    for attribute in ("n_components", "dimensions", "dim", "n_dimensions"):
        value = getattr(target, attribute, None)
        if isinstance(value, int) and value > 0:
            return value
    return None


def _call(target: Any, subgraph: Subgraph, rng: np.random.Generator) -> Any:
    if hasattr(target, "fit_transform"):
        return _seeded(target, rng).fit_transform(subgraph.graph.to_scipy())
    if hasattr(target, "fit") and hasattr(target, "get_embedding"):
        fresh = _seeded(target, rng)
        fresh.fit(_numbered_networkx(subgraph))
        return fresh.get_embedding()
    matrix = subgraph.graph.to_scipy()
    return target(matrix, rng) if _takes_two(target) else target(matrix)


def _seeded(target: Any, rng: np.random.Generator) -> Any:
    """Return a copy that no other subgraph has touched, its seed drawn from the generator."""
    fresh = copy.deepcopy(target)
    for attribute in ("random_state", "seed"):
        if hasattr(fresh, attribute):
            setattr(fresh, attribute, int(rng.integers(2**31)))
    return fresh


def _numbered_networkx(subgraph: Subgraph) -> Any:
    """Return a networkx graph over 0..n-1, as karateclub asks for."""
    import networkx

    return networkx.from_scipy_sparse_array(subgraph.graph.to_scipy())


def _takes_two(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(places) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)

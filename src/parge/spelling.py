"""Names that people type for others: what was probably meant."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from parge.errors import UnknownNameError

P = ParamSpec("P")
R = TypeVar("R")

# What other libraries call an option of ours, where spelling does not help.
_ELSEWHERE = {
    "dim": ("dimension", "dimensions", "dims", "d", "size", "vector_size", "embedding_dim", "embedding_dimension",
            "n_components", "n_dims", "ndim", "n_features", "embedding_size"),
    "parts": ("n_parts", "num_parts", "npartitions", "n_partitions", "partitions", "num_partitions", "k", "blocks"),
    "jobs": ("n_jobs", "num_workers", "n_workers", "threads", "n_threads", "processes", "cores", "concurrency"),
    "seed": ("random_state", "random_seed", "rng"),
    "technique": ("method", "algorithm", "algo", "model", "embedder"),
    "walks": ("num_walks", "n_walks", "walk_number", "walks_per_node", "number_walks"),
    "walk_length": ("length", "walklength", "walk_len"),
    "window": ("window_size", "context_size"),
    "negatives": ("negative", "negative_samples", "num_negative_samples"),
    "learning_rate": ("lr", "alpha"),
    "memory": ("ram", "max_memory", "memory_limit"),
    "capacities": ("sizes", "capacity"),
    "refine": ("refiner", "postprocess"),
    "reconcile": ("reconciler", "align", "alignment"),
    "engine": ("backend", "executor"),
    "weight": ("weights", "edge_weight", "weight_column", "edge_attr"),
    "source": ("src", "source_column"),
    "target": ("dst", "destination", "target_column"),
    "vertices": ("n_vertices", "num_nodes", "nodes"),
    "progress": ("verbose", "show_progress", "progress_bar"),
    "listener": ("callback", "callbacks", "on_progress"),
}  # fmt: skip

# Longer words are no slip of a name, and comparing them would take long.
_LONGEST = 200

_MEANT = {name: ours for ours, names in _ELSEWHERE.items() for name in names}


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return which of the known names was probably meant, if one was.

    >>> meant("dimensions", ["parts", "dim"]), meant("anchor_stratgy", ["anchors", "anchor_strategy"])
    ('dim', 'anchor_strategy')
    """
    names, ours = list(known), our_word(name)
    if len(name) > _LONGEST:
        return None
    if ours in names:
        return ours
    close = get_close_matches(_plain(name), names, 1)
    return close[0] if close else None


def our_word(name: str) -> str | None:
    """Return our word for what other libraries call so, or the word itself if it is one of ours.

    >>> our_word("num-walks"), our_word("walks"), our_word("unheard-of")
    ('walks', 'walks', None)
    """
    typed = _plain(name)
    return typed if typed in _ELSEWHERE else _MEANT.get(typed)


def _plain(name: str) -> str:
    return name.lower().strip("-").replace("-", "_")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names what was probably meant; empty where it cannot be known."""
    found = meant(name, known)
    return "" if found is None else f" Did you mean {found}?"


def naming_slips(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function, which answers an unknown keyword with the one that was probably meant.

    >>> naming_slips(lambda *, dim: dim)(dimension=3)
    Traceback (most recent call last):
    parge.errors.UnknownNameError: <lambda> has no option 'dimension'. Did you mean dim? It takes dim.
    """
    known = list(signature(function).parameters)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise UnknownNameError(
                    f"{function.__name__} has no option {name!r}.{suggestion(name, known)} It takes {', '.join(known)}."
                )
        return function(*args, **kwargs)

    return checked

"""Names that people type for others: what was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches

# What other libraries call an option of ours, where no spelling would tell.
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

_MEANT = {name: ours for ours, names in _ELSEWHERE.items() for name in names}


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return which of the known names was probably meant, if one was.

    Examples
    --------
    >>> meant("dimensions", ["parts", "dim"]), meant("anchor_stratgy", ["anchors", "anchor_strategy"])
    ('dim', 'anchor_strategy')
    """
    names, ours = list(known), our_word(name)
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
    """Return a sentence that names what was probably meant; empty where nobody could tell."""
    found = meant(name, known)
    return "" if found is None else f" Did you mean {found}?"

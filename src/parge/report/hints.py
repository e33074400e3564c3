"""Hints: what measurements say about a choice, for people; no part of any result."""

from parge.techniques.base import Technique

# Of `benchmarks/faster_than_gensim.py --only spectral`: whole graphs, default settings.
_WALKS_AGAINST_PRONE = (
    "of three whole graphs measured, prone took a third of deepwalk's time on two and as long on one; its micro-F1 was "
    "higher on one, the same on one, lower on one: --technique prone is worth a try (numbers in docs/kernel.md)"
)


def hints(technique: Technique) -> tuple[str, ...]:
    """Return what may be better than this technique; a rule of thumb that looks at no label and no graph."""
    return (_WALKS_AGAINST_PRONE,) if technique.name in {"deepwalk", "node2vec"} else ()

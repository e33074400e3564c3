"""How much a space has lost compared with a fresh embedding, as it is or after other edges."""

from typing import Any

from parge.embedding import Embedding
from parge.events import silent
from parge.space.aging import Drift, drift_now
from parge.space.frozen import Space, as_space
from parge.space.update import THRESHOLD, Steps, changed_space, graphs_of
from parge.storage import MEMORY


def drift(space: Space | Embedding, edges: Any = None, removed: Any = None) -> Drift:
    """Estimate how much a space has lost compared with a fresh embedding.

    Some vertices are looked at: whether communities of the graph as it is now can be named from their vectors, whether
    they are where their neighbours expect them, and rank edges that are held out. What was seen when the space was new
    is stored in it. Each call looks again. Command line: ``parge drift SPACE [EDGES]``.

    Parameters
    ----------
    space : Space or Embedding
        See `parge.open_space`.
    edges, removed : graph, path, or pairs of ids, optional
        Edges that came and went since, as `parge.update` takes them: the drift after that update, which is not kept.
    """
    space = as_space(space)
    if edges is not None or removed is not None:
        more, less = graphs_of(edges, removed)
        space = changed_space(space, more, less, THRESHOLD, MEMORY, silent, Steps()).space
    return drift_now(space)

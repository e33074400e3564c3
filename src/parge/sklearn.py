"""A thin scikit-learn estimator over `parge.embed`, for pipelines and grid searches."""

from dataclasses import fields
from inspect import Parameter, Signature
from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from parge.graph.graph import Graph
from parge.planning.plan import Plan
from parge.run.pipeline import embed
from parge.typing import FloatArray

# The settings of a plan, and the former name of `jobs`.
_DEFAULTS = {field.name: field.default for field in fields(Plan) if field.name != "technique"} | {"workers": None}


class ParallelEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Embeds the vertices of a `Graph` or an adjacency matrix in parts; parameters are the fields of `Plan`.

    Transductive: `fit_transform` returns one row per vertex; `transform` returns the same rows, for the same matrix
    only. `workers` is the former name of `jobs`.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> from parge.techniques.hope import HOPE
    >>> estimator = ParallelEmbedding(HOPE(dim=4), parts=2, engine="serial")
    >>> estimator.fit_transform(ring_of_cliques(6, 5).to_scipy()).shape
    (30, 4)
    """

    def __init__(self, technique: Any = "deepwalk", **settings: Any) -> None:
        self.technique = technique
        for name, default in _DEFAULTS.items():
            setattr(self, name, settings.pop(name, default))
        if settings:
            raise TypeError(f"ParallelEmbedding has no parameter {', '.join(settings)}; it has {', '.join(_DEFAULTS)}")

    # scikit-learn looks here for the names of the parameters.
    __init__.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter("self", Parameter.POSITIONAL_ONLY),
            Parameter("technique", Parameter.POSITIONAL_OR_KEYWORD, default="deepwalk"),
            *(Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in _DEFAULTS.items()),
        ]
    )

    def fit(self, X: Any, y: Any = None) -> "ParallelEmbedding":
        """Embed a `Graph`, or the graph of a square adjacency matrix."""
        graph = X if isinstance(X, Graph) else Graph.from_scipy(sp.csr_matrix(X))
        given = self.get_params(deep=False)
        if given["workers"] is None:
            del given["workers"]  # nobody used the former name
        self.embedding_ = embed(graph, Plan(**given))
        self.n_features_in_ = graph.n_vertices
        return self

    def fit_transform(self, X: Any, y: Any = None, **_fit_params: Any) -> FloatArray:
        """Embed the graph and return its vectors, one row per vertex."""
        return self.fit(X, y).embedding_.vectors

    def transform(self, X: Any) -> FloatArray:
        """Return the vectors of the fitted graph; X must have the same number of vertices."""
        n_vertices = X.n_vertices if isinstance(X, Graph) else X.shape[0]
        if n_vertices != self.n_features_in_:
            raise ValueError(
                f"fitted on {self.n_features_in_:,} vertices; got {n_vertices:,}. Fit it on this graph first."
            )
        return self.embedding_.vectors

"""A scikit-learn transformer from vertex ids to vectors: for pipelines, cross-validation and searches."""

from dataclasses import fields
from inspect import Parameter, Signature
from typing import Any, NoReturn, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from parge.embedding import Embedding
from parge.errors import InputError, UnknownIdError
from parge.front.calls import warn
from parge.graph.graph import Graph
from parge.ids import as_ids, positions, show_ids
from parge.io.graphs.anything import as_graph
from parge.planning.plan import Plan
from parge.run.pipeline import embed
from parge.show.text import count
from parge.spelling import suggestion
from parge.techniques.base import Technique
from parge.techniques.registry import techniques
from parge.techniques.resolve import resolve, setting_names
from parge.typing import FloatArray, IdArray

# The settings of a plan, and the former name of `jobs`; and what is no setting of a plan.
_DEFAULTS = {field.name: field.default for field in fields(Plan) if field.name != "technique"} | {"workers": None}
_DEFAULTS |= {"new_edges": None}
_NESTED = "technique__"


class ParallelEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns vertex ids into the vectors of an embedded graph; `fit` embeds, `transform` looks up.

    The graph is a parameter, and X are vertex ids: a list, an array, a column of a frame. So rows of X can be split, as
    cross-validation does, while all of them are vertices of one graph. The whole graph is embedded, whichever ids
    `fit` is given: edges at test vertices are used, and no label is. Clones with an equal plan and the same `Graph`
    share one embedding, so that ten folds embed once.

    Parameters
    ----------
    graph : Graph, path, frame, graph of another library or matrix
        Whatever `parge.as_graph` takes. Give a `Graph` to read it once.
    technique : Technique, callable, object with fit_transform, or name
        Its settings are parameters, too: ``technique__dim``.
    new_edges : graph, path or pairs of ids, optional
        Edges of vertices that are not in the graph. `transform` places these vertices in the same space
        (`Embedding.place`); no other vector changes.
    **settings
        The fields of `parge.Plan`; `workers` is the former name of `jobs`.

    Attributes
    ----------
    embedding_ : Embedding
        All vectors, their ids, and the report.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> from parge.techniques.hope import HOPE
    >>> estimator = ParallelEmbedding(ring_of_cliques(6, 5), HOPE(dim=4), parts=2, engine="serial")
    >>> estimator.fit_transform([0, 7, 29]).shape
    (3, 4)
    """

    def __init__(self, graph: Any = None, technique: Any = "deepwalk", **settings: Any) -> None:
        self.graph = graph
        self.technique = technique
        for name, default in _DEFAULTS.items():
            setattr(self, name, settings.pop(name, default))
        for name in settings:
            close = suggestion(name, _DEFAULTS)
            raise TypeError(f"ParallelEmbedding has no parameter {name!r}.{close} It has {', '.join(_DEFAULTS)}")

    # scikit-learn looks here for the names of the parameters.
    __init__.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter("self", Parameter.POSITIONAL_ONLY),
            Parameter("graph", Parameter.POSITIONAL_OR_KEYWORD, default=None),
            Parameter("technique", Parameter.POSITIONAL_OR_KEYWORD, default="deepwalk"),
            *(Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in _DEFAULTS.items()),
        ]
    )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep`, the settings of the technique as ``technique__dim``."""
        found: dict[str, Any] = super().get_params(deep=deep)
        if deep and (isinstance(self.technique, Technique) or _is_name(self.technique)):
            technique = resolve(self.technique)
            found |= {f"{_NESTED}{name}": getattr(technique, name) for name in setting_names(technique) or ()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``technique__dim`` gives the technique another dim."""
        nested = {name.removeprefix(_NESTED): params.pop(name) for name in list(params) if name.startswith(_NESTED)}
        super().set_params(**params)
        if nested:
            self.technique = resolve(self.technique, nested)
        return self

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Embed the graph; X are the ids that are used, which may be any vertices, and y is ignored."""
        if X is not None and not _ids(X).size:
            raise InputError("X must be vertex ids; found 0 of them")
        graph, plan = self._graph(), self._plan()
        found = _embedded(graph, plan)
        if found is None:
            found = embed(graph, plan)
            warn(found.report.notices, found.report.warnings)
            _CACHE[graph] = (plan, found)
        self.embedding_ = found
        self.n_features_in_ = 1
        self._n_features_out = found.dim
        return self

    def _graph(self) -> Graph:
        if self.graph is None:
            raise InputError("the graph is a parameter, and X are vertex ids: ParallelEmbedding(graph).fit(ids)")
        if isinstance(self.graph, Technique):
            raise InputError(
                f"the first parameter is the graph; got {self.graph!r}. Write ParallelEmbedding(graph, technique)."
            )
        return as_graph(self.graph)

    def _plan(self) -> Plan:
        given = self.get_params(deep=False)
        del given["graph"], given["new_edges"]
        if given["workers"] is None:
            del given["workers"]  # nobody used the former name
        return Plan(**given)

    def transform(self, X: Any) -> FloatArray:
        """Return the vector of each id in X; raise `UnknownIdError`, a ValueError, for a vertex that is not there."""
        check_is_fitted(self, "embedding_")
        ids = _ids(X)
        is_new = positions(self.embedding_.ids, ids) < 0
        if not is_new.any():
            return self.embedding_.rows(ids)
        if self.new_edges is None:
            self._refuse(ids[is_new], "")
        placed = self.embedding_.place(self.new_edges)
        unknown = positions(placed.ids, ids[is_new]) < 0
        if unknown.any():
            self._refuse(ids[is_new][unknown], f"; new_edges has {len(placed):,} new ones")
        found = np.empty((ids.size, self.embedding_.dim), np.float32)
        found[~is_new] = self.embedding_.rows(ids[~is_new])
        found[is_new] = placed.rows(ids[is_new])
        return found

    def _refuse(self, unknown: IdArray, more: str) -> NoReturn:
        known = self.embedding_
        raise UnknownIdError(
            f"there is no vector for {show_ids(unknown)}. The graph has {count(len(known), 'id')}, such as "
            f"{show_ids(known.ids)}{more}. Give edges of such vertices as new_edges, and they are placed."
        )

    def __sklearn_tags__(self) -> Any:
        """Say that X is a column of ids, numbers or text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        tags.transformer_tags.preserves_dtype = []  # ids are no numbers of the vectors
        return tags


def _is_name(technique: Any) -> bool:
    return isinstance(technique, str) and technique in techniques.names()


# The last embedding of each graph that still exists: folds and candidates that differ in later steps share it.
_CACHE: WeakKeyDictionary[Graph, tuple[Plan, Embedding]] = WeakKeyDictionary()


def _embedded(graph: Graph, plan: Plan) -> Embedding | None:
    """Return the embedding of this very graph by an equal plan, if it is there: embedding again gives its bits."""
    kept, found = _CACHE.get(graph, (None, None))
    try:
        return found if kept == plan else None
    except ValueError:  # arrays in a plan have no single answer
        return None


def _ids(X: Any) -> IdArray:
    """Return X as a flat array of ids; one column is one."""
    if isinstance(X, Graph) or hasattr(X, "tocsr"):
        kind = "a graph" if isinstance(X, Graph) else "a sparse matrix, which is not supported"
        raise InputError(
            f"X must be vertex ids; got {kind}. The graph is a parameter: ParallelEmbedding(graph).fit_transform(ids)"
        )
    found = np.asarray(X)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise InputError(f"X must be a column of vertex ids; got shape {found.shape}")
    if found.dtype == object:
        found = np.array(found.tolist())  # integers in a column of objects are integers
    return as_ids(_whole(found) if found.dtype.kind == "f" else found)


def _whole(numbers: FloatArray) -> IdArray:
    """Return floats as the integers that they are, which frames and other steps make of ids."""
    if not (np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all()):
        raise InputError(f"X must be vertex ids; got {numbers.dtype} with fractions, NaN or inf")
    return numbers.astype(np.int64)

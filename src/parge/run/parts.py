"""A subgraph and its result as folders that can be copied to any machine and back."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.run import arrays
from parge.typing import FloatArray

SUBGRAPH, RESULT = "subgraph", "result"


def save_subgraph(folder: Path, subgraph: Subgraph, facts: dict[str, Any]) -> None:
    """Write all that a worker needs: the induced rows, weights, features, and what to do with them."""
    content = graph_arrays(subgraph.graph)
    content["vertices"] = subgraph.vertices
    arrays.save(folder / SUBGRAPH, SUBGRAPH, content, {**facts, "index": subgraph.index, "n_own": subgraph.n_own})


def load_subgraph(folder: Path) -> tuple[Subgraph, dict[str, Any]]:
    """Return the subgraph and the facts written with it."""
    if not arrays.exists(folder / SUBGRAPH):
        raise InputError(f"{folder} is not a part folder: it has no {SUBGRAPH}/{arrays.MANIFEST}")
    content, facts = arrays.load(folder / SUBGRAPH, SUBGRAPH)
    try:
        graph = graph_of(content)
        subgraph = Subgraph(graph, np.asarray(content["vertices"]), int(facts["n_own"]), int(facts["index"]))
    except (KeyError, ValueError, TypeError) as error:
        raise arrays.DamagedError(f"{folder} does not hold a subgraph: {error}") from None
    return subgraph, facts


def graph_arrays(graph: Graph) -> dict[str, np.ndarray[Any, Any]]:
    """Return a graph's rows, weights and features as plain arrays."""
    content: dict[str, np.ndarray[Any, Any]] = {"indptr": graph.indptr, "indices": graph.indices}
    if graph.weights is not None:
        content["weights"] = graph.weights
    if graph.features is not None:
        features = sp.csr_matrix(graph.features)
        content |= {
            "features_indptr": features.indptr,
            "features_indices": features.indices,
            "features_data": features.data,
            "features_shape": np.array(features.shape, np.int64),
        }
    return content


def graph_of(content: dict[str, np.ndarray[Any, Any]]) -> Graph:
    """Return the graph of `graph_arrays`."""
    features = None
    if "features_shape" in content:
        data, indices, indptr = (content[f"features_{name}"] for name in ("data", "indices", "indptr"))
        features = sp.csr_matrix((data, indices, indptr), shape=tuple(content["features_shape"].tolist()))
    return Graph(content["indptr"], content["indices"], content.get("weights"), features=features)


def save_result(folder: Path, vectors: FloatArray, facts: dict[str, Any]) -> None:
    """Write the local vectors and how they came about."""
    arrays.save(folder / RESULT, RESULT, {"vectors": vectors}, facts)


def load_result(folder: Path) -> tuple[FloatArray, dict[str, Any]]:
    """Return the local vectors (memory-mapped) and how they came about."""
    content, facts = arrays.load(folder / RESULT, RESULT)
    return content["vectors"], facts


def load_facts(folder: Path) -> dict[str, Any]:
    """Return how the local vectors came about, without reading them."""
    return arrays.load(folder / RESULT, RESULT, arrays=False)[1]

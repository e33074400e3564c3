"""How a graph and its ids become plain arrays, and back; what comes back is checked."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.graph.graph import Graph
from parge.storage import release_pages, row_blocks
from parge.typing import FloatArray, IdArray, IntArray, NeighbourArray

Arrays = dict[str, np.ndarray[Any, Any]]

# Neighbours looked at together, with some 30 bytes each: little compared with what any technique holds.
_NEIGHBOURS = 1 << 14

# More columns of features than any memory has room for offsets into.
_MOST_FEATURES = 1 << 40


def graph_arrays(graph: Graph) -> Arrays:
    """Return a graph's rows, weights and features as plain arrays."""
    content: Arrays = {"indptr": graph.indptr, "indices": graph.indices}
    if graph.weights is not None:
        content["weights"] = graph.weights
    if graph.features is not None:
        features = sp.csr_matrix(graph.features)
        content |= {
            "features_indptr": features.indptr,
            "features_indices": features.indices,
            "features_data": np.asarray(features.data, np.float32),
            "features_shape": np.array(features.shape, np.int64),
        }
    return content


def graph_of(content: Arrays, ids: IdArray | None = None) -> Graph:
    """Return the graph of `graph_arrays`; raise ValueError if it is not a valid graph.

    Kernels use these indices without checking them, so all of them are checked here, one block at a time.
    That edges go both ways is not checked: no kernel depends on it for indexing.
    """
    graph = Graph(content["indptr"], content["indices"], content.get("weights"), ids, _features(content))
    for block in row_blocks(graph.indices.size, _NEIGHBOURS):
        release_pages(graph.indices, graph.weights)  # or checking a dense part takes more memory than embedding it
        check_neighbours(graph.indptr, graph.indices, graph.weights, block)
    release_pages(graph.indptr, graph.indices, graph.weights)
    return graph


def _features(content: Arrays) -> Any:
    if "features_shape" not in content:
        return None
    data, indices, indptr, shape = (content[f"features_{name}"] for name in ("data", "indices", "indptr", "shape"))
    if shape.size != 2 or not 0 <= shape[1] < _MOST_FEATURES or not np.isfinite(data).all():
        raise ValueError("its features are not a matrix of finite numbers")
    features = sp.csr_matrix((data, indices, indptr), shape=tuple(shape.tolist()))
    features.check_format(full_check=True)
    return features


def check_neighbours(
    indptr: IntArray, indices: NeighbourArray, weights: FloatArray | None, block: slice, names: Any = None
) -> None:
    """Refuse rows that are unsorted or hold a duplicate or their own vertex, and weights that are not positive.

    Offsets and neighbours are valid already. `names` are the numbers of the rows, if not 0, 1, 2 and so on.
    """
    start = max(0, block.start - 1)  # the last of the block before, so that no two neighbours go uncompared
    neighbour = indices[start : block.stop]
    first, last = np.searchsorted(indptr, [start, block.stop - 1], side="right") - 1
    ends = np.clip(indptr[first : last + 2], start, block.stop)
    row = np.repeat(np.arange(first, last + 1), np.diff(ends))
    if (neighbour == (row if names is None else names[row])).any():
        raise ValueError("a vertex is its own neighbour")
    if (np.diff(neighbour)[np.diff(row) == 0] <= 0).any():
        raise ValueError("a row is not sorted, or holds a neighbour twice")
    if weights is not None and not (np.isfinite(weights[block]).all() and (weights[block] > 0).all()):
        raise ValueError("a weight is not positive and finite")


def id_arrays(ids: IdArray | None) -> Arrays:
    """Return outside ids as plain arrays; strings as UTF-8 bytes and the offset where each ends."""
    if ids is None:
        return {}
    if ids.dtype.kind == "i":
        return {"ids": ids}
    encoded = [text.encode() for text in ids.tolist()]
    return {
        "id_bytes": np.frombuffer(b"".join(encoded), np.uint8),
        "id_ends": np.cumsum([len(text) for text in encoded], dtype=np.int64),
    }


def ids_of(content: Arrays) -> IdArray | None:
    """Return the ids of `id_arrays`; what cannot be ids raises ValueError."""
    if "ids" in content:
        return np.asarray(content["ids"])
    if "id_ends" not in content:
        return None
    data, ends = content["id_bytes"].tobytes(), content["id_ends"].tolist()
    starts = [0, *ends][:-1]
    if any(start > end for start, end in zip(starts, ends, strict=True)) or (ends and ends[-1] != len(data)):
        raise ValueError("the offsets of its ids do not increase to the end of their text")
    texts = [data[start:end].decode() for start, end in zip(starts, ends, strict=True)]
    return np.array(texts, np.dtypes.StringDType())

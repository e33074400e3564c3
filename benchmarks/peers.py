"""pycleora, scikit-network and scipy's ARPACK on one core, in a process of their own.

``python peers.py TASK.npz ANSWER.npz``, as `competitors` runs it; this file imports nothing of parge, so that the
memory of the process is the package's. The task holds every edge once. The answer holds vectors in vertex order, the
seconds of the call, by the clock and on a core (the package's own graph made before, as reading a file is not counted
for anybody), and the largest memory of the process.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Call = Callable[[], Any]


def cleora(source: Any, target: Any, settings: dict[str, Any]) -> Call:
    """Return pycleora's embedding of a graph, as a call."""
    pycleora = import_module("pycleora")
    lines = (f"{u} {v}" for u, v in zip(source.tolist(), target.tolist(), strict=True))
    graph = pycleora.SparseMatrix.from_iterator(lines, "complex::reflexive::vertex", num_workers=1)
    rows = np.array([int(name) for name in graph.entity_ids])

    def call() -> Any:
        found = pycleora.embed(
            graph, settings["dim"], seed=settings["seed"], num_workers=1, **settings.get("options", {})
        )
        # A vertex without edges is not in its graph.
        vectors = np.zeros((settings["vertices"], found.shape[1]), np.float32)
        vectors[rows] = found
        return vectors

    return call


def scikit_network(source: Any, target: Any, settings: dict[str, Any]) -> Call:
    """Return a scikit-network embedding of a graph, as a call."""
    embedding = import_module("sknetwork.embedding")
    n = settings["vertices"]
    half = sp.coo_matrix((np.ones(source.size), (source, target)), shape=(n, n))
    adjacency = (half + half.T).tocsr()
    options = dict(settings.get("options", {}))
    if settings["name"] == "LouvainEmbedding":  # its dimension is what it finds
        options |= {"random_state": settings["seed"], "isolated_nodes": "merge"}
    else:
        options["n_components"] = settings["dim"]
    if settings["name"] == "RandomProjection":
        options["random_state"] = settings["seed"]
    return lambda: getattr(embedding, settings["name"])(**options).fit_transform(adjacency)


def arpack(source: Any, target: Any, settings: dict[str, Any]) -> Call:
    """Return the vectors of HOPE by common neighbours, ``V |λ|`` of A, from scipy's ARPACK with four digits."""
    linalg = import_module("scipy.sparse.linalg")
    n, k = settings["vertices"], settings["dim"]
    half = sp.coo_matrix((np.ones(source.size), (source, target)), shape=(n, n))
    adjacency = (half + half.T).tocsr()

    def call() -> Any:
        start = np.random.default_rng(settings["seed"]).standard_normal(n)
        values, vectors = linalg.eigsh(adjacency, k, which="LM", tol=1e-4, v0=start)
        return vectors * np.abs(values)

    return call


PACKAGES = {"pycleora": cleora, "scikit-network": scikit_network, "scipy": arpack}


def unit_rows(vectors: Any) -> Any:
    """Return every row divided by its length."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def peak() -> int:
    """Return the memory of this process at its highest."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def main(task: str, answer: str) -> None:
    warnings.simplefilter("ignore")
    with np.load(task) as arrays:
        settings, source, target = json.loads(str(arrays["settings"])), arrays["source"], arrays["target"]
    np.random.seed(settings["seed"])  # scikit-network's solvers start from the global generator
    call = PACKAGES[settings["package"]](source, target, settings)
    start, cpu_start = time.perf_counter(), time.process_time()
    found = call()
    cost = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}
    metadata: dict[str, Any] = {**cost, "peak_bytes": peak()}
    metadata["versions"] = {settings["package"]: version(settings["package"])}
    vectors = np.asarray(found.toarray() if sp.issparse(found) else found, np.float32)
    metadata["not_finite"] = int((~np.isfinite(vectors)).any(axis=1).sum())
    vectors = np.nan_to_num(vectors, posinf=0, neginf=0)
    np.savez(
        answer, vectors=unit_rows(vectors) if settings.get("unit_rows") else vectors, metadata=json.dumps(metadata)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

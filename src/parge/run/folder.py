"""RunFolder: where a run keeps its plan, its subgraphs and their results, and how it is taken up again."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parge.decompose.decomposition import Decomposition
from parge.errors import InputError, PargeError
from parge.graph.graph import Graph
from parge.memory import Footprint
from parge.run import arrays, parts
from parge.typing import IdArray

PLAN, GRAPH = "plan", "graph"


@dataclass(frozen=True)
class RunFolder:
    """A run on disk.

    ``plan/`` holds the settings and who belongs where, ``graph/`` the graph, ``parts/000/subgraph`` all that the
    first worker needs, ``parts/000/result`` what it answered. Each appears whole, by a rename, or not at all.
    """

    path: Path

    def part(self, i: int) -> Path:
        """Return the folder of subgraph i, which can be copied to any machine and back."""
        return self.path / "parts" / f"{i:03d}"

    @property
    def exists(self) -> bool:
        """Whether a run was planned here."""
        return arrays.exists(self.path / PLAN)

    def save_plan(self, decomposition: Decomposition, facts: dict[str, Any]) -> None:
        """Write the decomposition and the settings that led to it; a run exists from here on."""
        content: dict[str, np.ndarray[Any, Any]] = {
            "part": decomposition.part,
            "anchors": decomposition.anchors,
            "capacities": decomposition.capacities,
            **id_arrays(decomposition.graph.ids),
        }
        if decomposition.budgets is not None and decomposition.footprint is not None:
            content["budgets"] = decomposition.budgets
            footprint = decomposition.footprint
            facts = {**facts, "footprint": [footprint.fixed, footprint.per_vertex, footprint.per_edge]}
        arrays.save(self.path / GRAPH, GRAPH, parts.graph_arrays(decomposition.graph), {})
        arrays.save(self.path / PLAN, PLAN, content, facts)

    def facts(self) -> dict[str, Any]:
        """Return the settings of the run."""
        return arrays.load(self.path / PLAN, PLAN, arrays=False)[1]

    def load_plan(self, graph: Graph | None = None) -> tuple[Decomposition, dict[str, Any]]:
        """Return the decomposition and the settings; the graph is read from the folder unless given."""
        content, facts = arrays.load(self.path / PLAN, PLAN)
        if graph is None:
            stored, _ = arrays.load(self.path / GRAPH, GRAPH)
            bare = parts.graph_of(stored)
            graph = Graph(bare.indptr, bare.indices, bare.weights, ids_of(content), bare.features)
        footprint = Footprint(*facts["footprint"]) if "footprint" in facts else None
        decomposition = Decomposition(
            graph, content["part"], content["anchors"], content["capacities"], content.get("budgets"), footprint
        )
        return decomposition, facts

    def has_subgraph(self, i: int) -> bool:
        """Return whether subgraph i is there and intact."""
        return _intact(self.part(i) / parts.SUBGRAPH, parts.SUBGRAPH)

    def has_result(self, i: int) -> bool:
        """Return whether the result of subgraph i is there and intact."""
        return _intact(self.part(i) / parts.RESULT, parts.RESULT)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other parge out of this folder; the system lets go of the lock when the process ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.read(descriptor, 20).decode(errors="replace").strip()
                raise PargeError(
                    f"another parge (process {holder or 'unknown'}) is at work in {self.path}; wait for it, or stop it"
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            self._sweep()
            yield
        finally:
            os.close(descriptor)

    def _sweep(self) -> None:
        """Remove what a killed run left under temporary names."""
        for leftover in [*self.path.glob("*.tmp-*"), *self.path.glob("parts/*/*.tmp-*"), *self.path.rglob("*.old-*")]:
            shutil.rmtree(leftover, ignore_errors=True)


def _intact(folder: Path, kind: str) -> bool:
    if not arrays.exists(folder):
        return False
    try:
        arrays.load(folder, kind)
    except arrays.DamagedError:
        return False
    return True


def check_same(facts: dict[str, Any], wanted: dict[str, Any], path: Path) -> None:
    """Refuse to go on with a run that was begun under another plan; name the fields that differ."""
    begun = facts["settings"]
    differing = [
        f"{key} (was {begun.get(key)!r}, now {wanted.get(key)!r})"
        for key in sorted({*begun, *wanted})
        if begun.get(key) != wanted.get(key)
    ]
    if differing:
        raise InputError(f"{path} holds a run with another plan: {'; '.join(differing)}. Use another folder.")


def fingerprint(graph: Graph) -> str:
    """Return a short text that is equal for equal graphs."""
    digest = hashlib.sha256()
    for array in (*parts.graph_arrays(graph).values(), *id_arrays(graph.ids).values()):
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def id_arrays(ids: IdArray | None) -> dict[str, np.ndarray[Any, Any]]:
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


def ids_of(content: dict[str, np.ndarray[Any, Any]]) -> IdArray | None:
    """Return the ids of `id_arrays`."""
    if "ids" in content:
        return np.asarray(content["ids"])
    if "id_ends" not in content:
        return None
    data, ends = content["id_bytes"].tobytes(), content["id_ends"].tolist()
    starts = [0, *ends[:-1]]
    texts = [data[start:end].decode() for start, end in zip(starts, ends, strict=True)]
    return np.array(texts, np.dtypes.StringDType())

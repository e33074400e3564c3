"""What a run's folder holds, counted by slow and obvious code from its arrays, without any of parge's own."""

from pathlib import Path
from typing import Any

import numpy as np

Edge = tuple[int, int]


class Counted:
    """A plan and its graph as their files have them; every method counts one thing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        plan = {file.stem: np.load(file) for file in (folder / "plan").glob("*.npy")}
        graph = {file.stem: np.load(file) for file in (folder / "graph").glob("*.npy")}
        self.part: list[int] = plan["part"].tolist()
        self.anchors: set[int] = set(plan["anchors"].tolist())
        self.capacities: list[int] = plan["capacities"].tolist()
        self.lump: list[int] | None = plan["lump"].tolist() if "lump" in plan else None
        self.halo_sizes: list[int] = plan["halos"].tolist() if "lump" in plan else [0] * len(self.capacities)
        indptr, indices = graph["indptr"].tolist(), graph["indices"].tolist()
        self.neighbours = [set(indices[indptr[v] : indptr[v + 1]]) for v in range(len(self.part))]
        self.edges: list[Edge] = [(u, v) for u, row in enumerate(self.neighbours) for v in row if u < v]
        self.n_parts = len(self.capacities)

    def own(self, i: int) -> set[int]:
        return {v for v, part in enumerate(self.part) if part == i} - self.anchors

    def halo(self, i: int) -> set[int]:
        """Return the foreign vertices that bring most edges into part i for what they take, as many as its halo has."""
        own = self.own(i)
        foreign = [v for v in range(len(self.part)) if v not in own | self.anchors and self.neighbours[v] & own]
        foreign.sort(key=lambda v: (-len(self.neighbours[v] & own) / (64 + len(self.neighbours[v])), v))
        return set(foreign[: self.halo_sizes[i]])

    def place(self, i: int) -> list[Any]:
        """Return what each vertex is in subgraph i: itself, a lump, or nothing."""
        single = self.own(i) | self.anchors | self.halo(i)
        if self.lump is None:
            return [v if v in single else None for v in range(len(self.part))]
        return [v if v in single else f"lump {self.lump[v]}" for v in range(len(self.part))]

    def lumps(self, i: int) -> int:
        """Return how many lumps without a vertex of its own subgraph i knows of, also those that its halo emptied."""
        if self.lump is None:
            return 0
        ours = {self.lump[v] for v in self.own(i) | self.anchors}
        return len(set(self.lump) - ours)

    def vertices(self, i: int) -> int:
        return len(self.own(i)) + len(self.anchors) + len(self.halo(i)) + self.lumps(i)

    def subgraph_edges(self, i: int) -> int:
        """Return its edges; of those among landmarks, which are thinned, as many as its own file has."""
        place, single = self.place(i), self.own(i) | self.halo(i)
        ends = {frozenset((place[u], place[v])) for u, v in self.edges}
        ends = {pair for pair in ends if len(pair) == 2 and None not in pair}
        if self.lump is None:
            return len(ends)
        others = sum(bool(pair & single) for pair in ends)
        return others + self._among_landmarks(i, at_most=len(ends) - others)

    def _among_landmarks(self, i: int, *, at_most: int) -> int:
        files = self.folder / "parts" / f"{i:03d}" / "subgraph"
        indptr, indices = (np.load(files / f"{name}.npy").tolist() for name in ("indptr", "indices"))
        first, last = len(self.own(i)), len(self.own(i)) + len(self.anchors)
        landmark = {v for v in range(len(indptr) - 1) if first <= v < last or v >= last + len(self.halo(i))}
        found = sum(u in landmark for v in landmark for u in indices[indptr[v] : indptr[v + 1]]) // 2
        assert found <= at_most
        return found

    def kind(self, edge: Edge) -> str:
        u, v = edge
        if {u, v} & self.anchors:
            return "at_anchors"
        if self.part[u] == self.part[v]:
            return "inside"
        held = v in self.halos[self.part[u]] or u in self.halos[self.part[v]]
        return "in_halos" if held else "lost"

    @property
    def halos(self) -> list[set[int]]:
        if not hasattr(self, "_halos"):
            self._halos = [self.halo(i) for i in range(self.n_parts)]
        return self._halos

    def counts(self) -> dict[str, int]:
        kinds = [self.kind(edge) for edge in self.edges]
        return {name: kinds.count(name) for name in ("inside", "at_anchors", "in_halos", "lost")}

    def matrix(self) -> list[list[int]]:
        """Return the edges inside each part, and those lost between each two."""
        found = [[0] * self.n_parts for _ in range(self.n_parts)]
        for u, v in self.edges:
            i, j = self.part[u], self.part[v]
            if self.kind((u, v)) == "inside":
                found[i][i] += 1
            elif self.kind((u, v)) == "lost":
                found[i][j] += 1
                found[j][i] += 1
        return found

    def kept(self, i: int) -> float:
        """Return the share of the edges at own vertices that the subgraph holds between single vertices."""
        own, single = self.own(i), self.own(i) | self.anchors | self.halos[i]
        touched = [edge for edge in self.edges if set(edge) & own]
        return sum(set(edge) <= single for edge in touched) / len(touched) if touched else 1.0

    def stay(self) -> float:
        """Return the share of the edges between non-anchors that stay in their part."""
        plain = [(u, v) for u, v in self.edges if not {u, v} & self.anchors]
        return sum(self.part[u] == self.part[v] for u, v in plain) / max(1, len(plain))

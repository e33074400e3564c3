"""What shards have saved in files, read back and checked: by the next stage, or by a run that is resumed."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from parge.cluster.checks import check_range, check_rows, demand, refusing
from parge.cluster.ingest import Shard
from parge.cluster.redistribute import PartRows
from parge.cluster.rows import Owners
from parge.run import arrays
from parge.run.codec import Arrays, ids_of
from parge.run.schema import ROWS, SHARD
from parge.storage import row_blocks
from parge.typing import IdArray
from parge.values import Value

# Codes looked at together.
_CODES = 1 << 20


def load_shard(folder: Path, owners: Owners, rank: int) -> Shard:
    """Return what a shard has read, mapped from its files; it has the rows that it owns."""
    content, _ = arrays.load(folder, SHARD)
    with refusing(folder):
        check_rows(content, owners.n_vertices)
        names = np.array(content["names"])
        demand(names.size == owners.count(rank), "it has not as many vertices as it owns")
        demand(bool((owners(names) == rank).all()), "it has a vertex that another shard owns")
        return Shard(names, _ids(content), np.array(content["indptr"]), content["indices"], content.get("weights"))


def load_rows(folder: Path, index: int, n_vertices: int, n_parts: int) -> PartRows:
    """Return the rows of a part, mapped from its files."""
    content, _ = arrays.load(folder, ROWS)
    with refusing(folder):
        check_rows(content, n_vertices)
        codes = content["codes"]
        for block in row_blocks(codes.size, _CODES):
            check_range(codes[block], 2 * n_parts, "a neighbour is in no part")
        return PartRows(
            index,
            np.array(content["names"]),
            np.array(content["is_anchor"]),
            _ids(content),
            np.array(content["indptr"]),
            content["indices"],
            codes,
            content.get("weights"),
        )


@dataclass(frozen=True, kw_only=True)
class SavedPass(Value):
    """What is kept of a pass beside its arrays."""

    run: str
    done: int
    rank: int
    changes: tuple[float, ...]
    length: float
    is_over: bool

    def check(self, shapes: Mapping[str, tuple[int, ...]], shape: tuple[int, ...]) -> None:
        """Raise ValueError unless it fits vectors of a shape."""
        dim = shape[1]
        expected = {"vectors": shape, "mean": (dim,), "matrix": (dim, dim)}
        demand(dict(shapes) == expected, "its arrays are not those of the pass")
        demand(self.done > 0 and 0 <= self.rank <= dim, "a number of the pass is too small or too large")
        demand(all(map(isfinite, (self.length, *self.changes))), "a number of the pass is not finite")


def _ids(content: Arrays) -> IdArray:
    found = ids_of(content)
    if found is None:
        raise ValueError("it lacks the ids of its vertices")
    demand(len(found) == content["names"].size, "it has not one id for each vertex")
    return found

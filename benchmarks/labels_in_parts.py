"""Claim: in 8 and 16 parts labels are predicted at least as well as by pycleora on the whole graph.

From the project's root, ten minutes with all seeds; what is already in results/labels is not computed twice::

    python -m benchmarks.labels_in_parts [--data FOLDER] [--seeds 3] [--graphs NAME ...] [--only ROW ...]
    python -m benchmarks.labels_in_parts --tables-only

Known-count micro-F1, half of the labelled vertices for training, five shuffles a seed, 128 columns, one process. Each
technique has its own pass; *for both* is ``--for both``. pycleora embeds the whole graph, at its defaults and with rows
of length 1 (`benchmarks.peers`).
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import comparison, harness
from benchmarks.comparison import SkippedError, key, peer
from benchmarks.harness import Claim, Result, markdown_table
from benchmarks.links_in_parts import in_parts, shown_mean
from benchmarks.paper.__main__ import progress
from benchmarks.paper.cells import Cell, Cells

import parge

OURS: dict[str, dict[str, Any]] = {
    "deepwalk": {"technique": "deepwalk"},
    "deepwalk for both": {"technique": "deepwalk", "purpose": "both"},
    "blend": {"technique": "blend"},
    "whitened": {"technique": "whitened"},
    "closedform": {"technique": "closedform"},
}
PEERS: dict[str, dict[str, Any]] = {"pycleora": {}, "pycleora, unit rows": {"unit_rows": True}}
PARTS = (8, 16)
GRAPHS = ("cora", "blogcatalog", "youtube-groups")


def cell_of(case: comparison.Case, vectors: Any, seed: int) -> Cell:
    """Return the scores, or nothing where there are no vectors."""
    return {"failed": "no vectors"} if vectors is None else case.score(np.asarray(vectors, np.float32), seed)


def ours(case: comparison.Case, settings: Mapping[str, Any], parts: int, seed: int) -> Cell:
    plan = parge.Plan(parts=parts, seed=seed, engine="serial", **settings)
    return cell_of(case, parge.embed(case.graph, plan).vectors, seed)


def theirs(case: comparison.Case, settings: Mapping[str, Any], seed: int) -> Cell:
    return cell_of(case, peer("pycleora", **settings)(case.graph, seed)[0], seed)


def rows(case: comparison.Case, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield every row with what computes it."""
    for name, settings in PEERS.items():
        yield name, partial(theirs, case, settings, seed)
    for name, settings in OURS.items():
        for parts in PARTS:
            yield in_parts(name, parts), partial(ours, case, settings, parts, seed)


def table(dataset: Mapping[str, Any], found: Mapping[str, Sequence[Cell]]) -> str:
    lines = []
    for name, cells in found.items():
        both = [[cell[score] for cell in cells if score in cell] for score in ("micro_f1", "macro_f1")]
        lines.append([name, *(shown_mean(some) if some else "–" for some in both), str(len(both[0]))])
    size = f"{dataset['vertices']:,} vertices, {dataset['edges']:,} edges"
    return f"**{dataset['name']}** ({size})\n\n{markdown_table(['', 'micro-F1', 'macro-F1', 'seeds'], lines)}"


def best(found: Mapping[str, Sequence[Cell]], *, of_peers: bool, parts: int = 0) -> tuple[float, str] | None:
    """Return the best mean of peers, or of ours in this many parts, and whose it is."""
    means = [
        (float(np.mean([cell["micro_f1"] for cell in cells])), name)
        for name, cells in found.items()
        if (name in PEERS) == of_peers and (of_peers or name.endswith(f" {parts} parts"))
        if cells and all("micro_f1" in cell for cell in cells)
    ]
    return max(means, default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--only", nargs="*", default=[], help="how the names of rows begin")
    parser.add_argument("--out", type=Path, default=harness.RESULTS / "labels", help="where cells are kept")
    parser.add_argument("--tables-only", action="store_true", help="compute nothing")
    asked, claims, on_step = parser.parse_args(), [], progress()
    for name in asked.graphs:
        path = asked.out / f"{name}.json"
        case = None if asked.tables_only else comparison.shared_case(name, "labels", asked.data)
        if case is not None:
            cells = Cells(path, {"dataset": case.metadata})
            for seed in range(asked.seeds):
                for row, compute in rows(case, seed):
                    if not asked.only or row.startswith(tuple(asked.only)):
                        try:
                            cell = cells.cell(key(row, seed), compute, on_step)
                        except SkippedError as reason:
                            on_step(f"{row} skipped, {reason}")
                        else:
                            print(f"  {name} {seed} {row}: {cell.get('micro_f1')}", flush=True)
        if not path.exists():
            continue
        dataset, found = comparison.read(path)
        print(f"\n{table(dataset, found)}\n")
        for parts in PARTS:
            mine, peers = best(found, of_peers=False, parts=parts), best(found, of_peers=True)
            if mine and peers:
                who = f"{name}: {mine[1]} less {peers[1]}"
                claims.append(Claim(who, mine[0] - peers[0], 0.0, at_least=True))
    Result("labels-in-parts", {"parts": PARTS}, claims, []).finish()


if __name__ == "__main__":
    main()

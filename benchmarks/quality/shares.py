"""What parts keep of the centralised score, from the cells there are."""

import json
from pathlib import Path

import numpy as np
from benchmarks.paper.cells import Results

COUNTS = (2, 4, 8, 16, 32)
ORDER = ("planted", "tree", "cora", "cora-features", "blogcatalog", "youtube-groups", "ca-AstroPh", "ego-Twitter")


def read_quality(folder: Path, kind: str) -> list[Results]:
    """Return the results of one kind that there are, in the order of the page."""
    found = [json.loads(path.read_text()) for path in folder.glob(f"{kind}-*.json")]
    found.sort(key=lambda content: ORDER.index(content["dataset"]["name"]))
    return [Results(kind, content["dataset"], content["settings"], content["cells"]) for content in found]


def scores(results: Results, technique: str, method: str, n_parts: int, kind: str) -> dict[str, float]:
    """Return the score of every seed."""
    start = f"{technique} | {method} | n={n_parts} | seed "
    return {
        name.removeprefix(start): cell[kind]["score"]
        for name, cell in results.cells.items()
        if name.startswith(start) and kind in cell
    }


def kept(results: Results, technique: str, method: str, n_parts: int, kind: str) -> tuple[float, int] | None:
    """Return the mean score as a share of the centralised one over the same seeds, and how many they are."""
    parts = scores(results, technique, method, n_parts, kind)
    whole = scores(results, technique, "centralised", 1, kind)
    seeds = sorted(set(parts) & set(whole))
    if not seeds:
        return None
    return float(np.mean([parts[s] for s in seeds]) / np.mean([whole[s] for s in seeds])), len(seeds)

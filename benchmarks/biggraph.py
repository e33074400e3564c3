"""PyTorch-BigGraph (PBG) in an environment of its own: it wants torch, h5py and an old setuptools.

``python biggraph.py TASK.npz ANSWER.npz``, as `competitors` runs it; this file imports nothing of parge. The task holds
every edge once. The answer holds vectors, the seconds of training by the clock and on a core (its process started,
partitions loaded and saved on the way included, the writing of PBG's input files not), and the memory of the largest
process.

With `held_out` > 0, PBG keeps that share of the edges from its training and ranks them among 2,000 random pairs after
every epoch: by that mean reciprocal rank (MRR) the number of epochs is chosen, never by a label. Then there are no
vectors in the answer.
"""

import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

# The name of the only kind of entity and of relation.
VERTEX, EDGE = "vertex", "edge"

# Early stopping: no epoch of these last ones improved the held-out MRR by this share.
PATIENCE, LEAST_GAIN = 3, 0.01


def config(settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return PBG's configuration; what is not named here keeps PBG's default."""
    return {
        "entity_path": str(folder / "entities"),
        "edge_paths": [str(folder / "edges")],
        "checkpoint_path": str(folder / "model"),
        "entities": {VERTEX: {"num_partitions": settings["parts"]}},
        "relations": [{"name": EDGE, "lhs": VERTEX, "rhs": VERTEX, "operator": "none"}],
        "dimension": settings["dim"],
        "global_emb": False,
        "comparator": settings["comparator"],
        "loss_fn": settings["loss"],
        "lr": settings["learning_rate"],
        "num_epochs": settings["epochs"],
        "eval_fraction": settings["held_out"],
        "workers": 1,
    }


def write_input(folder: Path, arrays: Any, settings: dict[str, Any]) -> tuple[Any, Any]:
    """Write vertices and edges as PBG's importer does: dealt out at random, one file per pair of partitions.

    Returns the partition of every vertex and its row there.
    """
    import h5py

    n_vertices, n_parts = settings["vertices"], settings["parts"]
    place = np.random.default_rng(settings["seed"]).permutation(n_vertices)
    part, row = place % n_parts, place // n_parts
    for name in ("entities", "edges"):
        (folder / name).mkdir()
    for i, count in enumerate(np.bincount(part, minlength=n_parts)):
        (folder / "entities" / f"entity_count_{VERTEX}_{i}.txt").write_text(f"{count}\n")
    source, target = arrays["source"], arrays["target"]
    bucket = part[source] * n_parts + part[target]
    order = np.argsort(bucket, kind="stable")
    bounds = np.searchsorted(bucket[order], np.arange(n_parts**2 + 1))
    for b in range(n_parts**2):
        edges = order[bounds[b] : bounds[b + 1]]
        with h5py.File(folder / "edges" / f"edges_{b // n_parts}_{b % n_parts}.h5", "w") as file:
            file.attrs["format_version"] = 1
            file["lhs"], file["rhs"] = row[source[edges]].astype(np.int64), row[target[edges]].astype(np.int64)
            file["rel"] = np.zeros(edges.size, np.int64)
    return part, row


def train(made: Any, seed: int) -> Iterator[tuple[float | None, int]]:
    """Train, and yield after every bucket its held-out MRR (if there is one) and the largest memory up to then."""
    import torch
    from torchbiggraph.train import train_and_report_stats

    torch.manual_seed(seed)
    # Its processes draw negatives: without a seed of their own all runs would draw the same ones.
    for _, _, _, after in train_and_report_stats(made, subprocess_init=partial(torch.manual_seed, seed)):
        yield None if after is None else float(after.metrics["mrr"]), peak()


def cpu() -> float:
    """Return the seconds that this process and its ended children have had a core."""
    return sum(os.times()[:4])


def peak() -> int:
    """Return the memory of the largest of this process and its children, at its highest."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return max(_high_water(pid) for pid in ("self", *children))


def _high_water(pid: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # a child that has just ended
        return 0
    return max((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), default=0)


def vectors(folder: Path, part: Any, row: Any, settings: dict[str, Any]) -> Any:
    """Return the trained vectors in vertex order."""
    import h5py

    out = np.empty((settings["vertices"], settings["dim"]), np.float32)
    last = (folder / "model" / "checkpoint_version.txt").read_text().strip()
    for i in range(settings["parts"]):
        mine = np.flatnonzero(part == i)
        with h5py.File(folder / "model" / f"embeddings_{VERTEX}_{i}.v{last}.h5") as file:
            out[mine] = file["embeddings"][:][row[mine]]
    return out


def flat(curve: list[float]) -> bool:
    """Return whether the last epochs have gained next to nothing.

    >>> flat([0.1, 0.2, 0.2, 0.2]), flat([0.1, 0.2, 0.2, 0.2, 0.2]), flat([0.1])
    (False, True, False)
    """
    return len(curve) > PATIENCE and max(curve[-PATIENCE:]) < (1 + LEAST_GAIN) * max(curve[:-PATIENCE])


def best_epochs(curve: list[float]) -> int:
    """Return the first number of epochs whose MRR is within 1 % of the best.

    >>> best_epochs([0.1, 0.1999, 0.2, 0.19])
    2
    """
    return 1 + next(i for i, mrr in enumerate(curve) if mrr * (1 + LEAST_GAIN) >= max(curve))


def main(task: str, answer: str) -> None:
    warnings.simplefilter("ignore")  # pkg_resources announces its end
    from torchbiggraph.config import ConfigSchema

    metadata: dict[str, Any] = {"versions": {name: version(name) for name in ("torchbiggraph", "torch")}}
    with tempfile.TemporaryDirectory() as name, np.load(task) as arrays:
        settings, folder = json.loads(str(arrays["settings"])), Path(name)
        part, row = write_input(folder, arrays, settings)
        made = ConfigSchema.from_dict(config(settings, folder))
        curve: list[float] = []
        start, cpu_start = time.perf_counter(), cpu()
        for mrr, memory in train(made, settings["seed"]):
            metadata["peak_bytes"] = memory
            if mrr is not None:  # only asked for of one partition, which is one bucket an epoch
                curve.append(mrr)
                if flat(curve):
                    break
        metadata |= {"seconds": time.perf_counter() - start, "cpu_seconds": cpu() - cpu_start, "mrr": curve}
        found = np.zeros((0, settings["dim"])) if curve else vectors(folder, part, row, settings)
    np.savez(answer, vectors=found, metadata=json.dumps(metadata))


if __name__ == "__main__":
    main(*sys.argv[1:])

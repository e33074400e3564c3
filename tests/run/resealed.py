"""A finished run for tests to damage, and damage that checksums do not show."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import parge
from parge.events import ignore
from parge.graph.generate import planted
from parge.run import arrays
from parge.run.open_run import open_run
from parge.run.pipeline import embed_parts

FEATURES = np.eye(120, 7, dtype=np.float32)
GRAPH = planted(120, 500, communities=3, seed=2).graph.with_features(FEATURES)
PLAN = parge.Plan(technique=parge.SGC(dim=4), parts=2, anchors=10, engine="serial", seed=1)


def finish_run(path: Path) -> Path:
    """Embed the parts of `GRAPH` in a run folder, and return it."""
    with open_run(GRAPH, PLAN, run_dir=path, resume=False, listener=ignore) as run:
        embed_parts(run, ignore)
    return path


def reseal(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest and make its checksums right again, as an attacker would."""
    path = folder / "manifest.json"
    body = json.loads(path.read_text())["body"]
    change(body)
    path.write_text(json.dumps({"body": body, "sha256": arrays._digest(body)}))


def put(folder: Path, name: str, array: Any) -> None:
    """Put another array in the place of one, checksums and all."""
    path = folder / f"{name}.npy"
    np.save(path, array, allow_pickle=True)
    seal_file(folder, name)


def seal_file(folder: Path, name: str) -> None:
    path = folder / f"{name}.npy"
    entry = {"sha256": arrays.file_digest(path), "bytes": path.stat().st_size}
    reseal(folder, lambda body: body["arrays"].update({name: entry}))

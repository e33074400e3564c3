"""The one thing a worker does: read a part folder, embed its subgraph, write the result beside it."""

import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import parge
from parge.errors import InputError
from parge.memory import peak_bytes, reset_peak
from parge.run import parts
from parge.seeds import stream
from parge.techniques.base import Progress, Technique, silent
from parge.techniques.checked import embed_checked
from parge.techniques.resolve import restore


@dataclass(frozen=True)
class PartJob:
    """Which part to embed, and the technique where it cannot be told from the folder (a live Python object)."""

    folder: Path
    technique: Technique | None = None


def embed_part(job: PartJob, progress: Progress = silent) -> dict[str, Any]:
    """Embed the subgraph of a part folder; return the facts that are written with its result.

    The random stream depends on the run's seed and the number of the subgraph alone, so the vectors are the
    same wherever and whenever this runs.
    """
    reset_peak()
    begun = time.perf_counter()
    subgraph, facts = parts.load_subgraph(job.folder)
    technique = job.technique or _technique(facts)
    embedding_begun = time.perf_counter()
    vectors = embed_checked(technique, subgraph, stream(facts["seed"], "embed", subgraph.index), progress)
    result = {
        "index": subgraph.index,
        "vertices": subgraph.n_vertices,
        "edges": subgraph.n_edges,
        "dim": int(vectors.shape[1]),
        "seconds": time.perf_counter() - embedding_begun,
        "total_seconds": time.perf_counter() - begun,
        "peak_bytes": peak_bytes(),
        "run": facts["run"],
        "versions": {"parge": parge.__version__, "python": platform.python_version(), "numpy": np.__version__},
    }
    parts.save_result(job.folder, vectors, result)
    return result


def _technique(facts: dict[str, Any]) -> Technique:
    described = facts["technique"]
    if described is None:
        raise InputError(
            "this run's technique is a Python object, which no file can carry; embed it with the parge that planned "
            "it, or name the technique as module:function"
        )
    return restore(described)

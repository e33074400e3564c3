"""Other people's walk embeddings, each in a process of its own, on one core.

``python competitors.py TASK.npz ANSWER.npz``, where the task holds settings as JSON and either walks (gensim trains on
them) or the rows of a graph (pecanpy walks on it, gensim trains). The answer holds vectors and seconds on a core.
This file imports nothing of parge, because pecanpy wants numpy before 2 and so an environment of its own.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


def embed_with(
    python: str, settings: dict[str, Any], *, script: str = __file__, timeout: float | None = None, **arrays: Any
) -> tuple[Any, dict[str, Any]]:
    """Return the vectors and the times of a competitor, run by that Python; `script` knows the competitor."""
    env = {**os.environ, **ONE_THREAD, "PYTHONWARNINGS": "ignore"}  # warnings of theirs, about their own code
    with tempfile.TemporaryDirectory() as folder:
        task, answer = Path(folder) / "task.npz", Path(folder) / "answer.npz"
        np.savez(task, settings=json.dumps(settings), **arrays)
        subprocess.run([python, script, task, answer], check=True, env=env, timeout=timeout)
        with np.load(answer) as found:
            return found["vectors"], json.loads(str(found["metadata"]))


def missing(python: str, *packages: str) -> str:
    """Return why that Python cannot run these packages, or nothing."""
    if not Path(python).exists():
        return f"there is no {python}"
    script = f"import {', '.join(packages)}"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def train(sentences: list[list[str]], names: list[str], settings: dict[str, Any]) -> tuple[Any, float]:
    """Return gensim's vectors and the seconds of training alone, the vocabulary built before."""
    word2vec = importlib.import_module("gensim.models.word2vec")
    rate, last = settings["learning_rate"], 0.01 * settings["learning_rate"]
    model = word2vec.Word2Vec(
        vector_size=settings["dim"],
        window=settings["window"],
        negative=settings["negatives"],
        alpha=rate,
        min_alpha=last,
        ns_exponent=0.75,
        sg=1,
        sample=0,
        min_count=0,
        workers=1,
        seed=settings["seed"],
    )
    model.build_vocab(sentences)
    start = time.process_time()
    model.train(sentences, total_examples=len(sentences), epochs=1, start_alpha=rate, end_alpha=last)
    return model.wv[names], time.process_time() - start


def walk(arrays: Any, names: list[str], settings: dict[str, Any]) -> tuple[list[list[str]], float]:
    """Return pecanpy's walks and the seconds that they took, compiling not counted."""
    pecanpy = importlib.import_module("pecanpy.pecanpy")
    options = {"workers": 1, "random_state": settings["seed"]}
    if settings["p"] == settings["q"] == 1.0:
        walker = pecanpy.FirstOrderUnweighted(**options)
    else:
        walker = pecanpy.SparseOTF(p=settings["p"], q=settings["q"], **options)
    walker.set_node_ids(names)
    walker.indptr, walker.indices = arrays["indptr"].astype(np.uint32), arrays["indices"].astype(np.uint32)
    walker.data = np.ones(walker.indices.size, np.float32)
    walker.simulate_walks(1, 1)  # compiles
    start = time.process_time()
    # Its length counts steps, ours vertices.
    walks = walker.simulate_walks(settings["walks"], settings["walk_length"] - 1)
    return walks, time.process_time() - start


def main(task: str, answer: str) -> None:
    with np.load(task) as arrays:
        settings = json.loads(str(arrays["settings"]))
        names = [str(v) for v in range(settings["vertices"])]
        metadata: dict[str, Any] = {"versions": {"gensim": version("gensim"), "numpy": np.__version__}}
        if "walks" in arrays:
            sentences = [[names[v] for v in row] for row in arrays["walks"].tolist()]
        else:
            sentences, metadata["walk_seconds"] = walk(arrays, names, settings)
            metadata["versions"]["pecanpy"] = version("pecanpy")
    vectors, metadata["train_seconds"] = train(sentences, names, settings)
    np.savez(answer, vectors=vectors, metadata=json.dumps(metadata))


if __name__ == "__main__":
    main(*sys.argv[1:])

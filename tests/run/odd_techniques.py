"""Techniques that are slow, fail or lie, as a module that test processes import from their own folder."""

SOURCE = '''
import os, subprocess, sys, time
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from parge.memory import Footprint
from parge.techniques.base import Technique


def quick(csr, rng):
    return rng.standard_normal((csr.shape[0], 8)).astype(np.float32)


def slow(csr, rng):
    time.sleep(float(os.environ.get("NAP", "30")))
    return quick(csr, rng)


def breeds(csr, rng):
    """Start a process that leaves for another session, and one that stays; then answer, fail or sleep."""
    sleeper = "import os, sys, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep(600)"
    subprocess.run([sys.executable, "-c", sleeper, os.environ["MARK"]], stdin=subprocess.DEVNULL)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", os.environ["MARK"]])
    if os.environ["THEN"] == "fail":
        raise ZeroDivisionError("this subgraph is not liked")
    time.sleep(600 if os.environ["THEN"] == "sleep" else 0)
    return quick(csr, rng)


def forks(csr, rng):
    """Have four forked children hold 100 MB each."""
    children = []
    for _ in range(4):
        if (child := os.fork()) == 0:
            held = np.ones(100_000_000, np.uint8)
            time.sleep(4)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return quick(csr, rng)


def fails(csr, rng):
    if os.environ.get("FAIL") and csr.shape[0] % 2 == int(os.environ["FAIL"]) % 2:
        raise ZeroDivisionError("this subgraph is not liked")
    return quick(csr, rng)


def leaves(csr, rng):
    raise SystemExit(int(os.environ["CODE"]))


@dataclass(frozen=True)
class Liar(Technique):
    """Promises little and takes much, on one of the subgraphs."""

    dim: int = 8
    name: ClassVar[str] = "liar"

    def embed(self, subgraph, rng, *, progress=lambda share: None):
        progress(0.5)
        if subgraph.index == 1:
            held = [np.ones(25_000_000, np.uint8) for _ in range(80)]
        return rng.standard_normal((subgraph.n_vertices, 8)).astype(np.float32)

    def footprint(self):
        return Footprint(200_000_000, 1.0, 1.0)
'''

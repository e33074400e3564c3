"""Claim: on another processor every technique gives the same vectors but for rounding, or it is said which do not.

    python -m benchmarks.equal_across_processors [--only tree]

Every native technique, on the whole graph and in 4 parts with its default pass, under settings that make this machine
compute as others (`benchmarks/processors.py`). Differences are relative to this machine's own vectors X: of all of Y,
|Y - X| / |X|, the most over BLAS's core types, without numpy's vector units, and with numba's for any processor; of the
worst column; of the inner products, |Y Y^T - X X^T| / |X X^T|, which no rotation changes; and how many columns point
the other way. Prints tables for docs/explain/reproducibility.md.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.processors import OWN, PLAIN_NUMBA, Setting, cores, plain_numpy, tried

# Small enough for half a minute a setting. Equal cliques in a ring are the worst case: nearly all eigenvalues repeat.
GRAPHS = {
    "communities": "planted(600, 4000, communities=6, seed=1).graph",
    "tree": "tree(600, seed=1).graph",
    "equal cliques": "ring_of_cliques(40, 15)",
}
DIM, PARTS = 16, 4


@dataclass(frozen=True)
class Difference:
    """How far vectors are from others of the same shape, relative to those."""

    whole: float
    column: float
    products: float
    flipped: int

    @staticmethod
    def between(here: Any, there: Any) -> "Difference":
        """Compare vectors as another processor gave them with this one's."""
        X, Y = np.asarray(here, np.float64), np.asarray(there, np.float64)
        lengths = np.linalg.norm(X, axis=0)
        nonzero = lengths > 1e-6 * lengths.max(initial=0.0)  # columns of zeros, but for rounding, have no direction
        apart = np.linalg.norm(Y - X, axis=0)[nonzero] / lengths[nonzero]
        products = X @ X.T
        return Difference(
            float(np.linalg.norm(Y - X) / np.linalg.norm(X)),
            float(apart.max(initial=0.0)),
            float(np.linalg.norm(Y @ Y.T - products) / np.linalg.norm(products)),
            int(((X * Y).sum(axis=0)[nonzero] < 0).sum()),
        )


def embed_all(graph: str, names: list[str], out: Path) -> None:
    """Embed a graph by every technique, whole and in parts, into one file; run in a process of its own."""
    import parge
    from parge.graph import generate
    from parge.techniques.registry import techniques

    made = eval(graph, vars(generate))  # one of GRAPHS, or of a test
    found = {}
    for name in names or _names():
        technique = techniques.get(name)(dim=DIM)
        for parts in (1, PARTS):
            refine = "none" if parts == 1 else None
            plan = parge.Plan(technique=technique, parts=parts, refine=refine, engine="serial", seed=1)
            found[f"{name} {'whole' if parts == 1 else 'in parts'}"] = parge.embed(made, plan).vectors
    np.savez(out, **found)


def _names() -> list[str]:
    from importlib.util import find_spec

    from parge.techniques.registry import techniques

    return [name for name in techniques.names() if name != "graphsage" or find_spec("torch")]


def vectors_under(setting: Setting, graph: str, names: list[str] | None = None) -> dict[str, Any]:
    """Return the vectors of every technique as a process under a setting gives them."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "vectors.npz"
        command = [sys.executable, "-m", "benchmarks.equal_across_processors", "--graph", graph, "--out", str(out)]
        root = Path(__file__).resolve().parents[1]
        subprocess.run([*command, *(names or [])], env=setting.full, cwd=root, check=True)
        with np.load(out) as found:
            return dict(found)


def main(only: str | None) -> None:
    others = {
        "BLAS": _other(*cores()),
        "numpy": _other(plain_numpy()),
        "numba": [PLAIN_NUMBA],
    }
    print(f"this machine: {tried(OWN)}")
    for setting in [*cores(), plain_numpy(), PLAIN_NUMBA]:
        print(f"{setting.name}: {tried(setting)}")
    for title, graph in GRAPHS.items():
        if only not in (None, title):
            continue
        own = vectors_under(OWN, graph)
        found = {kind: [vectors_under(setting, graph) for setting in some] for kind, some in others.items()}
        print(f"\n{title}: `{graph}`, {DIM} columns\n")
        print(f"| technique | {' | '.join(found)} | worst column | inner products | columns flipped |")
        print("|---|" + "---|" * (len(found) + 3))
        for row in _rows(own, found):
            print(row)


def _other(*settings: Setting) -> list[Setting]:
    """Return the settings that can be run here and are not this machine's own, which would tell nothing."""
    own = tried(OWN)
    return [setting for setting in settings if (found := tried(setting)) != own and not found.reason]


def _rows(own: dict[str, Any], found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    for name, X in own.items():
        by_kind = {kind: [Difference.between(X, some[name]) for some in runs] for kind, runs in found.items()}
        each = [difference for some in by_kind.values() for difference in some]
        cells = [_shown(max((d.whole for d in some), default=float("nan"))) for some in by_kind.values()]
        cells += [_shown(max(d.column for d in each)), _shown(max(d.products for d in each))]
        yield f"| {name} | {' | '.join(cells)} | {max(d.flipped for d in each)} |"


def _shown(number: float) -> str:
    return "0" if number == 0 else f"{number:.0e}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=list(GRAPHS))
    parser.add_argument("--graph")
    parser.add_argument("--out", type=Path)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    if asked.out:
        embed_all(asked.graph, asked.names, asked.out)
    else:
        main(asked.only)

"""Compute the paper's tables and figures again, cell by cell; what is already there is not computed twice."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import harness
from benchmarks.paper import datasets, experiments
from benchmarks.paper.datasets import Data
from benchmarks.paper.methods import QUICK, Settings
from benchmarks.paper.plots import write_figures
from benchmarks.paper.tables import TABLES, write_tables

ROOT = Path(__file__).resolve().parents[2]
PAGE, FIGURES = ROOT / "docs" / "explain" / "paper.md", ROOT / "docs" / "figures"

# Experiment -> the paper's data sets.
EXPERIMENTS: dict[str, tuple[str, ...]] = {
    "vertices": ("BlogCatalog", "Flickr"),
    "unstandardised": ("BlogCatalog",),
    "links": ("Arxiv", "Youtube"),
    "parallelism": ("LiveJournal", "Wikipedia"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="of every cell [default: 5]")
    parser.add_argument("--quick", action="store_true", help="one seed on small generated graphs, in a new folder")
    parser.add_argument("--only", choices=EXPERIMENTS, help="one experiment; by default all")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the data sets")
    parser.add_argument("--out", type=Path, help="where cells are kept [default: results/paper]")
    parser.add_argument("--lock", type=Path, help="file to lock while times are measured, shared with other benchmarks")
    parser.add_argument("--tables-only", action="store_true", help="compute nothing, write tables and plots again")
    given = parser.parse_args()
    settings = QUICK if given.quick else Settings()
    out = given.out or (Path(tempfile.mkdtemp(prefix="parge-paper-")) if given.quick else harness.RESULTS / "paper")
    on_step = progress()
    if not given.tables_only:
        for name in [given.only] if given.only else EXPERIMENTS:
            for data in _data(name, given.data, quick=given.quick):
                seeds = 1 if given.quick else given.seeds
                extra = {"alone": partial(locked, given.lock)} if name == "parallelism" else {}
                getattr(experiments, name)(data, settings, seeds, out, on_step, **extra)
    if given.quick:
        print("\n\n".join(f"## {name}\n\n{table(out)}" for name, table in TABLES.items()))
        written = write_figures(out, out / "figures")
    else:
        write_tables(PAGE, out)
        written = write_figures(out, FIGURES)
    print(*written, sep="\n")


def _data(experiment: str, folder: Path, *, quick: bool) -> Iterator[Data]:
    """Yield the data sets of an experiment; where two would be the same graph, only the first."""
    seen = set()
    for name in EXPERIMENTS[experiment]:
        data = datasets.generated(name, 1_000, 6_000) if quick else datasets.load(name, folder)
        if data.name not in seen:
            seen.add(data.name)
            yield data


@contextmanager
def locked(path: Path | None) -> Iterator[None]:
    """Hold the lock of a file, if one is named, so that measurements wait for each other."""
    if path is None:
        yield
        return
    import fcntl

    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def progress() -> Callable[[str], None]:
    """Return what prints each cell when it is started, with the time since the start."""
    started = time.monotonic()
    return lambda cell: print(f"{time.monotonic() - started:8.0f} s  {cell}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

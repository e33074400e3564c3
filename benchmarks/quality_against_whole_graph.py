"""Claim: embedded in parts, each worker within its limit, a graph scores as it does when it is embedded whole.

From the project's root; it goes on where it stopped, and leaves out graphs whose files are not there::

    python -m benchmarks.quality_against_whole_graph --graphs blogcatalog,tree --parts 8,16 --seeds 3
    python -m benchmarks.quality_against_whole_graph --times          # memory, and the same algorithm on one core
    python -m benchmarks.quality_against_whole_graph --tables-only    # docs/measured/quality.md from what there is

A cell is one embedding (graph, technique, method, n, seed), scored as it is and after the technique's own pass, which
the centralised embedding gets as well. Labels: known-count micro-F1 at 50 %. Links: half of the edges held out before
anything is computed, ROC-AUC by cosine.
"""

import argparse
from pathlib import Path

from benchmarks import harness
from benchmarks.paper.__main__ import locked, progress
from benchmarks.paper.cells import key
from benchmarks.quality import graphs, times
from benchmarks.quality.methods import METHODS, TECHNIQUES, Settings, is_ours
from benchmarks.quality.page import print_tables, write_page
from benchmarks.quality.run import Lab, store
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]

# NetMF's time is quadratic in the vertices.
MOST_VERTICES = {"netmf": 20_000}

# The others do not look at features: their cells would be those of the same graph without.
USE_FEATURES = ("sgc", "whitened")


def main() -> None:
    given = _arguments()
    settings, on_step = Settings(repeats=given.repeats), progress()
    for name in [] if given.tables_only else given.graphs.split(","):
        data = graphs.load(name, given.data)
        if data is None:
            on_step(f"{name}: its files are not in {given.data}")
            continue
        fitting = [t for t in given.techniques.split(",") if _fits(t, data)]
        counts = [int(n) for n in given.parts.split(",")]
        with threadpool_limits(1):
            if given.times:
                with locked(given.lock):
                    times.measure(data, settings, fitting, counts, store(data, settings, given.out, "times"), on_step)
                continue
            cells = store(data, settings, given.out)
            for seed in range(1, given.seeds + 1):
                lab = Lab(data, settings, seed)
                for technique in fitting:
                    for method in given.methods.split(","):
                        for n_parts in [1] if method == "centralised" else [n for n in counts if n > 1]:
                            if method != "ours" and is_ours(technique, method):
                                continue  # the same run
                            cells.cell(
                                key(technique, method, n_parts, seed),
                                lambda t=technique, m=method, n=n_parts, lab=lab: lab.cell(t, m, n),
                                on_step,
                            )
    if given.no_page:
        print_tables(given.out)
    else:
        write_page(given.out, ROOT / "docs" / "measured" / "quality.md", ROOT / "docs" / "figures")


def _fits(technique: str, data: graphs.Data) -> bool:
    new = data.graph.features is None or technique in USE_FEATURES
    return new and data.graph.n_vertices <= MOST_VERTICES.get(technique, data.graph.n_vertices)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(graphs.NAMES))
    parser.add_argument("--techniques", default=",".join(TECHNIQUES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--parts", default="1,2,4,8,16,32")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3, help="shuffles of a classification [default: 3]")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the data sets")
    parser.add_argument("--out", type=Path, default=harness.RESULTS / "quality", help="where cells are kept")
    parser.add_argument("--times", action="store_true", help="memory, and the same algorithm on one core, one seed")
    parser.add_argument("--lock", type=Path, help="file to lock while times are measured")
    parser.add_argument("--tables-only", action="store_true", help="compute nothing")
    parser.add_argument("--no-page", action="store_true", help="print the tables, leave the page alone")
    return parser.parse_args()


if __name__ == "__main__":
    main()

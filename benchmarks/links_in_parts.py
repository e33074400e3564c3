"""Claim: in 8 and 16 parts links are predicted as well as on the whole graph, and at least as well as by the best peer.

From the project's root, half an hour with peers and all seeds; what is already in results/links is not computed twice::

    python -m benchmarks.links_in_parts [--data FOLDER] [--seeds 3] [--graphs NAME ...] [--peers] [--only ROW ...]
    python -m benchmarks.links_in_parts --tables-only

Half of the edges are held out before anything is computed, 128 columns, one process. ROC-AUC, mean and deviation over
seeds: *uniform*, pairs drawn evenly, by cosine, by inner product and by the degree head (`parge.space.head`), which is
fitted on training edges for everybody's vectors; *by degree*, pairs drawn by degree. Every technique has the pass that
``--for links`` means; `auto` is the technique that it names, so its row is that one's run. Peers embed the whole graph
(`benchmarks.peers`); PyTorch-BigGraph has an environment of its own (see the Makefile), and as many epochs as bring the
rank of held-out training edges within 1 % of its best. Everybody's best is taken over the ways to score a pair.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import comparison, harness
from benchmarks.comparison import TUNED, SkippedError, key, pbg, peer
from benchmarks.harness import Claim, Result, markdown_table
from benchmarks.kinds import KINDS
from benchmarks.paper.__main__ import progress
from benchmarks.paper.cells import Cell, Cells
from benchmarks.quality.graphs import load

import parge
from parge.evaluate.predictors import degree_product, of_vectors
from parge.graph.generate import Planted
from parge.graph.graph import Graph
from parge.graph.holdout import HeldOut, by_degree, hold_out
from parge.seeds import keyed_rng
from parge.techniques.auto import Auto

OURS = ("auto", "blend", "whitened", "spectral", "deepwalk")
PEERS: dict[str, dict[str, Any]] = {
    "pycleora": {"package": "pycleora"},
    "scikit-network Spectral": {"package": "scikit-network", "name": "Spectral"},
    "scikit-network GSVD": {"package": "scikit-network", "name": "GSVD"},
    "scikit-network RandomProjection": {"package": "scikit-network", "name": "RandomProjection"},
    "scikit-network LouvainEmbedding": {"package": "scikit-network", "name": "LouvainEmbedding"},
}
PBG, PRODUCT = "PyTorch-BigGraph", "product of degrees"
PARTS = (8, 16)
GRAPHS = ("cora", "ca-AstroPh", "youtube-groups")
SEED = 71

COLUMNS = ("uniform, cosine", "uniform, dot", "uniform, head", "by degree, cosine", "by degree, dot")
PROTOCOLS = {"uniform": COLUMNS[:3], "by degree": COLUMNS[3:]}

# What was asked of `auto` in 8 and in 16 parts: the better of cosine and head, and by degree.
ASKED = {"cora": (0.71, 0.69), "ca-AstroPh": (0.963, 0.955), "youtube-groups": (0.92, 0.81)}

# Differences of means below that are called level.
LEVEL = 0.0005

Vectors = Any


def graph_of(name: str, folder: Path) -> Graph | None:
    if name in KINDS:
        made = KINDS[name](SEED)
        return made.graph if isinstance(made, Planted) else made
    found = load(name, folder)
    return None if found is None else found.graph


def auc(edges: Any, others: Any) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(np.arange(edges.size + others.size) < edges.size, np.concatenate([edges, others])))


def scores(vectors: Vectors, held: HeldOut, corrected: Any, seed: int) -> list[float]:
    """Return ROC-AUC in the order of the columns."""
    found = np.asarray(vectors, np.float32)
    predictors = of_vectors(found, held.train, np.zeros(0, np.int64), keyed_rng(seed, "link training"), seed)
    ways = {name: predictors[name].pairs for name in ("cosine", "dot", "head")}
    positive = {name: pairs(held.positives) for name, pairs in ways.items()}
    uniform = [auc(positive[name], ways[name](held.negatives)) for name in ("cosine", "dot", "head")]
    return [*uniform, *(auc(positive[name], ways[name](corrected)) for name in ("cosine", "dot"))]


def by_product(held: HeldOut, corrected: Any) -> Cell:
    """Return what the product of degrees has: the same by every score."""
    pairs = degree_product(held.train).pairs
    edges = pairs(held.positives)
    plain, drawn = auc(edges, pairs(held.negatives)), auc(edges, pairs(corrected))
    return {"roc_auc": [plain] * 3 + [drawn] * 2}


def ours(technique: str, parts: int, held: HeldOut, corrected: Any, seed: int) -> Cell:
    """Return the scores of a technique in parts."""
    plan = parge.Plan(technique=technique, parts=parts, purpose="links", seed=seed, engine="serial")
    return {"roc_auc": scores(parge.embed(held.train, plan).vectors, held, corrected, seed)}


def of_peer(run: Callable[[], tuple[Vectors, Cell]], held: HeldOut, corrected: Any, seed: int) -> Cell:
    """Return the scores of a peer, or why it has none."""
    vectors, cell = run()
    if vectors is None:
        return cell
    cost = {name: cell[name] for name in ("cpu_seconds", "epochs") if name in cell}
    return {**cost, "roc_auc": scores(vectors, held, corrected, seed)}


class Lab:
    """One graph: its rows, computed where they are not known yet."""

    def __init__(self, graph: Graph, cells: Cells, wanted: Sequence[str], python: str, longest: float) -> None:
        self.graph, self.cells, self.wanted, self.python, self.longest = graph, cells, wanted, python, longest
        self.on_step = progress()

    def fill(self, techniques: Sequence[str], seed: int, *, peers: bool) -> None:
        """Compute the rows of a seed."""
        held = hold_out(self.graph, 0.5, seed)
        corrected = by_degree(held.train, held.positives, seed)
        self._row(PRODUCT, seed, lambda: by_product(held, corrected))
        chosen = ""
        if "auto" in techniques:
            choice = Auto().choose(held.train, seed).choice
            chosen = choice.technique
            self.on_step(f"{self.cells.path.stem}, seed {seed}: {choice}")
        fixed = [name for name in techniques if name != "auto"]
        for name in dict.fromkeys((*([chosen] if chosen else []), *fixed)):
            for parts in PARTS:
                cell = self._row(in_parts(name, parts), seed, partial(ours, name, parts, held, corrected, seed))
                if name == chosen and cell is not None:
                    self._row(in_parts("auto", parts), seed, lambda c=cell: {**c, "chose": chosen})
        for name, settings in PEERS.items() if peers else ():
            run = partial(peer(**settings, longest=self.longest), held.train, seed)
            self._row(name, seed, partial(of_peer, run, held, corrected, seed))
        if peers:
            self._row(PBG, seed, lambda: of_peer(partial(self._pbg, held.train, seed), held, corrected, seed))

    def _pbg(self, train: Graph, seed: int) -> tuple[Vectors, Cell]:
        settle = comparison.epochs_by_mrr(self.python, **TUNED)
        first = hold_out(self.graph, 0.5, 0).train
        epochs = self.cells.cell(f"{PBG} | settled", lambda: settle(first), self.on_step)["epochs"]
        return pbg(self.python, **TUNED)(train, seed, epochs=epochs)

    def _row(self, name: str, seed: int, compute: Callable[[], Cell]) -> Cell | None:
        if self.wanted and not name.startswith(tuple(self.wanted)):
            return None
        try:
            cell = self.cells.cell(key(name, seed), compute, self.on_step)
        except SkippedError as reason:
            self.on_step(f"{name} skipped, {reason}")
            return None
        shown = " ".join(f"{value:.4f}" for value in cell.get("roc_auc", []))
        print(f"  {self.cells.path.stem} {seed} {name}: {shown or cell['failed']}", flush=True)
        return cell


def in_parts(technique: str, parts: int) -> str:
    """Return the name of a row.

    >>> in_parts("blend", 8)
    'parge blend, 8 parts'
    """
    return f"parge {technique}, {parts} parts"


def means(found: Mapping[str, list[Cell]]) -> dict[str, list[float]]:
    """Return the mean over seeds of every row that has scores."""
    scored = {name: [cell["roc_auc"] for cell in cells if "roc_auc" in cell] for name, cells in found.items()}
    return {name: np.mean(some, axis=0).tolist() for name, some in scored.items() if some}


def order(name: str) -> tuple[int, str]:
    """Return where a row stands: ours by technique and parts, then peers."""
    rows = [PRODUCT, *(in_parts(each, parts) for each in OURS for parts in PARTS), *PEERS, PBG]
    return (rows.index(name) if name in rows else len(rows), name)


def table(dataset: Mapping[str, Any], found: Mapping[str, list[Cell]]) -> str:
    lines = []
    for name in sorted(found, key=order):
        some = [cell["roc_auc"] for cell in found[name] if "roc_auc" in cell]
        chose = sorted({cell["chose"] for cell in found[name] if "chose" in cell})
        title = f"{name} (chose {', '.join(chose)})" if chose else name
        failed = next((cell["failed"] for cell in found[name] if "failed" in cell), "")
        shown = [shown_mean(column) for column in zip(*some, strict=True)] if some else [failed] * len(COLUMNS)
        lines.append([title, *shown, str(len(some))])
    size = f"{dataset['vertices']:,} vertices, {dataset['edges']:,} edges"
    return f"**{dataset['name']}** ({size})\n\n{markdown_table(['', *COLUMNS, 'seeds'], lines)}"


def shown_mean(some: Sequence[float]) -> str:
    """Return mean and deviation.

    >>> shown_mean([0.5, 0.6]), shown_mean([0.5])
    ('.5500 ± .0707', '.5000')
    """
    spread = f" ± {np.std(some, ddof=1):.4f}" if len(some) > 1 else ""
    return f"{np.mean(some):.4f}{spread}".replace("0.", ".")


def best(of: Mapping[str, list[float]], rows: Sequence[str], columns: Sequence[str]) -> tuple[float, str]:
    """Return the best score among rows and columns, and whose it is."""
    return max((of[row][COLUMNS.index(column)], f"{row} ({column})") for row in rows for column in columns)


def against(dataset: Mapping[str, Any], found: Mapping[str, list[Cell]]) -> Iterator[tuple[str, Claim | None]]:
    """Yield, for both kinds of pairs, how parge stands beside the best peer, and `auto` beside what was asked."""
    of = means(found)
    peers = [name for name in of if name in (*PEERS, PBG)]
    for i, (protocol, columns) in enumerate(PROTOCOLS.items()):
        for parts in PARTS:
            row, where = in_parts("auto", parts), f"{dataset['name']}, {protocol}, {parts} parts"
            if row not in of:
                continue
            mine, _ = best(of, [row], columns)
            if dataset["name"] in ASKED:
                asked = ASKED[dataset["name"]][i]
                yield f"{where}: auto {mine:.4f}, asked {asked}", Claim(f"{where}, auto", mine, asked, at_least=True)
            if peers:
                theirs, whose = best(of, peers, columns)
                ours_in_parts = [name for name in of if name.endswith(f" {parts} parts")]
                most, which = best(of, ours_in_parts, columns)
                yield f"{where}: auto {stands(mine - theirs)} {whose}", None
                yield f"{where}: {which} {stands(most - theirs)} {whose}", None


def stands(difference: float) -> str:
    """Return the difference in words; what differs by less than half a thousandth is level.

    >>> stands(0.01), stands(-0.0004)
    ('+0.0100, ahead of', '-0.0004, level with')
    """
    word = "level with" if abs(difference) < LEVEL else "ahead of" if difference > 0 else "behind"
    return f"{difference:+.4f}, {word}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--techniques", nargs="*", default=list(OURS))
    parser.add_argument("--peers", action="store_true", help="pycleora, scikit-network and PyTorch-BigGraph, too")
    parser.add_argument("--only", nargs="*", default=[], help="how the names of rows begin")
    parser.add_argument("--out", type=Path, default=harness.RESULTS / "links", help="where cells are kept")
    parser.add_argument("--pbg", default=str(comparison.ROOT / ".venv-pbg" / "bin" / "python"), help="Python with PBG")
    parser.add_argument("--longest", type=float, default=comparison.LONGEST, help="seconds of a peer's run")
    parser.add_argument("--tables-only", action="store_true", help="compute nothing")
    asked, claims = parser.parse_args(), []
    for name in asked.graphs:
        path = asked.out / f"{name.replace(' ', '-')}.json"
        if not asked.tables_only:
            graph = graph_of(name, asked.data)
            if graph is None:
                print(f"{name}: not at hand")
                continue
            metadata = {"name": name, "vertices": graph.n_vertices, "edges": graph.n_edges}
            lab = Lab(graph, Cells(path, {"dataset": metadata}), asked.only, asked.pbg, asked.longest)
            for seed in range(asked.seeds):
                lab.fill(asked.techniques, seed, peers=asked.peers)
        if not path.exists():
            continue
        dataset, found = comparison.read(path)
        print(f"\n{table(dataset, found)}\n")
        for line, claim in against(dataset, found):
            print(line)
            claims += [claim] if claim else []
    Result("links-in-parts", {"parts": PARTS}, claims, []).finish()


if __name__ == "__main__":
    main()

"""What a placed vertex, an update and a frozen space cost: `python -m benchmarks.space_stays --only times`.

A chain of ten updates, each of 1 % of the edges: half of them removed, half of them drawn between old vertices. Shares
are of the CPU time of embedding all. *Without a look*: the slowest of the updates that do not look at the drift. *With
a look*: the mean of those that do. *Drift*: what `parge drift` finds after all ten, and by how much it was above what
an update had noted, at most.

*Commands*: the same with `parge embed` and `parge update`, the start of the process, reading, checking and writing
included.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from benchmarks.harness import measure_command, parge_command
from benchmarks.space_stays import DIM, cases

import parge
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.pairs import edges_once
from parge.space.aging import drift_now
from parge.space.place import place
from parge.space.update import update

TURNS = 10
GENERATED = {"planted-20000-200000": (20_000, 200_000), "planted-100000-1000000": (100_000, 1_000_000)}


def graphs() -> Iterator[tuple[str, Graph]]:
    """Yield generated graphs, and real ones where there are copies of them."""
    for name, size in GENERATED.items():
        yield name, planted(*size, communities=40, seed=8).graph
    for case in cases(["blogcatalog", "cora"]):
        yield case.name, case.graph


def embedding_of(graph: Graph, seed: int) -> tuple[parge.Embedding, float]:
    """Return an embedding by DeepWalk with its pass, and the CPU seconds that it took."""
    plan = parge.Plan(technique=parge.DeepWalk(dim=DIM), parts=1, engine="serial", seed=seed)
    started = time.process_time()
    return parge.embed(graph, plan), time.process_time() - started


def changes(graph: Graph, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yield edges to add and to remove, 1 % of all together, again and again."""
    source, target, _ = edges_once(graph)
    rng, ids, count = np.random.default_rng(seed), graph.outside_ids, source.size // 200
    order = rng.permutation(source.size)
    for turn in range(TURNS):
        gone = order[turn * count : (turn + 1) * count]
        added = ids[rng.integers(graph.n_vertices, size=(count, 2))]
        yield added[added[:, 0] != added[:, 1]], np.stack([ids[source[gone]], ids[target[gone]]], axis=1)


def chain(graph: Graph, seed: int) -> dict[str, float]:
    """Return the CPU seconds of a chain of updates, of freezing and of embedding all, and the drift at the end."""
    embedding, whole = embedding_of(graph, seed)
    started = time.process_time()
    space = embedding.space
    frozen, seconds, looked, behind = time.process_time() - started, [], [], []
    for added, removed in changes(graph, seed):
        started = time.process_time()
        found = update(space, added, removed)
        seconds.append(time.process_time() - started)
        looked.append(found.age.looked_at == found.age.version)
        space = found.space
        drift = drift_now(replace(space)).drift  # of a copy: nothing that it found out is known to the next update
        behind.append(drift - found.age.drift)
    took, looks = np.array(seconds), np.array(looked)
    return {
        "whole": whole,
        "frozen": frozen,
        "first": took[0],
        "second": took[1],
        "mean": float(took.mean()),
        "without": float(took[~looks].max()),
        "with": float(took[looks].mean()) if looks.any() else np.nan,
        "looks": float(looks.sum()),
        "drift": drift,
        "behind": max(behind),
    }


def commands(graph: Graph, seed: int) -> tuple[float, ...]:
    """Return the CPU seconds of embedding, of embedding and freezing, and of two updates that do not look."""
    with TemporaryDirectory() as folder:
        here = Path(folder)
        source, target, _ = edges_once(graph)
        ids, (edges, vectors) = graph.outside_ids, (here / name for name in ("edges.txt", "vectors.npz"))
        np.savetxt(edges, np.stack([ids[source], ids[target]], axis=1), "%d")
        options = ["--technique", "deepwalk", "--dim", str(DIM), "--parts", "1", "--engine", "serial"]
        embed = parge_command("embed", str(edges), "-o", str(vectors), *options, "--seed", str(seed), "--json", "-q")
        found = [measure_command(embed), measure_command([*embed, "--overwrite", "--space", str(here / "space0")])]
        for turn, (added, removed) in zip(range(2), changes(graph, seed), strict=False):
            more, less = (here / f"{name}{turn}.txt" for name in ("more", "less"))
            np.savetxt(more, added, "%d")
            np.savetxt(less, removed, "%d")
            words = ["update", str(here / f"space{turn}"), str(more), "--removed", str(less)]
            words += ["-o", str(here / f"space{turn + 1}"), "--json", "-q"]
            found.append(measure_command(parge_command(*words)))
        return tuple(run.cpu_seconds for run in found)


def show_placing() -> None:
    """Print the time of a placed vertex at degree 20."""
    made = planted(20_000, 200_000, communities=40, seed=8).graph
    space, rng = embedding_of(made, 0)[0].space, np.random.default_rng(0)
    for count in (1_000, 10_000):
        new = np.repeat(np.arange(count) + 20_000, 20)
        edges = Graph.from_edges(new, rng.integers(20_000, size=new.size))
        place(space, edges)  # what is compiled is loaded
        started = time.process_time()
        place(space, edges)
        took = time.process_time() - started
        print(f"placing {count:,} vertices of degree 20, d = {DIM}: {1000 * took / count:.4f} ms of a core each")


def show_times(seeds: int) -> None:
    """Print the time of a placed vertex, of updates of 1 % of the edges, of freezing, and of whole commands."""
    show_placing()
    show_updates(seeds)
    show_commands(seeds)


def show_updates(seeds: int) -> None:
    """Print the time of chains of updates, and of freezing, against embedding all."""
    print(
        "\n| 1 % of the edges changed | embed all | first update | second | mean of ten | slowest without a look | "
        "with a look (looks) | freezing | drift, above the noted one |"
    )
    print("|---" * 9 + "|")
    for name, graph in graphs():
        rows = [chain(graph, seed) for seed in range(seeds)]
        found = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        cells = {key: f"{found[key]:.3f} s, {100 * found[key] / found['whole']:.1f} %" for key in found}
        print(
            f"| {name} | {found['whole']:.2f} s | {cells['first']} | {cells['second']} | {cells['mean']} | "
            f"{cells['without']} | {cells['with']} ({found['looks']:.1f}) | {cells['frozen']} | "
            f"{found['drift']:.3f}, {found['behind']:.3f} |",
            flush=True,
        )


def show_commands(seeds: int) -> None:
    """Print the time of commands, from start to end."""
    print("\n| commands | parge embed | with --space | parge update | the next one | update / embed |")
    print("|---" * 6 + "|")
    for name, graph in graphs():
        seconds = np.mean([commands(graph, seed) for seed in range(seeds)], axis=0)
        cells = " | ".join(f"{value:.2f} s" for value in seconds)
        print(f"| {name} | {cells} | {100 * seconds[2:].mean() / seconds[0]:.1f} % |", flush=True)

"""Constants of `parge plan --estimate`, made from what benchmarks measured: src/parge/constants.json.

Benchmarks keep theirs with `--constants`; it imports nothing of theirs, so that tests can check the divisions.
"""

import json
from pathlib import Path
from typing import Any

CONSTANTS = Path(__file__).resolve().parents[1] / "src" / "parge" / "constants.json"

AN_EDGE, A_VERTEX = "seconds per edge", "seconds per vertex, 128 dimensions"
WALKS = f"{A_VERTEX}, 10 walks of 40, window 5, 5 negatives"

Entry = dict[str, Any]


def of_scaling(row: dict[str, Any]) -> dict[str, Entry]:
    """Return what one size of scales_with_edges.py says: seconds of a core and peak bytes, an edge or a vertex."""
    n, m, stages, peak = row["vertices"], row["edges"], row["stages"], row["coordinator_peak_bytes"]
    measured = {
        "read": (stages["read"] / m, AN_EDGE),
        "decompose": (stages["decompose"] / m, AN_EDGE),
        "write_parts": (stages["write parts"] / m, AN_EDGE),
        "embed_deepwalk": (row["embed"] / n, WALKS),
        "reconcile": ((stages["check results"] + stages["reconcile"]) / n, A_VERTEX),
        "refine": (stages["refine"] / m, f"{AN_EDGE}, 128 dimensions"),
        "write": (stages["write"] / n, A_VERTEX),
        "coordinator_memory": (peak / m, "bytes per edge"),
        "merge_memory": (peak, "bytes"),
    }
    return _entries(measured, "benchmarks/scales_with_edges.py")


def of_out_of_core(found: dict[str, Any], n_edges: int) -> dict[str, Entry]:
    """Return what the whole way of out_of_core.py says."""
    measured = {
        "sort": (found["sort"] / n_edges, AN_EDGE),
        "stream": (found["decompose"] / n_edges, AN_EDGE),
        "cut_out": (found["cut out"] / n_edges, AN_EDGE),
        "anchor_edges": (found["anchor_edges"], "share of the edges, times (anchors / vertices)^(2/3)"),
    }
    return _entries(measured, "benchmarks/out_of_core.py")


def of_shards(stages: dict[str, dict[str, float]], n_edges: int, rounds: int, arc_bytes: float) -> dict[str, Entry]:
    """Return what shards.py says: seconds of cores and bytes sent of each stage, in all, and bytes of an arc."""
    per = {"read": ("shard_read", 1), "decompose": ("shard_split", 1), "prepare": ("shard_cut", 1)}
    measured: dict[str, tuple[float, str]] = {
        "shard_arc_memory": (arc_bytes, "bytes per arc, at the peak of splitting")
    }
    for stage, (name, times) in {**per, "refine": ("shard_round", rounds)}.items():
        each = " and round, 128 dimensions" if stage == "refine" else ""
        took, sent = stages[stage]["seconds"], stages[stage]["sent_bytes"]
        measured[name] = took / n_edges / times, f"{AN_EDGE}{each}"
        measured[f"{name}_sent"] = sent / n_edges / times, f"bytes per edge{each}, 8 shards"
    return _entries(measured, "benchmarks/shards.py")


def _entries(measured: dict[str, tuple[float, str]], source: str) -> dict[str, Entry]:
    return {
        name: {"value": float(f"{value:.3g}"), "unit": unit, "source": source}
        for name, (value, unit) in measured.items()
    }


def keep(found: dict[str, Entry], path: Path = CONSTANTS) -> str:
    """Write the constants among those that other benchmarks have measured; return what has changed, in words."""
    before: dict[str, Entry] = json.loads(path.read_text())
    path.write_text(json.dumps({**before, **found}, indent=1) + "\n")
    lines = [
        f"  {name}: {before[name]['value'] if name in before else '–'} -> {entry['value']} {entry['unit']}"
        for name, entry in found.items()
    ]
    return "\n".join([f"constants of parge plan --estimate, in {path.name}:", *lines])

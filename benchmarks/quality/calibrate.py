"""The table of `parge.report.expected`, from the cells behind docs/quality.md: paste what it prints there."""

import sys
from pathlib import Path

import numpy as np
from benchmarks import harness
from benchmarks.quality.methods import AROUND_A_BACKBONE, TECHNIQUES
from benchmarks.quality.shares import read_quality, scores

from parge.techniques.resolve import resolve

COUNTS = (8, 16)


def losses(found: list, technique: str, method: str, kind: str) -> list[float]:  # type: ignore[type-arg]
    """Return what each run in parts lost of the centralised score of the same graph and seed."""
    out = []
    for results in found:
        whole = scores(results, technique, "centralised", 1, kind)
        for n_parts in COUNTS:
            parts = scores(results, technique, method, n_parts, kind)
            out += [1 - parts[seed] / whole[seed] for seed in parts if seed in whole]
    return out


def main() -> None:
    found = read_quality(Path(sys.argv[1]) if len(sys.argv) > 1 else harness.RESULTS / "quality", "quality")
    pooled: dict[str, list[float]] = {"refined": [], "raw": []}
    for technique in TECHNIQUES:
        rows = {}
        for how, method in (
            ("backbone", "ours"),
            ("rotation", "rotation" if technique in AROUND_A_BACKBONE else "ours"),
        ):
            if how == "backbone" and technique not in AROUND_A_BACKBONE:
                continue
            sides = {kind: losses(found, technique, method, kind) for kind in ("refined", "raw")}
            if len(sides["raw"]) < 4:
                continue
            rows[how] = sides
            if how == "rotation" and not resolve(technique).aligned:
                for kind, values in sides.items():
                    pooled[kind] += values
        if rows:
            print(
                f'    "{technique}": {{' + ", ".join(f'"{how}": {_pair(sides)}' for how, sides in rows.items()) + "},"
            )
    print(f'    "any": {{"rotation": {_pair(pooled)}}},')
    lost = [cell["lost_edges"] for results in found for name, cell in results.cells.items() if "| ours |" in name]
    print(f"MOST_LOST = {max(lost):.3f}")


def _pair(sides: dict[str, list[float]]) -> str:
    shown = (f"Seen({np.mean(v):.3f}, {np.std(v):.3f}, {len(v)})" for v in (sides["refined"], sides["raw"]))
    return f"({', '.join(shown)})"


if __name__ == "__main__":
    main()

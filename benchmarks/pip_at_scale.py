"""Claim: the PIP distance of a pair of 4.0 M x 128 embeddings is computed within 3 GB, and is right.

    python benchmarks/pip_at_scale.py                    4.0 M vertices
    python benchmarks/pip_at_scale.py --vertices 100000  quickly

The pair lies on disk as two float32 .npy files, 4.1 GB together; the whole command `parge evaluate pip` is measured.
The truth is known without computing it: the second file holds the first one's rows, times 1 + s, with their columns
permuted and some negated. That is a rotation, so PIP is ((1 + s)^2 - 1) times the size of the first's own inner
products, but for the rounding of float32, which the tolerance allows for.
"""

import argparse
import tempfile
from pathlib import Path

from harness import Claim, Result, gigabytes, markdown_table, measure_call, measure_command, parge_command

MOST_BYTES = 3e9
STRETCH = 1 / 64
TOLERANCE = 1e-6


def write_pair(folder: str, n_vertices: int, dim: int) -> float:
    """Write both files a block at a time, and return the relative PIP that they are known to have."""
    import numpy as np
    from numpy.lib.format import open_memmap

    rng = np.random.default_rng(1)
    order, signs = rng.permutation(dim), rng.choice([-1.0, 1.0], dim)
    scales = rng.uniform(0.2, 2.0, dim)  # columns that differ, as those of real embeddings do
    first, second = (
        open_memmap(Path(folder) / f"{name}.npy", mode="w+", dtype=np.float32, shape=(n_vertices, dim))
        for name in ("first", "second")
    )
    for start in range(0, n_vertices, 2**16):
        rows = slice(start, min(start + 2**16, n_vertices))
        first[rows] = rng.standard_normal((rows.stop - rows.start, dim), np.float32) * scales
        second[rows] = (1 + STRETCH) * first[rows][:, order] * signs
    return (1 + STRETCH) ** 2 - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vertices", type=int, default=4_000_000)
    parser.add_argument("--dim", type=int, default=128)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="parge-pip-") as folder:
        pair = [str(Path(folder) / f"{name}.npy") for name in ("second", "first")]
        truth = measure_call("pip_at_scale:write_pair", folder=folder, n_vertices=given.vertices, dim=given.dim).value
        found = measure_command(parge_command("evaluate", "pip", *pair, "--json"))
    off = abs(found.value["relative"] - truth) / truth
    header = ["vertices", "seconds", "on a core", "peak", "relative PIP", "truth"]
    row = [f"{given.vertices:,}", f"{found.seconds:.0f}", f"{found.cpu_seconds:.0f}", gigabytes(found.peak_bytes)]
    print(markdown_table(header, [[*row, f"{found.value['relative']:.9f}", f"{truth:.9f}"]]))
    claims = [
        Claim("peak memory, bytes", found.peak_bytes, MOST_BYTES),
        Claim("difference from the truth, relative to it", off, TOLERANCE),
    ]
    graph = {"name": "a known pair", "vertices": given.vertices, "dim": given.dim}
    Result("pip_at_scale", graph, claims, [{**found.cost, **found.value, "truth": truth}]).finish()


if __name__ == "__main__":
    main()

"""The commands of docs/how-to/cluster.md for Slurm do as they stand there, with a script in place of `sbatch`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow.parquet import read_table

import parge
from parge.graph.generate import planted

ROOT = Path(__file__).resolve().parents[2]

# Runs the tasks of the array one after the other, with what Slurm tells a task of itself.
SBATCH = """#!/bin/bash
set -euo pipefail
[[ "$1 $2 $3" == "--wait --array=0-2 --mem=1500M" ]]
shift 3
for i in 0 1 2; do SLURM_ARRAY_TASK_ID=$i SLURM_MEM_PER_NODE=1500 bash "$@"; done
"""


def _tool(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.mark.slow
def test_the_array_job_gives_the_vectors_of_one_machine(tmp_path: Path) -> None:
    section = (ROOT / "docs" / "how-to" / "cluster.md").read_text().split("\n## Slurm\n")[1].split("\n## ")[0]
    (commands,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    tools, place = tmp_path / "tools", tmp_path / "place"
    for folder in (tools, place):
        folder.mkdir()
    _tool(tools, "sbatch", SBATCH)
    _tool(tools, "parge", f'#!/bin/sh\nexec {sys.executable} -m parge "$@"\n')
    shutil.copytree(ROOT / "docs" / "examples", place / "parge" / "docs" / "examples")
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(Path(parge.__file__).parents[1])}

    def run(script: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    parge.write(planted(3000, 20000).graph, place / "graph.txt")
    assert "3 of 3" in run(commands)
    again = "SLURM_ARRAY_TASK_ID=1 bash parge/docs/examples/embed_parts.sh run"
    assert "subgraph 1 already has a result" in run(again)
    vectors = place / "run" / "parts" / "001" / "result" / "vectors.npy"
    whole = vectors.read_bytes()
    vectors.write_bytes(whole[:-2] + b"??")
    assert "subgraph 1: " in run(again)
    assert vectors.read_bytes() == whole
    little = run(f"SLURM_MEM_PER_CPU=250 {again} 2>&1 || true")
    assert re.search(r"250 MiB.* 300", little)
    plan = parge.Plan(technique=parge.ProNE(dim=64), memory=["1GB"] * 3, engine="serial")
    parge.embed(parge.read(place / "graph.txt"), plan).save(place / "expected.parquet")
    assert read_table(place / "vectors.parquet").equals(read_table(place / "expected.parquet"))

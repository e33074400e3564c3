"""A coordinator under a limit that the |V| x d matrix does not fit under, enforced by the system: same bits."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.run.commands import environment, finish

from parge.graph.generate import planted
from parge.io.graphs.write import write

pytestmark = pytest.mark.slow

VERTICES = 170_000  # x 128 x 4 bytes: 87 MB, and 64 to 74 MB are left under the limit
TECHNIQUE = """
import numpy as np


def embed(csr, rng):
    return rng.standard_normal((csr.shape[0], 128), dtype=np.float32)
"""
PLAN = ["--technique", "quick:embed", "--parts", 3, "--anchors", 600, "--anchor-strategy", "random"]
PLAN += ["--partitioner", "random", "--reconcile", "orthogonal", "--workers", 2]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capped")
    (folder / "quick.py").write_text(TECHNIQUE)
    vertex = np.arange(VERTICES)
    np.savetxt(folder / "graph.txt", np.c_[vertex, (vertex + 1) % VERTICES], fmt="%d")
    finish(folder, "embed", "graph.txt", "-o", "free.npy", *PLAN, "--run-dir", "run")
    return folder


@pytest.fixture(scope="module")
def cap(place: Path) -> int:
    """The smallest limit that parge accepts: its libraries, and 64 MB."""

    def reported(limit: int, words: str) -> int:
        refused = finish(place, "reconcile", "run", "-o", "x.npy", "--coordinator-memory", f"{limit}MB", code=2)
        return int(re.search(words, refused.stderr)[1])  # type: ignore[index]  # it must be there

    def least() -> int:
        """Ask for as little as is only refused once all libraries are loaded."""
        return reported(reported(1, r"uses (\d+) MB") + 70, r"Give (\d+)MB or more")

    least()  # kernels that are not in the cache yet are compiled, which takes memory of its own
    return least() + 10  # it differs by a few MB


def test_reconciling_under_the_limit_gives_the_same_file(place: Path, cap: int) -> None:
    finish(place, "reconcile", "run", "-o", "capped.parquet", "--coordinator-memory", f"{cap}MB")
    finish(place, "reconcile", "run", "-o", "free.parquet")
    assert (place / "capped.parquet").read_bytes() == (place / "free.parquet").read_bytes()


def test_embedding_under_the_limit_gives_the_same_file(place: Path, cap: int) -> None:
    size = f"{cap}MB"
    finish(place, "embed", "graph.txt", "-o", "again.npy", *PLAN, "--run-dir", "again", "--coordinator-memory", size)
    assert (place / "again.npy").read_bytes() == (place / "free.npy").read_bytes()


def test_holding_the_matrix_breaks_the_limit_which_is_said(place: Path, cap: int) -> None:
    script = (
        "import sys, numpy as np, parge.run.pipeline; from parge.cli.main import run\n"
        "parge.run.pipeline.scratch_matrix = lambda path, shape, dtype=np.float32: np.ones(shape, dtype)\n"
        f"sys.exit(run(['reconcile', 'run', '-o', 'y.npy', '--coordinator-memory', '{cap}MB']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=place,
        env=environment(ARROW_DEFAULT_MEMORY_POOL="system"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert re.search(rf"\b{cap} MB .*--coordinator-memory", done.stderr)
    assert "Traceback" not in done.stderr
    assert not (place / "y.npy").exists()


# A run until all subgraphs are written, with as much memory left as preparing a backbone of 2,048 and of 256 landmarks
# is projected to take, and with less than that.
LUMPED = """
import json, sys
from parge.cli.memory import rehearse
from parge.events import ignore
from parge.graph.generate import planted
from parge.memory import limit_memory, private_bytes, return_freed_memory
from parge.run.pipeline import write_subgraphs
from parge.planning.plan import Plan
from parge.planning.decision import backbone_bytes
from parge.run.open_run import open_run

return_freed_memory()
rehearse()
graph, technique = planted(9_000, 40_000, seed=1).graph, Plan(parts=4).resolved.technique
rooms = [backbone_bytes(graph, technique, 4, n_landmarks) + 10**5 for n_landmarks in (2048, 256)]
for i, room in enumerate([*rooms, rooms[-1] - 10**6]):
    limit = private_bytes() + room
    limit_memory(limit)
    plan, folder = Plan(parts=4, coordinator_memory=limit), sys.argv[1] + str(i)
    with open_run(graph, plan, run_dir=folder, resume=False, listener=ignore) as run:
        write_subgraphs(run)
        print(json.dumps([run.plan.reconcile, run.coordinator.landmarks, run.decomposition.notices]))
    limit_memory(None)
    del run
"""


def test_a_backbone_is_prepared_within_what_it_was_projected_to_take(tmp_path: Path) -> None:
    line = [sys.executable, "-c", LUMPED, str(tmp_path / "run")]
    done = subprocess.run(
        line, env=environment(ARROW_DEFAULT_MEMORY_POOL="system"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(text) for text in done.stdout.splitlines()]
    assert [one[0] for one in found] == ["backbone", "backbone", "consensus"]
    assert [one[1] for one in found[:2]] == [2048, 256]
    (said,) = [notice for notice in found[2][2] if notice.startswith("consensus instead")]
    assert re.search(r"backbone .*256 landmarks", said)


def test_the_smallest_coordinator_that_is_accepted_prepares_a_backbone(place: Path, cap: int) -> None:
    write(planted(9_000, 40_000, seed=1).graph, place / "planted.txt")
    line = ["decompose", "planted.txt", "--run-dir", "lumped", "--parts", 4, "--coordinator-memory", f"{cap}MB"]
    assert re.search(r"backbone .*1,024 landmarks", finish(place, *line).stderr)

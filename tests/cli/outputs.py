"""What the tests of outputs share: a folder with files of every kind, and commands that write."""

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parge.cli.main import run
from parge.embedding import Embedding
from parge.graph.generate import planted
from parge.io.graphs.write import write
from parge.io.labels import write_labels

PLAN = ["--technique", "sgc", "--dim", "4", "--parts", "2", "--anchors", "8", "--engine", "serial"]
MADE = ["generate", "--vertices", "20", "--edges", "40"]

OUTPUTS: dict[str, tuple[list[str], str, str]] = {
    **{f"embed {suffix}": (["embed", "g.txt", *PLAN], "-o", suffix) for suffix in (".npy", ".npz", ".parquet")},
    **{f"embed {suffix}": (["embed", "g.txt", *PLAN], "-o", suffix) for suffix in (".vec", ".emb", ".txt")},
    "align": (["align", "v.npy", "w.vec"], "-o", ".npz"),
    "place": (["place", "run", "more.txt"], "-o", ".npz"),
    "update": (["update", "run", "more.txt"], "-o", ".npz"),
    "reconcile": (["reconcile", "run"], "-o", ".parquet"),
    "export": (["export", "w.vec", "--dtype", "float16"], "-o", ".npy"),
    "neighbors": (["neighbors", "v.npy", "3"], "-o", ".parquet"),
    "export npz": (["export", "v.npy"], "-o", ".npz"),
    "embed, page": (["embed", "g.txt", *PLAN, "-o", "new.npy"], "--report", ".html"),
    "report": (["report", "run"], "-o", ".html"),
    "generate": (MADE, "-o", ".txt"),
    "generate npz": (MADE, "-o", ".npz"),
    "generate labels": ([*MADE, "-o", "new.txt"], "--labels", ".txt"),
}


def prepare(folder: Path) -> Path:
    """Fill a folder with a graph in several formats, its labels, a kept run, and embeddings of every format."""
    made = planted(60, 200, communities=2, seed=2)
    for name in ("g.txt", "g.parquet", "g.npz"):
        write(made.graph, folder / name)
    shutil.copy(folder / "g.txt", folder / "g.html")
    for name in ("vertices.txt", "vertices.html"):
        (folder / name).write_text("".join(f"{i}\n" for i in range(60)))
    np.save(folder / "features.npy", np.eye(60, 5, dtype=np.float32))
    write_labels(folder / "labels.txt", made.graph.outside_ids, made.labels)
    shutil.copy(folder / "labels.txt", folder / "labels.html")
    (folder / "more.txt").write_text("0 100\n1 100\n2 101\n100 101\n")
    (folder / "more-ids.txt").write_text("100\n101\n102\n")
    shutil.copy(folder / "g.txt", folder / "less.txt")
    (folder / "scores.html").write_text('{"micro_f1": 0.5}')
    (folder / "sub").mkdir()
    args = ["embed", str(folder / "g.txt"), "-o", str(folder / "v.npy"), "--run-dir", str(folder / "run"), *PLAN]
    assert run([*args, "--report", str(folder / "page.html")]) == 0
    vectors = Embedding.load(folder / "v.npy")
    for suffix in ("npz", "parquet", "vec"):
        vectors.save(folder / f"w.{suffix}")
    return folder


Entry = tuple[int, int, int, bytes]


def snapshot(folder: Path) -> dict[str, Entry]:
    """Return what every name below a folder stands for: its kind, its inode, how many names it has, its content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        what = path.lstat()
        content = b""
        if stat.S_ISREG(what.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(what.st_mode):
            content = os.fsencode(path.readlink())
        names = what.st_nlink if stat.S_ISREG(what.st_mode) else 0
        found[str(path.relative_to(folder))] = (stat.S_IFMT(what.st_mode), what.st_ino, names, content)
    return found


def refused(world: Path, args: list[Any], capsys: pytest.CaptureFixture[str]) -> str:
    """Assert that a command is refused with one message and that nothing in the folder has changed; return it."""
    before = snapshot(world)
    capsys.readouterr()
    code = run([str(word) for word in args])
    said = capsys.readouterr().err
    assert code == 2, said
    assert said.count("Error") == 1
    assert "Traceback" not in said
    assert snapshot(world) == before
    return said

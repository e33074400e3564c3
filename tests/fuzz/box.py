"""The folder that command lines run in."""

import contextlib
import io
import json
import os
import shutil
import stat
from pathlib import Path

from tests.fuzz.drawn_lines import PARGES, REPLACEABLE, Case


class Box:
    """A folder with graphs, vectors, runs and a user's own files; whatever happens in it is noticed and undone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "box"
        self.folder.mkdir(parents=True)
        self._fill()
        self.before = self._seen()

    def _fill(self) -> None:
        import numpy as np
        import scipy.io
        import scipy.sparse as sp

        from parge.cli.main import run
        from parge.embedding import Embedding
        from parge.graph.generate import planted
        from parge.io.graphs.write import write

        here = self.folder
        made = planted(40, 120, communities=3, seed=1)
        for name in ("g.txt", "g.parquet", "g.graph", "with space.txt", "line\nbreak.txt"):
            write(made.graph, here / name)
        shutil.copy(here / "g.txt", here / "b\udcff.txt")
        sp.save_npz(here / "g.npz", made.graph.to_scipy())
        scipy.io.mmwrite(here / "g.mtx", made.graph.to_scipy())
        names = ["zürich", "京都", "Ålesund", "a b", "plain", "[red]x[/red]", "\x1b[31m"]
        (here / "named.csv").write_text("".join(f'"{a}","{b}"\n' for a in names for b in names if a < b))
        (here / "empty.txt").touch()
        (here / "rubbish.txt").write_bytes(bytes(range(256)) * 8)
        (here / "labels.txt").write_text("".join(f"{v} {v % 3}\n" for v in range(40)))
        (here / "labels.csv").write_text("id,label,year\n" + "".join(f"{v},c{v % 3},2020\n" for v in range(40)))
        (here / "notes.md").write_text("mine\n")
        (here / "score.json").write_text(json.dumps({"pip": 1.0, "per_vertex": 0.1, "relative": 0.2}))
        vectors = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32)
        np.save(here / "features.npy", vectors)
        for name in ("v.npy", "v.npz", "v.parquet", "v.vec"):
            Embedding(vectors, np.arange(40)).save(here / name)
        Embedding(vectors[: len(names)], np.array(names)).save(here / "named.npz")
        (here / "own").mkdir()
        for name in ("lock", "embedding.npy", "refine-0.npy", "notes.md"):
            (here / "own" / name).write_text("mine\n")
        (here / "own/graph").mkdir()
        (here / "own/graph/notes.md").write_text("mine\n")
        (here / "sub dir").mkdir()
        (here / "link.npy").symlink_to("notes.md")
        plan = ["--technique", "sgc", "--dim", "4", "--parts", "2", "--anchors", "8", "--engine", "serial", "--json"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            for line in (
                ["embed", "g.txt", "-o", "gone.npy", "--run-dir", "run"],
                ["decompose", "g.txt", "--run-dir", "part-run"],
            ):
                line[1:] = [str(here / word) if not word.startswith("-") else word for word in line[1:]]
                if run([*line, *plan]) != 0:
                    raise RuntimeError(f"{line} failed in the box")
        for left in here.glob("gone*"):
            left.unlink()

    def _seen(self) -> dict[str, tuple[int, bytes]]:
        """Return the mode and content of every file; a link's content is where it leads."""
        seen = {}
        for folder, folders, files in os.walk(self.folder):
            for name in [*files, *folders]:
                path = Path(folder) / name
                mode = path.lstat().st_mode
                data = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else b""
                seen[os.path.relpath(path, self.folder)] = (mode, path.read_bytes() if stat.S_ISREG(mode) else data)
        return seen

    def check(self, case: Case) -> list[str]:
        """Return what of the user's was changed, and bring everything back."""
        now = self._seen()
        changed = [name for name, value in self.before.items() if now.get(name) != value]
        new = [name for name in now if name not in self.before]
        names = [word.partition("=")[2] if word.startswith("--") and "=" in word else word for word in case.words]
        once = {name.removeprefix("../") for name in names if names.count(name) == 1}
        # What may change: runs; outputs that are no inputs: vectors, and with --overwrite any.
        may = once if "--overwrite" in names else once & REPLACEABLE
        wrong = [name for name in changed if not f"{name}/".startswith(PARGES) and name not in may]
        if changed or new:
            self._restore(changed, new)
        return wrong

    def _restore(self, changed: list[str], new: list[str]) -> None:
        for name in [*new, *changed]:
            path = self.folder / name
            if path.is_symlink() or path.is_file():
                path.unlink()
            elif path.is_dir() and name in new:
                path.chmod(0o700)
                shutil.rmtree(path)
        for name in sorted(changed):
            mode, data = self.before[name]
            path = self.folder / name
            if stat.S_ISDIR(mode):
                path.mkdir(exist_ok=True)
            elif stat.S_ISLNK(mode):
                path.symlink_to(os.fsdecode(data))
            else:
                path.write_bytes(data)
            if not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode))

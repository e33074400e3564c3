"""The run folder under fuzz, as a program of its own: ``python -m tests.fuzz.run_folder FOLDER COUNT``.

Files of a run are mutated, then one command after another is given the folder. A rotten file (its checksum left as
it was) must lead to a refusal or to the very bits of the undisturbed run. A forged one (its checksums made right
again) may lead to other vectors, never to a traceback or to numbers that are none. What was done to which file is
written to ``FOLDER/last.txt`` before the commands run.
"""

import contextlib
import io
import json
import os
import shutil
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.fuzz.mutation import Edit, edits, mutated

from parge.cli.main import run as command
from parge.graph.generate import planted
from parge.io.graphs.write import write
from parge.memory import limit_memory
from parge.run import arrays

MEMORY = 4_000_000_000
PLAN = ["--technique", "sgc", "--dim", "4", "--parts", "2", "--anchors", "8", "--engine", "serial"]
PLAN += ["--reconcile", "consensus"]

# Values that a manifest never holds in most places, and numbers at the edges of their types.
_ODD: list[Any] = [None, True, -1, 0, 1, 2**31, 2**63, 2**200, 0.5, -0.0, float("nan"), float("inf"), "", "x"]
_ODD += ["\x1b[2J", [], {}, [1], {"a": 1}, [[[[1]]]], "../../etc/passwd", "a" * 5000, "sgc", "os:system", "\ud800"]
_ODD += ["json:np.f2py.subprocess.Popen", "\x1b]8;;x\x07", "a\u202eb", "[/bold]", "$(touch hacked)"]

Files = dict[str, bytes]


class Base:
    """A run to be mutated, what its commands answer when it is left alone, and where it is put."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.run, self.out = folder, folder / "run", folder / "out.npy"
        graph = planted(60, 200, communities=2, seed=2).graph
        graph = graph.with_features(np.eye(60, 5, dtype=np.float32))
        np.save(folder / "features.npy", np.eye(60, 5, dtype=np.float32))
        write(graph, folder / "g.txt")
        where = ["--run-dir", str(self.run), "--features", str(folder / "features.npy"), "--vertices", "60"]
        self.embed = ["embed", str(folder / "g.txt"), "-o", str(self.out), *PLAN, *where]
        assert command([*self.embed, "--json"]) == 0
        self.whole = self._files()
        self.vectors = self.out.read_bytes()
        shutil.rmtree(self.run / "parts/000/result")
        record = {"message": "ValueError: it did not work", "notes": ["in the worker"], "time": 1.0}
        (self.run / "parts/000/failure.json").write_text(json.dumps(record))
        self.half = self._files()

    def _files(self) -> Files:
        return {str(file.relative_to(self.run)): file.read_bytes() for file in self.run.rglob("*") if file.is_file()}

    def put(self, files: Files) -> None:
        """Make the folder hold these files and nothing else."""
        shutil.rmtree(self.run, ignore_errors=True)
        for name, data in files.items():
            path = self.run / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        self.out.unlink(missing_ok=True)


def forge(folder: Path, name: str, change: Any, draw: Any) -> None:
    """Change a manifest's value or an array, and make the checksums right again."""
    manifest = folder / "manifest.json"
    body = json.loads(manifest.read_bytes())["body"]
    if name.endswith(".npy"):
        path = folder / name
        path.write_bytes(change(path.read_bytes()))
        body["arrays"][path.stem] = {"sha256": arrays.file_digest(path), "bytes": path.stat().st_size}
    else:
        _twist(body, draw)
    manifest.write_text(json.dumps({"body": body, "sha256": arrays._digest(body)}))


def _twist(body: Any, draw: Any) -> None:
    """Put an odd value, or none, somewhere into nested dicts and lists."""
    while True:
        places = list(body) if isinstance(body, dict) else range(len(body))
        if not places:
            return
        place = draw(st.sampled_from(list(places)))
        inner = body[place]
        if isinstance(inner, dict | list) and inner and draw(st.integers(0, 4)):
            body = inner
        elif draw(st.integers(0, 5)) == 0:
            del body[place]
            return
        else:
            body[place] = draw(st.sampled_from(_ODD))
            return


def _rewritten(data: bytes, draw: Any) -> bytes:
    """Return an array with other numbers, another length or another type."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    how = draw(st.sampled_from(["number", "number", "number", "short", "long", "type", "shape"]))
    if how == "number" and array.size:
        flat = array.copy().reshape(-1)
        top = np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).max
        least = -np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).min
        odd = [0, 1, top, least, flat[0], flat[-1], array.size]
        odd += [np.nan, 1e-45, -0.0] if array.dtype.kind == "f" else []
        flat[draw(st.integers(0, flat.size - 1))] = draw(st.sampled_from(odd))
        array = flat.reshape(array.shape)
    elif how == "short":
        array = array[: draw(st.integers(0, len(array)))]
    elif how == "long":
        array = np.concatenate([array, array[:3]])
    elif how == "type":
        array = np.nan_to_num(array).astype(
            draw(st.sampled_from(["f4", "f8", "i2", "i4", "i8", "u1", "?", ">i8", "c8"]))
        )
    else:
        array = array[None]
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def main() -> None:
    """Mutate a run that many times; print how the commands answered."""
    warnings.simplefilter("error")
    os.fsync = lambda _file: None  # power does not fail here, and waiting for disks takes most of the time
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    with contextlib.redirect_stdout(io.StringIO()):
        base = Base(folder)
    limit_memory(MEMORY)
    answers: Counter[str] = Counter()

    def ends(*line: str) -> int:
        """Run a command, which must end as documented, with one message and without a traceback."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()) as printed:
            code = command(list(line))
        text = said.getvalue()
        assert code in (0, 2), (line, code, text)
        assert "Traceback" not in text, text
        assert (code == 0) == ("Error" not in text), (line, code, text)
        assert all(c.isprintable() or c == "\n" for c in text + printed.getvalue())
        answers[f"{line[0]} {code}"] += 1
        return code

    def same(code: int, *, forged: bool) -> None:
        """Assert that what was written is right, and that nothing was where the command failed."""
        assert base.out.exists() == (code == 0)
        if code == 0 and forged:
            assert np.isfinite(np.load(base.out)).all()
        elif code == 0:
            assert base.out.read_bytes() == base.vectors

    @seed(2020)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def check(data: Any) -> None:
        draw = data.draw
        files = base.whole if draw(st.booleans()) else base.half
        name = draw(st.sampled_from(sorted(files)))
        forged = name.endswith((".npy", "manifest.json")) and draw(st.booleans())
        base.put(files)
        path = base.run / name
        if forged:
            forge(path.parent, path.name, lambda old: _rewritten(old, draw), draw)
        else:
            other = files[draw(st.sampled_from(sorted(files)))]
            changes: list[Edit] = draw(edits())
            path.write_bytes(mutated(files[name], changes, other))
            if draw(st.integers(0, 15)) == 0:
                path.unlink()
        what = draw(st.sampled_from(["reconcile", "embed-part", "embed", "all"]))
        (folder / "last.txt").write_text(f"{name}, forged: {forged}, then {what}\n")
        ends("status", str(base.run), *(["--json"] if draw(st.booleans()) else []))
        if what in ("reconcile", "all"):
            same(ends("reconcile", str(base.run), "-o", str(base.out)), forged=forged)
            base.out.unlink(missing_ok=True)
        if what in ("embed-part", "all") and ends("embed-part", str(base.run / "parts/000")) == 0 and not forged:
            assert (base.run / "parts/000/result/vectors.npy").read_bytes() == base.whole[
                "parts/000/result/vectors.npy"
            ]
        if what in ("embed", "all"):
            same(ends(*base.embed, "--resume"), forged=forged)

    check()
    sys.stdout.write(f"{count} folders: {', '.join(f'{n} x {what}' for what, n in sorted(answers.items()))}\n")


if __name__ == "__main__":
    main()

"""Kills workers and coordinators of real runs at random moments, until every run has come to the same bits.

``make soak`` kills at least 100 times. Each run is a `parge embed` by 3 workers of 6 subgraphs; whoever is killed
(SIGKILL), stopped for a while (SIGSTOP) or asked to leave (SIGTERM) is drawn at random, and so is the moment, over
the whole of a run: reading, decomposing, writing, embedding, reconciling, merging. A coordinator that is gone is
started again with ``--resume``. At the end the file must equal that of an undisturbed run, byte for byte, no process
and no temporary file may be left, and no stage may have gone unharmed.
"""

import argparse
import collections
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

TECHNIQUE = """
import os, time
import numpy as np

def embed(csr, rng):
    vectors = rng.standard_normal((csr.shape[0], 16))
    for _ in range(8):
        time.sleep(float(os.environ.get("SOAK_NAP", "0.05")))
        vectors = np.tanh(csr @ vectors + 0.1 * vectors)
    return vectors.astype(np.float32)
"""
WORKERS = 3
_STAGE = re.compile(r"\d+\.\d s  (\w+)")

# When to hit: so long, as a share of an undisturbed run, after this word has been said or a worker has started.
_MOMENTS = [("", 0.6), ("decomposing", 0.2), ("embedding", 0.3), ("reconciling", 0.1), ("writing", 0.05)]
_MOMENTS += 5 * [("a worker", 0.25)]

# A run that hangs is as bad as one that is wrong.
_LONGEST_SECONDS = 240.0


@dataclass
class Tally:
    """What was done to whom, and in which stage."""

    kills: collections.Counter[str] = field(default_factory=collections.Counter)
    stages: collections.Counter[str] = field(default_factory=collections.Counter)
    runs: int = 0
    starts: int = 0

    @property
    def n_kills(self) -> int:
        """How many processes were killed with SIGKILL."""
        return self.kills["worker killed"] + self.kills["coordinator killed"]

    def lines(self) -> list[str]:
        """Return the tally in words."""
        done = ", ".join(f"{count} x {what}" for what, count in sorted(self.kills.items()))
        where = ", ".join(f"{stage} {count}" for stage, count in self.stages.most_common())
        return [f"{self.runs} runs, {self.starts} starts; {done}", f"stage of the coordinator when hit: {where}"]


class Soak:
    """A folder with a graph and a technique, and runs that are disturbed in it."""

    def __init__(self, folder: Path, seed: int, parts: int) -> None:
        self.folder, self.random, self.parts, self.tally = folder, random.Random(seed), parts, Tally()
        (folder / "soaked.py").write_text(TECHNIQUE)
        self._parge("generate", "--vertices", "600", "--edges", "3000", "-o", "g.txt", "--seed", "1")
        begun = time.monotonic()
        self._parge(*self._line("reference.npy"))
        self.seconds = time.monotonic() - begun
        self.reference = (folder / "reference.npy").read_bytes()

    def _parge(self, *arguments: str) -> None:
        line = [sys.executable, "-m", "parge", *arguments]
        done = subprocess.run(line, cwd=self.folder, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def _line(self, out: str) -> list[str]:
        plan = ["--technique", "soaked:embed", "--parts", str(self.parts), "--anchors", "40", "--workers", str(WORKERS)]
        return ["embed", "g.txt", "-o", out, *plan, "--seed", "5"]

    def run(self, name: str, kills: int) -> None:
        """Disturb one run until it was hit `kills` times and is finished; raise AssertionError if it is not right."""
        self.tally.runs += 1
        end = self.tally.n_kills + kills
        deadline = time.monotonic() + _LONGEST_SECONDS + kills * self.seconds
        while not self._once(name, may_hit=self.tally.n_kills < end):
            assert time.monotonic() < deadline, f"{name} does not come to an end"
        out = self.folder / f"{name}.npy"
        assert out.read_bytes() == self.reference, f"{name} differs from the undisturbed run"
        assert not (self.folder / f"{name}.npy.run").exists()
        left = [file.name for file in self.folder.iterdir() if file.name.startswith(".parge-")]
        assert not left, left

    def _once(self, name: str, *, may_hit: bool) -> bool:
        """Start the run, or take it up; return whether it came to its end."""
        self.tally.starts += 1
        log = self.folder / f"{name}.log"
        with log.open("wb") as said:
            running = subprocess.Popen(
                [sys.executable, "-m", "parge", *self._line(f"{name}.npy"), "--resume"],
                cwd=self.folder,
                stderr=said,
                stdout=subprocess.DEVNULL,
            )
        known: set[int] = set()
        try:
            while may_hit and self._wait(running, log, known):
                self._hit(running, log)
                if running.poll() is not None:
                    break
            code = running.wait(_LONGEST_SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                running.kill()
            running.wait()
        _assert_gone(known)
        text = log.read_text(errors="replace")
        assert "Traceback" not in text, text
        # 0 done; 1 a worker was killed too often; 130 asked to leave; -9 killed; -15 asked while Python itself was
        # starting or, all done, ending.
        listening = text and "writing" not in text
        expected = (0, 1, 130, -signal.SIGKILL, *([] if listening else [-signal.SIGTERM]))
        assert code in expected, f"exit code {code}: {text}"
        return code == 0

    def _wait(self, running: "subprocess.Popen[bytes]", log: Path, known: set[int]) -> bool:
        """Wait for a random moment, drawn so that no stage is spared; return whether the run is still there."""
        stage, longest = self.random.choice(_MOMENTS)
        end = None if stage else time.monotonic() + self.random.uniform(0, longest * self.seconds)
        while running.poll() is None and (end is None or time.monotonic() < end):
            workers = _children(running.pid)
            known.update(child.pid for child in workers)
            if end is None and (workers if stage == "a worker" else stage in log.read_text(errors="replace")):
                end = time.monotonic() + self.random.uniform(0, longest * self.seconds)
            time.sleep(0.005)
        return running.poll() is None

    def _hit(self, running: "subprocess.Popen[bytes]", log: Path) -> None:
        """Do something to the coordinator or to one of its workers."""
        stages = _STAGE.findall(log.read_text(errors="replace"))
        workers = _children(running.pid)
        what = self.random.choice(["kill", "kill", "kill", "kill", "stop", "leave"])
        target = self.random.choice([*workers, *workers, None]) if workers else None
        who = "coordinator" if target is None else "worker"
        process = target or psutil.Process(running.pid)
        with contextlib.suppress(psutil.NoSuchProcess):
            if what == "kill":
                process.kill()
            elif what == "leave":
                process.terminate()
            else:
                process.suspend()
                time.sleep(self.random.uniform(0.1, 1.0))
                process.resume()
            done = {"kill": "killed", "stop": "stopped for a while", "leave": "asked to leave"}[what]
            self.tally.kills[f"{who} {done}"] += 1
            self.tally.stages[stages[-1] if stages else "starting"] += 1
        if target is None and what != "stop":
            running.wait(_LONGEST_SECONDS)


def _children(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return list(psutil.Process(pid).children())
    return []


def _assert_gone(pids: set[int]) -> None:
    """Raise unless all these workers are gone, or soon are: the system ends them with their parent."""
    end = time.monotonic() + 20
    while True:
        left = [pid for pid in pids if _is_worker(pid)]
        if not left:
            return
        assert time.monotonic() < end, f"workers {left} outlive their run"
        time.sleep(0.05)


def _is_worker(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and "parge.engine.worker" in process.cmdline()
    return False


def soak(seed: int, kills: int, runs: int, seconds: float, parts: int = 6) -> Tally:
    """Disturb runs until they were hit so often, or the time is over; return what was done."""
    folder = Path(tempfile.mkdtemp(prefix="parge-soak-"))
    end = time.monotonic() + seconds
    try:
        soaked = Soak(folder, seed, parts)
        while soaked.tally.n_kills < kills and time.monotonic() < end:
            left = max(1, runs - soaked.tally.runs)
            soaked.run(f"run-{soaked.tally.runs}", -(-(kills - soaked.tally.n_kills) // left))
        return soaked.tally
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Soak, and print what was done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "little"))
    parser.add_argument("--kills", type=int, default=120)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=20)
    given = parser.parse_args()
    print(f"seed {given.seed}; the moments also depend on the machine, so the same seed hits elsewhere", flush=True)
    begun = time.monotonic()
    tally = soak(given.seed, given.kills, given.runs, 60 * given.minutes)
    print("\n".join(tally.lines()))
    print(
        f"{tally.n_kills} kills in {time.monotonic() - begun:.0f} s; every run equals the undisturbed one, bit for bit"
    )
    if tally.n_kills < given.kills:
        sys.exit(f"only {tally.n_kills} of {given.kills} kills in {given.minutes} minutes")


if __name__ == "__main__":
    main()

"""Kills workers, coordinators and both at random moments of real runs, until every run has come to the same bits.

``make soak`` kills 1,000 times (SIGKILL), a tenth of it on a cluster of Ray. Each run is a `parge embed` of six
subgraphs by three workers. Who is hit is drawn at random: a worker, the guard of a worker, the server that workers are
forked from, the coordinator, or the coordinator with all of its workers at once; on Ray also Ray's own worker that
supervises ours. So is the moment, over all stages. Now and then somebody is stopped for a while (SIGSTOP) or asked to
leave (SIGTERM) instead, which does not count. A coordinator that is gone is started again with ``--resume``. In the end
the file must equal that of an undisturbed run, byte for byte. The technique starts a process in a session of its own;
no such process, no worker and no temporary file may be left. ``--tally FILE`` keeps the count, and goes on from it.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from benchmarks.soak_processes import (
    GONE_SECONDS,
    TOKEN,
    WORKERS,
    Cluster,
    all_below,
    is_ours,
    is_sleeper,
    ray_cluster,
    wait_for,
    with_token,
)
from benchmarks.soak_tally import STAGES, Tally, WrongError

TECHNIQUE = """
import subprocess, time
import numpy as np

def embed(csr, rng):
    subprocess.Popen(["sleep", "3333"], stdin=subprocess.DEVNULL, start_new_session=True)
    vectors = rng.standard_normal((csr.shape[0], 16))
    for _ in range(6):
        time.sleep(0.2)
        vectors = np.tanh(csr @ vectors + 0.1 * vectors)
    return vectors.astype(np.float32)
"""
KILLS_PER_RUN, LATE_PER_RUN = 16, 3
RAY_SHARE = 0.1

_RESUMED = "resuming"
_SAID = re.compile(r"^ *\d+\.\d s  (\w+)", re.MULTILINE)

# When to hit: up to this many seconds after the word (the first: after the start), and how likely each is drawn. Later
# stages are short. Decomposing comes once per run, unless it was killed there, while subgraphs are embedded over and
# over: it is drawn first more often than not, so that some 10 % of the kills fall there.
_EARLY = {("", 2.0): 2, ("decomposing", 0.4): 20}
_MIDDLE = {("embedding", 1.5): 2, ("a worker", 0.8): 10}
_LATE = {("aligning", 0.04): 1, ("refining", 0.03): 1, ("writing", 0.2): 1}

# A run that hangs is as bad as one that is wrong.
_LONGEST_SECONDS = 300.0


@dataclass
class Soak:
    """What the lanes share: the place, the tally, and how far to go."""

    folder: Path
    kills: int
    tally: Tally
    keep: Path | None
    end: float
    parts: int
    reference: bytes = b""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def prepare(self) -> None:
        """Make a graph, and embed it undisturbed."""
        self.copy(self.folder)
        line = [*PARGE, "generate", "--vertices", "400", "--edges", "2000", "-o", "g.txt", "--seed", "1"]
        subprocess.run(line, cwd=self.folder, check=True, capture_output=True)
        line = [*PARGE, *self.line("reference.npy")]
        subprocess.run(line, cwd=self.folder, check=True, capture_output=True)
        self.reference = (self.folder / "reference.npy").read_bytes()

    def copy(self, folder: Path) -> None:
        """Have the graph and the technique in a folder."""
        (folder / "soaked.py").write_text(TECHNIQUE)
        if folder != self.folder:
            shutil.copy(self.folder / "g.txt", folder)

    def line(self, out: str) -> list[str]:
        """Return the command of a run."""
        plan = ["--technique", "soaked:embed", "--parts", str(self.parts), "--anchors", "32", "--refine", "whiten"]
        return ["embed", "g.txt", "-o", out, *plan, "--jobs", str(WORKERS), "--seed", "5"]

    def goes_on(self, *, on_ray: bool) -> bool:
        """Return whether more kills are wanted."""
        enough = self.kills * RAY_SHARE if on_ray else self.kills
        so_far = self.tally.on_ray.total() if on_ray else self.tally.n_kills
        return so_far < min(enough, self.kills) and time.monotonic() < self.end

    def count(self, kind: str, stage: str, *, on_ray: bool) -> None:
        """Note a kill."""
        with self.lock:
            (self.tally.on_ray if on_ray else self.tally.kills)[kind] += 1
            self.tally.stages[stage] += 1
            if self.tally.n_kills % 50 == 0:
                print(f"{time.strftime('%H:%M:%S')}  {self.tally.line()}", flush=True)

    def write(self) -> None:
        """Keep the tally."""
        if self.keep is not None:
            with self.lock:
                self.keep.write_text(json.dumps(self.tally.to_json()))


PARGE = [sys.executable, "-m", "parge"]


@dataclass
class Lane:
    """Runs that are disturbed one after another, in a folder of their own; on a cluster of Ray where there is one."""

    soak: Soak
    name: str
    random: random.Random
    cluster: Cluster | None = None

    def __post_init__(self) -> None:
        """Make the folder."""
        self.late = 0
        self.token = f"{self.name}-{os.getpid()}-{self.random.randrange(10**9)}"
        self.folder = self.soak.folder / self.name
        (self.folder / "tmp").mkdir(parents=True)
        self.soak.copy(self.folder)

    def work(self) -> None:
        """Disturb runs until there were enough kills."""
        n = 0
        while self.soak.goes_on(on_ray=self.cluster is not None):
            n += 1
            try:
                self._run(f"run-{n}")
            except WrongError as wrong:
                self._wrong(wrong.kind, str(wrong))
            except Exception:  # noqa: BLE001  a lane that stops would hide what the others find
                self._wrong("other failures", traceback.format_exc())
            self.soak.write()

    def _wrong(self, kind: str, words: str) -> None:
        with self.soak.lock:
            self.soak.tally.wrong[kind] += 1
        print(f"{kind} in {self.name}: {words}", flush=True)

    def _run(self, name: str) -> None:
        """Disturb one run until it was hit often enough and is finished."""
        self.late = 0
        hits, until = 0, time.monotonic() + 3 * _LONGEST_SECONDS
        while True:
            more = KILLS_PER_RUN - hits if self.soak.goes_on(on_ray=self.cluster is not None) else 0
            done, hit = self._once(name, more)
            hits += hit
            if done:
                break
            if time.monotonic() > until:
                raise WrongError("other failures", f"{name} does not come to an end")
        out = self.folder / f"{name}.npy"
        if out.read_bytes() != self.soak.reference:
            raise WrongError("changed bits", f"{name} differs from the undisturbed run")
        out.unlink()
        (self.folder / f"{name}.ids.txt").unlink()
        (self.folder / f"{name}.log").unlink()
        kept = {"g.txt", "soaked.py", "tmp", "__pycache__"}
        left = [file.name for file in self.folder.iterdir() if file.name not in kept]
        left += [f"tmp/{file.name}" for file in (self.folder / "tmp").iterdir()]
        if left:
            for file in left:
                shutil.rmtree(self.folder / file, ignore_errors=True)
                with contextlib.suppress(OSError):
                    (self.folder / file).unlink()
            raise WrongError("files left", f"{name}: {', '.join(left)}")
        with self.soak.lock:
            self.soak.tally.runs += 1

    def _once(self, name: str, more: int) -> tuple[bool, int]:
        """Start the run, or take it up, and hit it up to `more` times; return whether it is done, and the kills."""
        with self.soak.lock:
            self.soak.tally.starts += 1
        log = self.folder / f"{name}.log"
        where = ["--engine", "ray", "--address", self.cluster.address] if self.cluster else []
        environment = {**os.environ, TOKEN: self.token, "TMPDIR": str(self.folder / "tmp")}
        with log.open("wb") as said:
            running = subprocess.Popen(
                [*PARGE, *self.soak.line(f"{name}.npy"), *where, "--resume"],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stderr=said,
                stdout=subprocess.DEVNULL,
            )
        kills = 0
        try:
            while kills < more and self._wait(running, log):
                kills += self._hit(running, log)
                if running.poll() is not None:
                    break
            code = running.wait(_LONGEST_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise WrongError("other failures", f"{name} hangs: {log.read_text(errors='replace')}") from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                running.kill()
            running.wait()
        self._wait_until_gone()
        text = log.read_text(errors="replace")
        # 0 done; 1 a worker was killed too often; 130 asked to leave; -9 killed; -15 asked while Python itself was
        # starting or, all done, ending.
        listening = _SAID.search(text) and "writing" not in text
        expected = (0, 1, 130, -signal.SIGKILL, *([] if listening else [-signal.SIGTERM]))
        if "Traceback" in text or code not in expected or (code == 1 and not _TOO_OFTEN.search(text)):
            raise WrongError("other failures", f"{name} left with {code}: {text}")
        return code == 0, kills

    def _wait(self, running: "subprocess.Popen[bytes]", log: Path) -> bool:
        """Wait for a random moment, drawn so that no stage is spared; return whether the run is still there."""
        text = log.read_text(errors="replace")
        started, over = "embedding" in text, "aligning" in text
        if over and self.late >= LATE_PER_RUN:
            return False  # a run whose subgraphs are done can only be hit at its end
        moments = _LATE if over else _MIDDLE | _LATE if started or _RESUMED in text else _EARLY | _MIDDLE | _LATE
        ((word, longest),) = self.random.choices(list(moments), list(moments.values()))
        end = None if word else time.monotonic() + self.random.uniform(0, longest)
        until = time.monotonic() + _LONGEST_SECONDS
        while running.poll() is None and (end is None or time.monotonic() < end) and time.monotonic() < until:
            text = log.read_text(errors="replace")
            if word == "a worker" and "aligning" in text:
                return self._wait(running, log)  # there will be none any more
            if word == "decomposing" and _RESUMED in text:
                return self._wait(running, log)  # it was decomposed before
            if end is None and ("worker" in self._targets(running.pid) if word == "a worker" else word in text):
                end = time.monotonic() + self.random.uniform(0, longest)
            time.sleep(0.1 if word == "a worker" and end is None else 0.005)
        return running.poll() is None

    def _hit(self, running: "subprocess.Popen[bytes]", log: Path) -> int:
        """Do something to the coordinator or to one of its workers; return whether it was a kill that was meant."""
        said = _SAID.findall(log.read_text(errors="replace"))
        stage = STAGES.get(said[-1], said[-1]) if said else "start"
        self.late += stage in ("reconcile", "refine", "write")
        targets = self._targets(running.pid)
        coordinator = psutil.Process(running.pid)
        leader = "driver" if self.cluster else "coordinator"
        kind = self.random.choice([*sorted({*targets} - {"server"}) * 3, *({"server"} & {*targets}), leader, "group"])
        process = self.random.choice(targets[kind]) if kind in targets else coordinator
        what = self.random.choices(["kill", "stop", "leave"], [10, 1, 1])[0]
        everybody = [each for several in (targets.get("worker", []), targets.get("ray worker", [])) for each in several]
        below = all_below([process, *everybody] if kind == "group" else [process])
        with contextlib.suppress(psutil.NoSuchProcess):
            if what == "stop":
                process.suspend()
                time.sleep(self.random.uniform(0.1, 0.6))
                process.resume()
            elif what == "leave":
                process.terminate()
            else:
                process.kill()
                for other in everybody if kind == "group" else []:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        other.kill()
                counted = "worker" if kind == "guard" and not self.cluster else kind
                self.soak.count(counted, stage, on_ray=self.cluster is not None)
        if what != "kill":
            with self.soak.lock:
                self.soak.tally.others[f"{kind}s {'stopped for a while' if what == 'stop' else 'asked to leave'}"] += 1
        if process is coordinator and what != "stop":
            running.wait(_LONGEST_SECONDS)
        if what == "kill":
            wait_for(below)
        return int(what == "kill")

    def _targets(self, coordinator: int) -> dict[str, list[psutil.Process]]:
        """Return the processes of a run that are at work on subgraphs, by kind."""
        found: dict[str, list[psutil.Process]] = {}
        with contextlib.suppress(psutil.NoSuchProcess):
            above = self.cluster.process if self.cluster else psutil.Process(coordinator)
            for each in above.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if each.name() == "parge-server":
                        found.setdefault("server", []).append(each)
                    if each.name() != "parge-guard":
                        continue
                    found.setdefault("guard", []).append(each)
                    if self.cluster:
                        found.setdefault("ray worker", []).append(each.parent())
                    found.setdefault("worker", []).extend(each.children()[:1])
        return {kind: processes for kind, processes in found.items() if processes}

    def _wait_until_gone(self) -> None:
        """Raise unless all that was started is gone, or soon is; what is left is ended."""
        token, end = self.cluster.token if self.cluster else self.token, time.monotonic() + GONE_SECONDS
        while left := [each for each in with_token(token) if is_ours(each) or is_sleeper(each)]:
            if time.monotonic() > end:
                words = "; ".join(f"{each.pid} {' '.join(each.cmdline())}" for each in left)
                for each in left:
                    each.kill()
                raise WrongError("processes left", words)
            time.sleep(0.1)


_TOO_OFTEN = re.compile(r"killed from outside|was lost|Ray cluster|hold the run|is at work")


def soak(
    seed: int, kills: int, *, minutes: float, lanes: int = 2, ray: bool = True, parts: int = 6, keep: Path | None = None
) -> Tally:
    """Disturb runs until something was killed so often, or the time is over; return what was done and found."""
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    tally = Tally.read(keep) if keep is not None else Tally()
    shared = Soak(folder, kills, tally, keep, time.monotonic() + 60 * minutes, parts)
    drawn = random.Random(f"{seed} {tally.n_kills}")
    try:
        shared.prepare()

        def work(number: int) -> None:
            if ray and number == 0 and shared.goes_on(on_ray=True):
                with ray_cluster(folder) as cluster:
                    Lane(shared, "on-ray", random.Random(drawn.random()), cluster).work()
            Lane(shared, f"lane-{number}", random.Random(drawn.random())).work()

        threads = [threading.Thread(target=work, args=[number]) for number in range(lanes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return tally
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Soak, and print what was done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "little"))
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--lanes", type=int, default=2, help="runs at once")
    parser.add_argument("--without-ray", action="store_true")
    parser.add_argument("--tally", type=Path, help="keep the count in this file, and go on from it")
    given = parser.parse_args()
    print(f"seed {given.seed}; the moments also depend on the machine, so the same seed hits elsewhere", flush=True)
    ray = not given.without_ray
    if ray and importlib.util.find_spec("ray") is None:
        print("without Ray, which is not installed: pip install 'parge[ray]'", flush=True)
        ray = False
    started = time.monotonic()
    tally = soak(given.seed, given.kills, minutes=given.minutes, lanes=given.lanes, ray=ray, keep=given.tally)
    print(tally.details())
    print(f"{tally.line()} ({time.monotonic() - started:.0f} s)")
    if tally.wrong.total():
        sys.exit(1)
    if tally.n_kills < given.kills:
        sys.exit(f"only {tally.n_kills} of {given.kills} kills in {given.minutes} minutes")


if __name__ == "__main__":
    main()

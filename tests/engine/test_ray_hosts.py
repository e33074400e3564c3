"""Machines that share nothing: hosts with their own network, processes and folders, one killed while it embeds."""

import contextlib
import importlib.util
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

import parge
from parge.engine.ray_schedule import RAY_WORKER_BYTES
from parge.graph.generate import planted

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'parge[ray]'"
    ),
]

RAY = [sys.executable, "-m", "ray.scripts.scripts"]
PARGE = [sys.executable, "-m", "parge"]
HEAD = "10.77.0.1:6379"
MEMORY = {"head": 0, "large": 2_000_000_000, "small": 1_000_000_000}  # the head coordinates and embeds nothing


class Host:
    """A machine, as far as namespaces make one: its own network, processes, and a private `folder`."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.environment = environment
        alone = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
        mounts = f"mount -t tmpfs tmpfs {folder} && mount -t tmpfs tmpfs /dev/shm && echo ready && exec sleep 600"
        self.outer = subprocess.Popen([*alone, "sh", "-c", mounts], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert self.outer.stdout is not None
        said = self.outer.stdout.readline().decode().strip()
        if said != "ready":
            self.kill()
            pytest.skip(f"namespaces are not permitted here: {said}")
        (inner,) = psutil.Process(self.outer.pid).children()
        self.pid = inner.pid

    def command(self, *words: str) -> list[str]:
        """Return what runs a command on this host."""
        return ["nsenter", "-t", str(self.pid), "--net", "--mount", "--pid", *words]

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command(*words), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *words: str, attempts: int = 1) -> None:
        """Run a command on this host; Ray gives itself 30 s to start, which a busy machine may exceed."""
        for attempt in range(1, attempts + 1):
            starting = self.start(*words)
            out, err = starting.communicate(timeout=200)
            if starting.returncode == 0:
                return
            assert attempt < attempts, out + err
            self.start(*RAY, "stop", "--force").communicate(timeout=100)

    def at(self, path: Path) -> Path:
        """Return where this host's own file is seen from here."""
        return Path(f"/proc/{self.pid}/root{path}")

    def ip(self, *words: str) -> None:
        """Change this host's network; processes are numbered as they are here."""
        subprocess.run(["nsenter", "-t", str(self.pid), "--net", "ip", *words], check=True, capture_output=True)

    def kill(self) -> None:
        """Pull the plug: everything on the host is gone at once, its network too."""
        self.outer.send_signal(signal.SIGKILL)
        self.outer.wait()
        if self.outer.stdout is not None:
            self.outer.stdout.close()


def _plug(switch: Host, hosts: list[Host]) -> list[str]:
    """Join the hosts by a network of their own, in which `switch` is the switch; return their addresses."""
    try:
        switch.ip("link", "add", "bridge", "type", "bridge")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"networks cannot be made here: {error}")
    switch.ip("link", "set", "bridge", "up")
    addresses = []
    for i, host in enumerate(hosts, 1):
        switch.ip("link", "add", f"port{i}", "type", "veth", "peer", "name", "eth0", "netns", str(host.pid))
        switch.ip("link", "set", f"port{i}", "master", "bridge", "up")
        host.ip("link", "set", "lo", "up")
        host.ip("address", "add", f"10.77.0.{i}/24", "dev", "eth0")
        host.ip("link", "set", "eth0", "up")
        addresses.append(f"10.77.0.{i}")
    return addresses


@contextmanager
def ray_on_hosts(memory: Mapping[str, int]) -> Iterator[tuple[Path, dict[str, Host]]]:
    """Yield a folder that every host has a private one at, and hosts of so much memory, on which Ray runs."""
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        pytest.skip("iproute2 or util-linux is not installed")
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="parge-"))  # short: sockets must have short paths
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        environment = _environment(folder)
        made = []
        for _ in range(1 + len(memory)):
            made.append(Host(folder, environment))
            stack.callback(made[-1].kill)
        switch, *hosts = made
        named = dict(zip(memory, hosts, strict=True))
        addresses = dict(zip(memory, _plug(switch, hosts), strict=True))
        first = ("--head", "--port=6379", "--include-dashboard=false")
        for name, size in memory.items():
            where = (f"--address={HEAD}",) if size else first
            named[name].run(*_ray_start(name, size, folder, addresses[name], *where), attempts=3)
        yield folder, named


def _environment(folder: Path) -> dict[str, str]:
    home = str(Path(parge.__file__).parents[1])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")])),
        "TMPDIR": str(folder),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # Ray's 15 would starve them beside other tests
    }


def _ray_start(name: str, memory: int, folder: Path, address: str, *where: str) -> list[str]:
    cores = ["--num-cpus=1", f"--memory={memory}"] if memory else ["--num-cpus=0"]
    same = [f"--node-ip-address={address}", f"--node-name={name}", f"--temp-dir={folder}/ray"]
    return [*RAY, "start", *where, *cores, *same, "--object-store-memory=80000000"]


def test_a_host_is_killed_while_it_embeds_and_the_bits_are_those_of_serial(tmp_path: Path) -> None:
    graph = planted(800, 4000, seed=3).graph
    parge.write(graph, tmp_path / "graph.txt")
    memory = [size - RAY_WORKER_BYTES for size in MEMORY.values() if size]
    plan = parge.Plan(technique=parge.DeepWalk(dim=16, walks=300), memory=memory, seed=5, engine="serial")
    parge.embed(parge.read(tmp_path / "graph.txt"), plan).save(tmp_path / "expected.npy")
    with ray_on_hosts(MEMORY) as (folder, hosts):
        inside = hosts["head"].at(folder)
        shutil.copy(tmp_path / "graph.txt", inside)
        line = (
            f"embed {folder}/graph.txt -o {folder}/found.npy --dim 16 --param walks=300 --memory auto --seed 5 --json"
        )
        where = f"--engine ray --address {HEAD} --run-dir {folder}/run"
        driver = hosts["head"].start(*PARGE, *line.split(), *where.split())
        if not _is_at_work(inside / "run", driver):
            hosts["head"].kill()
            pytest.fail("no worker was seen at work: " + "".join(driver.communicate()))
        hosts["small"].kill()
        out, err = driver.communicate(timeout=200)
        assert driver.returncode == 0, out + err
        (words,) = json.loads(out)["retries"]
        assert "on small was lost" in words
        assert (inside / "found.npy").read_bytes() == (tmp_path / "expected.npy").read_bytes()
        elsewhere = hosts["large"].at(folder)
        assert elsewhere.is_dir()
        assert _is_empty(elsewhere)  # nothing of the run is there, and nothing was left behind


def _is_empty(folder: Path) -> bool:
    """Return whether no array is left; a worker may still be removing its own after its answer has arrived."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with contextlib.suppress(OSError):  # a folder that vanishes while it is looked at
            if not list(folder.rglob("*.npy")):
                return True
        time.sleep(0.2)
    return False


def _is_at_work(run: Path, driver: "subprocess.Popen[str]") -> bool:
    """Wait until a worker has told that it has started, by the lock of its part on the head."""
    end = time.monotonic() + 200
    while driver.poll() is None and time.monotonic() < end:
        for lock in run.glob("parts/*/lock"):
            with contextlib.suppress(OSError, ValueError):
                if json.loads(lock.read_bytes())["share"] > 0:
                    return True
        time.sleep(0.05)
    return False

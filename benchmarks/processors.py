"""Other processors, played by this one: settings that make BLAS, numpy or numba use other instructions.

OpenBLAS takes the kernels of another processor by ``OPENBLAS_CORETYPE``, numpy leaves vector units out by
``NPY_DISABLE_CPU_FEATURES``, numba compiles for another processor by ``NUMBA_CPU_NAME``. All are read when a process
starts, and children inherit them. A setting that this machine cannot run is found by trying.
"""

import os
import platform
import signal
import subprocess
import sys
from dataclasses import dataclass, field

X86_CORES = ("Haswell", "Zen", "SkylakeX", "Sandybridge", "Prescott")
ARM_CORES = ("ARMV8", "CORTEXA57", "NEOVERSEN1", "THUNDERX2T99")

# Tells what is at work, and does a little of everything, so that an unknown instruction ends it here.
_TRY = """
import numpy as np, scipy.linalg, threadpoolctl, numba
from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched, __cpu_features__ as features
from llvmlite import binding
blas = {(each["internal_api"], each.get("architecture", "")) for each in threadpoolctl.threadpool_info()
        if each["user_api"] == "blas"}
print(" ".join(sorted(f"{api}:{kind}" for api, kind in blas)))
print(" ".join(name for name in dispatched if features[name]) or "nothing")
print(numba.config.CPU_NAME or binding.get_host_cpu_name())
for dtype in (np.float32, np.float64):
    square = np.random.default_rng(0).standard_normal((300, 300)).astype(dtype)
    square = square @ square.T
    for solve in (np.linalg.eigh, np.linalg.svd, np.linalg.qr, scipy.linalg.eigh, scipy.linalg.svd, np.exp, np.sum):
        solve(square / 1000)
"""


@dataclass(frozen=True)
class Setting:
    """What a process is told in its environment to be on another processor."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def full(self) -> dict[str, str]:
        """The environment of a process on it: this one's, and what differs."""
        kept = {name: value for name, value in os.environ.items() if name not in _ALL}
        return {**kept, **self.environment}


@dataclass(frozen=True)
class Tried:
    """What a setting turned out to be: the BLAS with its kernels, numpy's vector units, numba's processor."""

    blas: str = ""
    numpy: str = ""
    numba: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return self.reason or f"BLAS {self.blas}, numpy with {self.numpy}, numba for {self.numba}"


_ALL = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "ATEN_CPU_CAPABILITY")

OWN = Setting("this machine's own")


def core(name: str) -> Setting:
    """Return the setting in which OpenBLAS runs the kernels of a processor."""
    return Setting(f"OPENBLAS_CORETYPE={name}", {"OPENBLAS_CORETYPE": name})


def cores() -> tuple[Setting, ...]:
    """Return the processors whose kernels OpenBLAS may have here."""
    is_x86 = platform.machine().lower() in {"x86_64", "amd64"}
    return tuple(core(name) for name in (X86_CORES if is_x86 else ARM_CORES))


def plain_numpy() -> Setting:
    """Return the setting in which numpy uses none of the vector units that it would choose here."""
    from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched
    from numpy._core._multiarray_umath import __cpu_features__ as features

    names = " ".join(name for name in dispatched if features[name])
    return Setting(f"NPY_DISABLE_CPU_FEATURES={names}", {"NPY_DISABLE_CPU_FEATURES": names} if names else {})


# PyTorch has vector units of its own choice.
PLAIN_NUMBA = Setting("NUMBA_CPU_NAME=generic", {"NUMBA_CPU_NAME": "generic", "ATEN_CPU_CAPABILITY": "default"})


def tried(setting: Setting) -> Tried:
    """Run a little of everything under a setting; say what was at work, or why it cannot be."""
    done = subprocess.run([sys.executable, "-c", _TRY], env=setting.full, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGILL:
        return Tried(reason="this processor lacks instructions that it uses (SIGILL)")
    if done.returncode:
        return Tried(reason=f"it ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    found = Tried(*done.stdout.splitlines()[:3])
    if "OPENBLAS_CORETYPE" in setting.environment and "openblas" not in found.blas:
        return Tried(reason=f"the BLAS here is not OpenBLAS but {found.blas or 'unknown'}")
    if setting.name.startswith("NPY_DISABLE") and not setting.environment:
        return Tried(reason="numpy chooses no vector units here that it could leave out")
    return found

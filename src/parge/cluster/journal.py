"""A journal of steps: what each leaves is kept in files, so that a run that was cut short does none of them twice."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parge.cluster.mesh import Mesh
from parge.run import arrays
from parge.run.arrays import DamagedError
from parge.run.codec import Arrays
from parge.run.schema import STEP


class Journal(ABC):
    """Keeps what steps leave.

    Laws: all shards take the same steps in the same order; a step is computed unless all shards have kept it; what is
    read back has the bits that were computed.
    """

    @abstractmethod
    def step(self, mesh: Mesh, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """Return what a step leaves on this shard: computed now, or as it was kept."""


class NoJournal(Journal):
    """Keeps nothing."""

    def step(self, _mesh: Mesh, _name: str, compute: Callable[[], Arrays]) -> Arrays:
        """Compute the step."""
        return compute()


@dataclass(frozen=True)
class FolderJournal(Journal):
    """Keeps what a shard's steps leave in a folder of its own."""

    folder: Path

    def step(self, mesh: Mesh, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """Read the step back if all shards have kept it; otherwise compute and keep it."""
        place = self.folder / name
        found = self._kept(place)
        if mesh.count(int(found is not None)) == mesh.size and found is not None:
            return found
        del found
        content = compute()
        arrays.save(place, STEP, content, {})
        return content

    def _kept(self, place: Path) -> Arrays | None:
        if not arrays.exists(place):
            return None
        try:
            return {name: np.array(array) for name, array in arrays.load(place, STEP)[0].items()}
        except DamagedError:
            return None

    def discard(self) -> None:
        """Remove what was kept; what is no folder of a step stays, and no link is followed."""
        if self.folder.is_dir() and not self.folder.is_symlink():
            for place in self.folder.iterdir():
                if place.is_dir() and not place.is_symlink():
                    arrays.discard(place)
            with contextlib.suppress(OSError):
                self.folder.rmdir()

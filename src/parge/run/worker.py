"""The work of a worker: read a part folder, embed its subgraph, write the result next to it."""

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import parge
from parge.errors import InputError
from parge.events import Progress, silent, spaced
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph, induce_with_context
from parge.landmarks.base import LandmarkTechnique
from parge.memory import measured_tree, over_limit, reset_peak, trim_heap
from parge.run import parts
from parge.run.metadata import ResultMetadata
from parge.run.schema import RESULT, SUBGRAPH
from parge.run.trust import trusted
from parge.seeds import keyed_rng
from parge.techniques.base import Technique, check_shared, embed_checked
from parge.techniques.resolve import Described, restore
from parge.values import Settings

_PROGRESS_SECONDS = 1.0


@dataclass(frozen=True)
class PartJob:
    """Which part to embed, and with what; an engine may send it to another machine.

    Parameters
    ----------
    folder : Path
        The part folder.
    technique : Technique or its description, optional
        The technique of the run's plan; without it, the one that the folder names, within limits (see `trusted`).
    allow : str
        What the user typed: the technique that the folder must name; as ``module:attribute`` the only one that it
        may name.
    seen_by_all : bool
        Whether all machines see the folder: then none of its files is sent, and a worker stores the result in it.
    is_away : bool
        Whether the process that sent the job holds the folder's lock. So a machine that is lost leaves no lock.
    """

    folder: Path
    technique: Technique | Described | None = None
    allow: str = ""
    seen_by_all: bool = False
    is_away: bool = False

    @property
    def reads(self) -> str:
        """The folder to send; empty if all machines see it."""
        return "" if self.seen_by_all else SUBGRAPH

    @property
    def writes(self) -> str:
        """The folder to send back; empty if all machines see it."""
        return "" if self.seen_by_all else RESULT

    def as_remote(self, folder: Path) -> "PartJob":
        """Return the same work on a part folder that was sent, or in place."""
        return replace(self, is_away=True) if self.seen_by_all else replace(self, folder=folder)

    @contextmanager
    def locked_for_remote(self) -> Iterator[Callable[[float], None]]:
        """Hold the part folder's lock during work elsewhere; yield the function that records the progress."""
        with _locked(self.folder) as record:
            if self.seen_by_all:
                parts.remove_unusable(self.folder)
            yield record

    def store(self, files: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Store the result that was written on another machine, or check that it was stored in place."""
        if self.seen_by_all:
            parts.check_stored(self.folder)
        else:
            parts.accept_result(self.folder, files)


def embed_part(job: PartJob, progress: Progress = silent) -> ResultMetadata:
    """Embed the subgraph of a part folder; return the metadata of its result.

    The random stream depends only on the run's seed and the number of the subgraph, so the vectors do not depend
    on where and when this runs.
    """
    reset_peak()
    started = time.perf_counter()
    with _at_work(job) as record, measured_tree() as peak_bytes:
        if job.is_away and (stored := parts.whole_result(job.folder)) is not None:
            return stored  # by a machine that was thought lost
        subgraph, metadata = parts.load_subgraph(job.folder)
        trim_heap()  # of what checked it: up to 0.7 MB on a small graph, before the largest arrays are made
        technique = _technique(job, metadata.technique)
        check_shared(technique, subgraph.shared, None if subgraph.context is None else subgraph.context.n_landmarks)
        embedding_started = time.perf_counter()
        rng = keyed_rng(metadata.seed, "embed", subgraph.index)
        vectors = embed_checked(technique, subgraph, rng, _recording(record, progress))
        if over_limit():
            raise MemoryError  # no result of a worker that kept its limit only by luck
        result = ResultMetadata(
            index=subgraph.index,
            vertices=subgraph.n_vertices,
            own=subgraph.n_own,
            anchors=subgraph.n_anchors,
            halo=subgraph.n_halo,
            supervertices=subgraph.n_supervertices,
            edges=subgraph.n_edges,
            dim=int(vectors.shape[1]),
            seconds=time.perf_counter() - embedding_started,
            total_seconds=time.perf_counter() - started,
            peak_bytes=peak_bytes(),
            run=metadata.run,
            versions=Settings(
                {"parge": parge.__version__, "python": platform.python_version(), "numpy": np.__version__}
            ),
        )
        save = parts.save_result_in_place if job.is_away else parts.save_result
        save(job.folder, vectors, result)
    return result


def _at_work(job: PartJob) -> AbstractContextManager[Progress]:
    """Hold the part folder's lock, unless the process that sent the job does; give what records the progress in it."""
    return nullcontext(silent) if job.is_away else _locked(job.folder)


@contextmanager
def _locked(folder: Path) -> Iterator[Progress]:
    """Hold the part folder's lock; yield the function that now and then writes the progress into it."""
    with parts.at_work(folder) as lock:
        parts.remove_failure(folder)
        yield spaced(lock.record, _PROGRESS_SECONDS)


def prepare_worker(described: Described | None) -> None:
    """Import what workers with this technique need, and load the compiled code, by embedding a few vertices.

    Nothing is embedded with a technique that may leave something behind, such as threads (`Technique.leaves_nothing`),
    and of a ``module:attribute`` nothing is imported.
    """
    from parge.kernels.jit import load_compiled

    technique = restore(described) if described is not None and described.is_registered else None
    if technique is not None and technique.leaves_nothing:
        ring = Graph.from_edges(np.arange(8), (np.arange(8) + 1) % 8)
        plain = type(technique)(dim=technique.dim)
        plain.embed(Subgraph.whole(ring), np.random.default_rng(0))
        if isinstance(plain, LandmarkTechnique):
            plain.embed(_with_landmarks(ring, plain), np.random.default_rng(0))
    load_compiled()


def _with_landmarks(ring: Graph, technique: LandmarkTechnique) -> Subgraph:
    """Return half of a ring of eight as a part around landmarks."""
    landmark = np.array([1, 1, 2, 2, 0, 3, 4, 4])
    shared = technique.embed_landmarks(ring, landmark, 5)
    part = induce_with_context(ring, np.arange(4), np.array([4]), np.array([5]), landmark)
    assert part.context is not None
    for array in (part.context.landmark, part.context.loops):  # as those of a part folder are
        array.flags.writeable = False
    return replace(part, shared=shared)


def _recording(record: Progress, progress: Progress) -> Progress:
    """Return a function that passes progress on, and into the part's lock for `parge status`."""

    def on_progress(share: float) -> None:
        progress(share)
        record(share)

    return on_progress


def _technique(job: PartJob, described: Described | None) -> Technique:
    if isinstance(job.technique, Technique):
        return job.technique
    if job.technique is not None:
        return restore(job.technique)  # from the process that planned the run, not from the folder
    if described is None:
        raise InputError(
            "the technique of this run is a Python object, which cannot be stored in a file. Embed with the process "
            "that planned the run, or name the technique as module:function."
        )
    return trusted(described, job.folder, allow=job.allow)

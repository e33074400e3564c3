"""The stages of a run in shards: each reads what the stage before left in files, and leaves its own.

A stage is a program for all shards (`parge.cluster.mesh`). Because every stage begins from files, a shard that is lost
costs the stage that it was in, and nothing before it.
"""

import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parge.cluster.balance import Room, known_owners
from parge.cluster.checkpoints import FolderCheckpoint, load_rows, load_shard
from parge.cluster.checks import check_all_there
from parge.cluster.cutting import Held, Landmarks, hold, landmarks, merged_noise, merged_weights
from parge.cluster.halo import edge_counts, fetch, nearest
from parge.cluster.head import fit_shared_head
from parge.cluster.ingest import Counts, Shard, ingest
from parge.cluster.journal import FolderJournal
from parge.cluster.mesh import Mesh
from parge.cluster.redistribute import PartRows, redistribute
from parge.cluster.refine import shard_workspace
from parge.cluster.rows import rows_of
from parge.cluster.run_folder import Folders
from parge.cluster.source import Source
from parge.cluster.split import Aim, split_shared
from parge.cluster.stage_results import CutResult, DivideResult, FinishResult, ReadResult, shard_name
from parge.cluster.subgraphs import cut_out, cut_plain
from parge.decompose.limits import Limits
from parge.decompose.supervertices import LandmarkDecomposer
from parge.graph.subgraph import Subgraph
from parge.io.embeddings.common import Vectors
from parge.io.embeddings.parquet import write_parquet
from parge.landmarks.base import LandmarkTechnique
from parge.memory import peak_bytes, reset_peak
from parge.reconcile.base import Map
from parge.reconcile.merge import AnchorMerge
from parge.refine.base import Done, Refiner
from parge.run import arrays, parts
from parge.run.arrays import DamagedError
from parge.run.codec import Arrays, id_arrays
from parge.run.metadata import SubgraphMetadata
from parge.run.schema import MERGED, ROWS, SHARD, SHARED
from parge.stage_reports import Refined
from parge.storage import Files, release_pages
from parge.techniques.base import Technique, check_shared
from parge.techniques.resolve import Described
from parge.typing import FloatArray, IntArray


def _started() -> float:
    """Measure memory again; return the seconds that this process has worked so far."""
    reset_peak()
    return time.process_time()


def _measured(mesh: Mesh, started: float) -> dict[str, Any]:
    """Return the fields that every `ShardResult` has."""
    return {"peak_bytes": peak_bytes(), "seconds": time.process_time() - started, "sent_bytes": mesh.sent_bytes}


def _row_arrays(held: Shard | PartRows) -> Arrays:
    """Return the arrays of rows as files have them."""
    weights = {} if held.weights is None else {"weights": held.weights}
    return {
        "names": held.names,
        "indptr": held.indptr,
        "indices": held.neighbours,
        **id_arrays(held.ids),
        **weights,
    }


@dataclass(frozen=True)
class Read:
    """Read the files."""

    folders: Folders
    source: Source
    room: Room = None  # what each shard has room for

    def __call__(self, mesh: Mesh) -> dict[str, Any]:
        """Keep the rows of this shard; return the counts."""
        started = _started()
        shard, counts = ingest(mesh, self.source, room=self.room)
        arrays.save(self.folders.shard(mesh.rank), SHARD, _row_arrays(shard), {})
        return ReadResult(
            vertices=counts.n_vertices,
            edges=counts.n_edges,
            notices=tuple(counts.notices),
            weighted=counts.weighted,
            own=int(shard.names.size),
            arcs=int(shard.neighbours.size),
            largest=int(shard.degrees.max(initial=0)),
            **_measured(mesh, started),
        ).to_json()


@dataclass(frozen=True)
class Divide:
    """Choose parts and anchors, and send every row to its part."""

    folders: Folders
    aim: Aim
    n_vertices: int
    key: str  # name of the reconciler that the parts are for: steps that were saved for another one are not resumed

    def __call__(self, mesh: Mesh) -> dict[str, Any]:
        """Keep the parts that this shard receives."""
        started = _started()
        shard = load_shard(self.folders.shard(mesh.rank), self.n_vertices)
        _check_alike(mesh, shard)
        owners = known_owners(mesh, shard.names, self.n_vertices)
        rows = rows_of(mesh, shard.names, shard.indptr, shard.neighbours, owners)
        release_pages(shard.neighbours)
        journal = FolderJournal(self.folders.steps(self.key, mesh.rank))
        split = split_shared(mesh, owners, rows, self.aim, journal)
        sizes = []
        for part in redistribute(mesh, shard, rows, split, self.aim.limits.n_parts):
            content = {**_row_arrays(part), "is_anchor": part.is_anchor, "codes": part.codes}
            arrays.save(self.folders.rows(part.index), ROWS, content, {"index": part.index})
            sizes.append((part.index, int((~part.is_anchor).sum()), int(part.neighbours.size)))
        return DivideResult(
            reconcile=self.key,
            parts=tuple(sizes),
            anchors=mesh.count(int(split.anchors.sum())),
            rows_bytes=rows.n_bytes,
            **_measured(mesh, started),
        ).to_json()


def _check_alike(mesh: Mesh, shard: Shard) -> None:
    """Refuse shards of which some have weights, or strings as ids, and others have not."""
    mine = np.array([shard.weights is not None, shard.ids.dtype.kind == "i"])
    if not all(np.array_equal(found[0], mine) for found in mesh.share(mine)):
        raise DamagedError("the shards are not of one graph. Start the run again in another folder.")


def held_by(mesh: Mesh, folders: Folders, n_vertices: int) -> Held:
    """Return the part of a shard, from its files."""
    part = load_rows(folders.rows(mesh.rank), mesh.rank, n_vertices, mesh.size)
    check_all_there(mesh, part.names, n_vertices)
    return hold(mesh, part)


@dataclass(frozen=True)
class Cut:
    """Cut out every part's subgraph, with its context where the technique has a backbone."""

    folders: Folders
    counts: Counts
    limits: Limits
    technique: Technique
    described: Described | None
    run: str
    partitioner: str
    seed: int
    # How many landmarks there are and what a context may take; None for subgraphs without a context.
    decomposer: LandmarkDecomposer | None = None

    def __call__(self, mesh: Mesh) -> dict[str, Any]:
        """Write the part folder of this shard; return what it holds."""
        started = _started()
        for steps in self.folders.path.glob(f"steps/*-{mesh.rank:03d}"):  # the rows of the parts are there
            FolderJournal(steps).discard()
        held, storage = held_by(mesh, self.folders, self.counts.n_vertices), Files(self.folders.path)
        if self.decomposer is None:
            subgraph, halo, asked, marks = cut_plain(mesh, held, storage), held.rows.ghosts[:0], list[Any](), 0
            stored: dict[str, Any] = {}
        else:
            wanted = self.decomposer.n_supervertices
            found = landmarks(mesh, held, self.counts.n_vertices, wanted, self.partitioner, self.seed, storage)
            stored = self._backbone(mesh, held, found)
            subgraph, halo, asked = self._with_context(mesh, held, found, self.decomposer)
            marks = found.n
        counts, kept = edge_counts(mesh, held, halo, asked)
        metadata = SubgraphMetadata.of(subgraph, self.described, self.seed, self.run)
        parts.save_subgraph(self.folders.part(mesh.rank), subgraph, metadata, stored)
        return CutResult(
            vertices=subgraph.n_vertices,
            own=subgraph.n_own,
            halo=subgraph.n_halo,
            supervertices=subgraph.n_supervertices,
            edges=subgraph.n_edges,
            landmarks=marks,
            kept=kept,
            counts=(counts.inside, counts.at_anchors, counts.in_halos, counts.lost),
            anchors=int(held.anchors.size),
            **_measured(mesh, started),
        ).to_json()

    def _backbone(self, mesh: Mesh, held: Held, found: Landmarks) -> dict[str, Any]:
        """Prepare the backbone on shard 0, from sums over all shards; return its files."""
        technique = self.technique
        assert isinstance(technique, LandmarkTechnique)
        noise = merged_noise(mesh, held, found, technique)
        weights = merged_weights(mesh, held, found)
        if weights is not None:
            arrays.save(self.folders.merged, MERGED, {"between": weights}, {})
            made = technique.embed_merged(weights, noise)
            check_shared(technique, made, found.n)
            content = {f"shared_{name}": array for name, array in made.items()}
            arrays.save(self.folders.shared, SHARED, content, {})
            del weights, made, content
        mesh.share()  # the files are there
        return dict(arrays.load_stored(self.folders.shared, SHARED))

    def _with_context(
        self, mesh: Mesh, held: Held, found: Landmarks, decomposer: LandmarkDecomposer
    ) -> tuple[Subgraph, Any, list[Any]]:
        """Cut out the subgraph with the largest halo that its limit has room for."""
        between = arrays.load(self.folders.merged, MERGED)[0]["between"]
        chosen = nearest(mesh, held, self.counts, decomposer)
        ours = np.unique(found.of[held.own]).size
        free = int(self.limits.capacities[mesh.rank]) - held.own.size - (found.n - ours)
        size = max(0, min(free, chosen.size))
        while True:
            halo, asked = fetch(mesh, held, found, chosen[:size])
            subgraph = cut_out(held, found, halo, between, Files(self.folders.path))
            over = self._is_over(subgraph, mesh.rank) and size > 0
            if mesh.count(int(over)) == 0:
                return subgraph, halo.names, asked
            size = size // 2 if over else size

    def _is_over(self, subgraph: Subgraph, index: int) -> bool:
        assert self.decomposer is not None
        if self.limits.budgets is None:
            return False
        return bool(self.decomposer.footprint.bytes(subgraph.n_vertices, subgraph.n_edges) > self.limits.budgets[index])


@dataclass(frozen=True)
class Finish:
    """Map every part into the common space, pass over the whole graph, and write a file of vectors for each part."""

    folders: Folders
    counts: Counts
    maps: Sequence[Map]  # one for each part
    technique: Technique  # whose vectors they are
    refiner: Refiner  # the pass
    out: Path  # the folder of the files
    run: str
    seed: int

    def __call__(self, mesh: Mesh) -> dict[str, Any]:
        """Write the vectors of this shard's part; return how many, and what the pass did."""
        started = _started()
        held = held_by(mesh, self.folders, self.counts.n_vertices)
        vectors = self._merged(mesh, held)
        done: Done = Refined()
        if not self.refiner.is_identity and self.counts.n_edges:
            work = shard_workspace(
                mesh, held, self.counts.n_vertices, FolderCheckpoint(mesh, self.folders, self.run, vectors.shape)
            )
            done = self.refiner.refine_shard(vectors, self.technique, work)
        self.out.mkdir(exist_ok=True)
        path = self.out / shard_name(mesh.rank)
        head = fit_shared_head(mesh, held, vectors, self.counts.n_vertices, self.counts.n_edges, self.seed)
        write_parquet(Vectors(vectors, held.part.ids, head=head, degrees=held.part.degrees), path)
        return FinishResult(
            rows=len(vectors),
            dim=int(vectors.shape[1]),
            sha256=arrays.file_digest(path),
            file=path.name,
            refined=Refined.of(done),
            head=astuple(head),
            **_measured(mesh, started),
        ).to_json()

    def _merged(self, mesh: Mesh, held: Held) -> FloatArray:
        """Return the vectors of own vertices, mapped, and of anchors at home here, the mean of all copies."""
        local, apply = parts.load_result(self.folders.part(mesh.rank)).vectors, self.maps[mesh.rank]
        own = held.own
        if len(local) != own.size + held.anchors.size:
            raise DamagedError(f"part {mesh.rank} has {len(local):,} vectors, and not one for each of its vertices")
        out = np.empty((held.rows.n_own, local.shape[1]), np.float32)
        out[own] = apply(np.array(local[: own.size]))
        home = _homes(mesh, held)
        copies = np.asarray(apply(np.array(local[own.size :])), np.float64)
        seen = _evidence(mesh, held)
        found = mesh.swap([(copies[home == t], seen[home == t]) for t in range(mesh.size)])
        merge = AnchorMerge(int(held.part.is_anchor.sum()), local.shape[1])
        for rows, weights in found:
            merge.add(rows, weights)
        out[held.part.is_anchor] = merge.vectors()
        return out


def _homes(mesh: Mesh, held: Held) -> IntArray:
    """Return the part in which each anchor is at home."""
    mine = np.full(held.anchors.size, -1, np.int64)
    mine[np.searchsorted(held.anchors, held.part.names[held.part.is_anchor])] = mesh.rank
    return np.asarray(np.max([found[0] for found in mesh.share(mine)], axis=0))


def _evidence(mesh: Mesh, held: Held) -> IntArray:
    """Return how many edges this part's subgraph has at each anchor, as `parge.reconcile.merge.evidence`."""
    rows, n = held.rows, held.anchors.size
    code = np.repeat(held.codes[: rows.n_own] & 1, rows.degrees).astype(np.bool_)
    there = (held.codes[rows.indices] & 1).astype(np.bool_)
    place = np.zeros(held.codes.size, np.int64)
    at = np.flatnonzero(held.codes & 1)
    place[at] = np.searchsorted(held.anchors, rows.all_names[at])
    seen = np.bincount(place[rows.indices[~code & there]], minlength=n)
    among = mesh.total(np.bincount(place[rows.indices[code & there]], minlength=n))
    seen = seen + among
    unseen = mesh.total(seen) == 0
    return np.where(unseen, 1, seen)

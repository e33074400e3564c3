"""Parts and anchors of a graph in shards: merge, split what is left, improve on the way back, within exact limits."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from parge.cluster.anchors import choose_anchors, lost_edges
from parge.cluster.checks import check_level, check_turn, checked_parts
from parge.cluster.coarsen import Level, contract, groups, hashes
from parge.cluster.improvement import improve_shared
from parge.cluster.journal import Journal, NoJournal
from parge.cluster.mesh import Mesh, Message, ask
from parge.cluster.rows import Owners, Rows, offsets_of, places_of, rows_of
from parge.decompose.limits import Limits, Load, loosened
from parge.decompose.partitioners import IMBALANCE, Problem, fill, partitioner_named, work_of
from parge.errors import InfeasibleError
from parge.kernels import cut
from parge.memory import Footprint
from parge.run.codec import Arrays
from parge.typing import BoolArray, IntArray, PartArray

# No group is heavier than this share of the smallest part. Merging ends at this many groups per part if these have few
# arcs, at so few in any case, and when a level has over so much of the one before. (With 50 groups a part, meshes of
# 8,000 to 62,500 vertices were cut 1.03 to 1.09 times as much as by KaMinPar alone; with 800, .999 to 1.02 times.)
_GROUP_SHARE, _GROUPS_A_PART, _FEWEST_A_PART, _FEW_ARCS, _LITTLE = 16, 800, 50, 200_000, 0.9

# Rounds of improving a level, and how many may bring nearly nothing one after the other: a mesh takes many small steps.
_ROUNDS, _PATIENCE = 48, 12

# The most turns of choosing anchors and improving parts, one where anchors are under this share of the vertices; a
# turn that saves under this share of the lost edges is the last. As in `parge.decompose.anchors`.
_TURNS, _FEW, _WORTH = 4, 0.01, 0.03

# Arcs of the last level that are given to the partitioner, beyond which only this many of each row are: 32 cut 1.03
# times as much on the worst of eight graphs, 8 cut 1.12 times.
_MOST_ARCS, _HEAVIEST = 4_000_000, 32

_REPAIR = 7


@dataclass(frozen=True)
class Aim:
    """What a split is to be."""

    limits: Limits  # what each part may hold
    n_anchors: int
    at_most: bool = True  # whether fewer anchors will do where budgets have no room for all
    seed: int = 0  # of the partitioner
    # What is balanced within limits in vertices; see `parge.decompose.partitioners.work_of`.
    balance: Footprint | None = None
    partitioner: str = "kaminpar"  # splits the graph of the groups


@dataclass(frozen=True, eq=False)
class Split:
    """The part of each own vertex (of an anchor, that of most of its neighbours), and whether it is an anchor."""

    part: PartArray
    anchors: BoolArray


_NO_JOURNAL = NoJournal()


def split_shared(mesh: Mesh, owners: Owners, rows: Rows, aim: Aim, journal: Journal = _NO_JOURNAL) -> Split:
    """Choose parts and anchors; the same for any number of shards and any owners.

    Laws: no part exceeds its limit, or `InfeasibleError` is raised.

    `journal` keeps every level, the parts of every level, and every turn of choosing anchors.
    """
    no_anchors = np.zeros(rows.n_own, np.bool_)
    first = journal.step(mesh, "first", lambda: {"part": _first_split(mesh, owners, rows, aim, journal)})
    part = checked_parts(first, rows.n_own, aim.limits.n_parts)
    if aim.n_anchors == 0 or aim.limits.n_parts == 1:
        return Split(_within(mesh, rows, aim, part, no_anchors), no_anchors)
    turns = 1 if aim.n_anchors < _FEW * owners.n_vertices else _TURNS
    n_anchors = aim.n_anchors
    while True:
        try:
            return _alternated(mesh, rows, aim, part, n_anchors, turns, journal)
        except InfeasibleError:
            if aim.limits.budgets is None or not aim.at_most or n_anchors == 0:
                raise
            n_anchors = n_anchors * 3 // 4


def _alternated(
    mesh: Mesh, rows: Rows, aim: Aim, part: PartArray, n_anchors: int, turns: int, journal: Journal
) -> Split:
    """Alternate between choosing anchors and improving the parts without them; return the best that was met."""
    best: tuple[int, Split] | None = None
    for turn in range(turns):
        before = np.inf if best is None else best[0]
        found = journal.step(mesh, f"turn-{n_anchors}-{turn}", partial(_turn, mesh, rows, aim, part, n_anchors, best))
        check_turn(mesh, found, rows.n_own, aim.limits.n_parts)
        part, (n_lost, fewest) = found["part"], found["n_lost"].tolist()
        best = fewest, Split(found["best_part"], found["best_anchors"])
        if (1 - _WORTH) * before < n_lost <= before or n_lost == 0:
            break
    assert best is not None
    return best[1]


def _turn(mesh: Mesh, rows: Rows, aim: Aim, part: PartArray, n_anchors: int, best: tuple[int, Split] | None) -> Arrays:
    """Choose anchors and improve the parts without them; return the parts, and the best that was met so far."""
    anchors, n_lost = choose_anchors(mesh, rows, part, n_anchors), 0
    for improves in (False, True):
        part = _within(mesh, rows, aim, part, anchors, improves=improves)
        n_lost = mesh.count(int(lost_edges(mesh, rows, part, anchors).sum()))
        if best is None or n_lost < best[0]:
            best = n_lost, Split(part, anchors)
    assert best is not None
    fewest, split = best
    numbers = np.array([n_lost, fewest], np.int64)
    return {"part": part, "n_lost": numbers, "best_part": split.part, "best_anchors": split.anchors}


def load_of(mesh: Mesh, rows: Rows, limits: Limits, anchors: BoolArray) -> Load:
    """Return what `Limits.load` returns for a graph that is held whole."""
    n_anchors = mesh.count(int(anchors.sum()))
    if limits.footprint is None or limits.budgets is None:
        return Load(np.where(anchors, 0, 1).astype(np.int64), limits.capacities - n_anchors)
    one = limits.footprint
    to_anchors = cut.marked_neighbours(rows.indptr, rows.indices, rows.with_ghosts(mesh, anchors))
    among = mesh.count(int(to_anchors[anchors].sum())) // 2
    edges = to_anchors + (rows.degrees - to_anchors) / 2
    weights = np.ceil(one.per_vertex + one.per_edge * edges).astype(np.int64)
    weights[anchors] = 0
    return Load(weights, limits.budgets - one.bytes(n_anchors, among))


def _aims(mesh: Mesh, load: Load, work: IntArray) -> tuple[IntArray, IntArray]:
    """Return what is balanced and the most of it for each part, as `Problem.balanced` and `Problem.targets` have it."""
    weight, free = mesh.count(int(load.weights.sum())), np.maximum(load.free, 0)
    tight = int(free.sum()) < (1 + 2 * IMBALANCE) * weight
    balanced, total = (load.weights, weight) if tight else (work, mesh.count(int(work.sum())))
    targets = np.ceil(free / max(1, int(free.sum())) * total * (1 + IMBALANCE)).astype(np.int64)
    return balanced, np.minimum(free, targets) if tight else targets


def _work(mesh: Mesh, rows: Rows, aim: Aim, load: Load, anchors: BoolArray) -> IntArray:
    """Return what is balanced where limits leave room: bytes, or vertices and edges alike."""
    if aim.limits.budgets is not None:
        return load.weights
    balance = aim.balance
    if balance is None:  # as `work_of`, with the mean degree of all shards
        n_arcs, n = mesh.count(int(rows.degrees.sum())), mesh.count(rows.n_own)
        balance = Footprint(0, 1.0, 2 / max(1.0, n_arcs / max(1, n)))
    work = work_of(rows.degrees, balance)
    work[anchors] = 0
    return work


def _first_split(mesh: Mesh, owners: Owners, rows: Rows, aim: Aim, journal: Journal) -> PartArray:
    """Return parts of all vertices, sized as they have to be once there are anchors."""
    limits, n = aim.limits, owners.n_vertices
    free, slack = limits.capacities, 0.1
    if limits.budgets is None:
        free = free - aim.n_anchors
        slack = min(slack, max(IMBALANCE, int(free.sum()) / max(1, n - aim.n_anchors) - 1))
    ones, no_anchors = np.ones(rows.n_own, np.int64), np.zeros(rows.n_own, np.bool_)
    work = _work(mesh, rows, aim, load_of(mesh, rows, limits, no_anchors), no_anchors)
    weights, targets = _aims(mesh, Load(ones, loosened(free, n, slack)), work)
    return multilevel(mesh, owners, Level(rows, np.maximum(weights, 1)), targets, aim, journal)


def multilevel(
    mesh: Mesh, owners: Owners, level: Level, targets: IntArray, aim: Aim, journal: Journal = _NO_JOURNAL
) -> PartArray:
    """Merge groups until few are left, split those in one place, and improve the parts from level to level."""
    if targets.size == 1:
        return np.zeros(level.rows.n_own, np.int32)
    levels, labels = [level], list[PartArray]()
    most = max(1, int(targets[targets > 0].min(initial=np.iinfo(np.int64).max)) // _GROUP_SHARE)
    while _is_large(n_now := mesh.count(level.rows.n_own), mesh.count(level.rows.indices.size), targets.size):
        merged = partial(_merged, mesh, owners, level, most, len(labels), n_now)
        found = journal.step(mesh, f"level-{len(labels) + 1}", merged)
        if mesh.count(int(bool(found))) == 0:
            break
        level = _level_of(mesh, owners, found, level)
        levels.append(level)
        labels.append(found["label"])
    first = partial(_split_coarsest, mesh, levels[-1], targets, aim)
    found = journal.step(mesh, "coarsest", lambda: {"part": first()})
    part = checked_parts(found, levels[-1].rows.n_own, targets.size)
    while labels:
        upper, label = levels.pop(), labels.pop()
        lower = partial(_improved_below, mesh, owners, upper.rows, levels[-1], targets, part, label)
        found = journal.step(mesh, f"parts-{len(labels)}", lower)
        part = checked_parts(found, levels[-1].rows.n_own, targets.size)
    return part


def _is_large(n_groups: int, n_arcs: int, n_parts: int) -> bool:
    """Return whether a level is merged further."""
    return n_groups > _FEWEST_A_PART * n_parts and (n_groups > _GROUPS_A_PART * n_parts or n_arcs > _FEW_ARCS)


def _improved(mesh: Mesh, level: Level, targets: IntArray, part: PartArray) -> PartArray:
    return improve_shared(mesh, level.rows, level.weights, targets, part, rounds=_ROUNDS, patience=_PATIENCE)


def _merged(mesh: Mesh, owners: Owners, level: Level, most: int, depth: int, n_now: int) -> Arrays:
    """Return the graph of a level's groups, and the group of each vertex; nothing where there are too many groups."""
    label, loads = groups(mesh, owners, level, most, depth)
    if mesh.count(int((loads > 0).sum())) > _LITTLE * n_now:
        return {}
    return {"label": label, **contract(mesh, owners, level, label, loads)._asdict()}


def _level_of(mesh: Mesh, owners: Owners, found: Arrays, below: Level) -> Level:
    times = below.rows.times
    counted = [below.weights.sum(), times.sum(dtype=np.int64) if times.size else below.rows.indices.size]
    check_level(mesh, owners, found, below.rows.n_own, mesh.total(np.array(counted, np.int64)))
    rows = rows_of(mesh, found["names"], found["indptr"], found["indices"], owners, found["times"])
    return Level(rows, found["loads"])


def _improved_below(
    mesh: Mesh, owners: Owners, upper: Rows, level: Level, targets: IntArray, part: PartArray, label: PartArray
) -> Arrays:
    """Return the parts of a level from those of the level of its groups."""
    part = _handed_down(mesh, owners, upper, part, label)
    return {"part": _improved(mesh, level, targets, part)}


def _handed_down(mesh: Mesh, owners: Owners, upper: Rows, part: PartArray, label: PartArray) -> PartArray:
    """Return the parts of vertices whose groups have these parts; a group is known to the shard that owns its name."""
    wanted, place = np.unique(label, return_inverse=True)
    found = ask(mesh, owners(wanted), wanted, lambda names: part[places_of(upper.names, names)])
    return found[place].astype(np.int32)


def _split_coarsest(mesh: Mesh, level: Level, targets: IntArray, aim: Aim) -> PartArray:
    """Split the last level on shard 0, and improve it; return the parts of the own vertices."""
    rows = level.rows
    source, target, times = np.repeat(rows.names, rows.degrees), rows.numbers, rows.times
    if times.size == 0:
        times = np.ones(target.size, np.int32)
    if mesh.count(target.size) > _MOST_ARCS:
        source, target, times = _heaviest(source, target, times)
    names, part = mesh.lead(
        lambda found: _partitioned(found, targets, aim), rows.names, level.weights, source, target, times
    )
    part = part[np.searchsorted(names, rows.names)]
    return _improved(mesh, level, targets, part)


def _heaviest(source: PartArray, target: PartArray, times: PartArray) -> tuple[PartArray, PartArray, PartArray]:
    """Return the heaviest arcs of each row."""
    order = np.lexsort((target, -times, source))
    starts = np.append(True, source[order][1:] != source[order][:-1])
    rank = np.arange(order.size) - np.maximum.accumulate(np.where(starts, np.arange(order.size), 0))
    kept = order[rank < _HEAVIEST]
    return source[kept], target[kept], times[kept]


def _partitioned(found: list[Message], targets: IntArray, aim: Aim) -> Message:
    """Return all names of the last level, ascending, and their parts."""
    names, weights, source, target, times = (np.concatenate([one[i] for one in found]) for i in range(5))
    order = np.argsort(names)
    names, weights = names[order], weights[order]
    u, v = np.searchsorted(names, source), np.searchsorted(names, target)
    # Of rows that were cut short, an arc may be left of which the other direction is gone: both are there again.
    key = np.concatenate([u * names.size + v, v * names.size + u])
    order = np.argsort(key, kind="stable")
    key, first = np.unique(key[order], return_index=True)
    # Both directions count the same; a partitioner would end the process where files of a stranger say otherwise.
    times = np.maximum.reduceat(np.concatenate([times, times])[order], first) if first.size else times
    indptr = offsets_of(key // max(1, names.size), names.size)
    indices = (key % max(1, names.size)).astype(np.int32)
    usable = np.flatnonzero(targets > 0)
    problem = Problem(indptr, indices, weights, targets[usable], weights, aim.seed, times=times)
    if usable.size <= 1 or names.size <= 2 * usable.size or not indices.size:
        return names, usable[fill(weights, targets[usable])].astype(np.int32)
    return names, usable[partitioner_named(aim.partitioner).split(problem)].astype(np.int32)


def _within(
    mesh: Mesh, rows: Rows, aim: Aim, part: PartArray, anchors: BoolArray, *, improves: bool = True
) -> PartArray:
    """Return better parts without the anchors, within the limits; an anchor has the part of most of its neighbours."""
    load = load_of(mesh, rows, aim.limits, anchors)
    if int(load.free.sum()) < mesh.count(int(load.weights.sum())) or (load.free < 0).any():
        raise InfeasibleError(
            f"the parts have room for {int(np.maximum(load.free, 0).sum()):,} in total besides the anchors, the "
            f"vertices need {mesh.count(int(load.weights.sum())):,}"
        )
    better = np.where(anchors, np.int32(-1), part)
    if improves:
        balanced, targets = _aims(mesh, load, _work(mesh, rows, aim, load, anchors))
        better = improve_shared(mesh, rows, balanced, targets, better)
    better = repaired(mesh, rows, load.weights, load.free, better)
    better[anchors] = cut.majority_part(
        rows.indptr, rows.indices, rows.with_ghosts(mesh, better), np.flatnonzero(anchors), load.free.size
    )
    return better


def repaired(mesh: Mesh, rows: Rows, weights: IntArray, limits: IntArray, part: PartArray) -> PartArray:
    """Return parts that keep every limit; vertices that lose fewest edges move out of those that break theirs.

    As `parge.decompose.limits.repair`: each shard offers as many as the fullest part has too much, and all
    shards come to the same moves.
    """
    part = part.copy()
    while True:
        own = part >= 0
        loads = np.zeros(limits.size, np.int64)
        np.add.at(loads, part[own], weights[own])
        loads = mesh.total(loads)
        if (loads <= limits).all():
            return part
        if not _relieved(mesh, rows, weights, limits, part, loads):
            full = int(np.argmax(loads - limits))
            raise InfeasibleError(
                f"part {full} needs {int(loads[full]):,} and has room for {int(limits[full]):,}, and none of its "
                "vertices fits in another part. Give the workers more room."
            )


def _relieved(mesh: Mesh, rows: Rows, weights: IntArray, limits: IntArray, part: PartArray, loads: IntArray) -> bool:
    """Empty the fullest part down to its limit as far as vertices fit elsewhere; return whether any moved."""
    full = int(np.argmax(loads - limits))
    everywhere = rows.with_ghosts(mesh, np.where(part >= 0, part, limits.size).astype(np.int32))
    members = np.flatnonzero((part == full) & (weights > 0))
    votes = cut.part_votes(rows.indptr, rows.indices, everywhere, members, limits.size + 1)[:, :-1]
    gain = np.where(loads < limits, votes, -1).max(axis=1) - votes[:, full]
    score = -(gain << 20) // weights[members]
    key = hashes(_REPAIR, 0, rows.names[members])
    order = np.lexsort((key, score))
    over = int((loads - limits)[full])
    ahead = np.cumsum(weights[members[order]]) - weights[members[order]]
    offered = order[ahead < over]
    found = mesh.share(
        score[offered], key[offered], rows.names[members[offered]], weights[members[offered]], votes[offered]
    )
    score, key, names, weight = (np.concatenate([message[i] for message in found]) for i in range(4))
    votes = np.concatenate([message[4] for message in found])
    order = np.lexsort((key, score))
    after = np.full(names.size, full, np.int32)
    moved = cut.relieve(full, order, np.ascontiguousarray(votes[order]), weight, limits, after, loads)
    place = np.searchsorted(rows.names, names)
    mine = (place < rows.n_own) & (
        rows.names[np.minimum(place, max(0, rows.n_own - 1))] == names if rows.n_own else False
    )
    part[place[mine]] = after[mine]
    return moved > 0

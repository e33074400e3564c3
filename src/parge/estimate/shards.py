"""The same run in shards (`parge embed --sharded`): every stage is shared out, so other things break first."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from parge.estimate.breaks import Break, compared, of_workers
from parge.estimate.constants import constants
from parge.estimate.stages import DAY, Imagined, Sizes, Stage, embedding
from parge.memory import BASE_BYTES, format_bytes
from parge.refine.base import refiners
from parge.show.text import duration

MOST_SHARDS, MOST_VERTICES = 1024, 2**31 - 1
"""Tables of pairs of parts grow with their square, and numbers of vertices take four bytes; see `parge.cluster`."""

# While parts are improved a shard has, three times for a moment, 448 numbers for each pair of parts.
_PAIR_BYTES = 3 * 448 * 8

# Bytes of the columns of neighbours' vectors that travel at a time, of one column at least.
_COLUMN_BYTES = 1 << 26

# Bytes of an arc on disk: its end and where that is.
_ARC_DISK = 6.0

# Stages for which all shards start again: read, decompose, prepare, refine. Workers that embed are forked.
_STARTS = 4


def start_seconds(*, sharded: bool) -> float:
    """Return the seconds in which the processes of a run start: this one, and one that workers are copied from.

    In shards there is such a one for each stage that shards take together.
    """
    known, others = constants(), _STARTS if sharded else 1
    return (1 + others) * known["start"].value + known["fork"].value


def sharded_stages(sizes: Sizes) -> tuple[Stage, ...]:
    """Return the stages of a run in shards, in order; there is a shard on every worker."""
    known, dim = sizes.known, sizes.width
    found = [
        _shared(sizes, "read", known["shard_read"], sent=known["shard_read_sent"], disk=sizes.text + sizes.rows),
        _shared(sizes, "decompose", known["shard_split"], sent=known["shard_split_sent"], disk=_rows_disk(sizes)),
        _shared(sizes, "prepare", known["shard_cut"], sent=known["shard_cut_sent"], disk=_rows_disk(sizes)),
        embedding(sizes),
    ]
    rounds = rounds_of(sizes)
    if rounds:
        each = known["shard_round"] * dim * rounds, known["shard_round_sent"] * dim * rounds
        disk = _rows_disk(sizes) + sizes.vectors * (2 + rounds / 2)  # kept after every second round
        found.append(_shared(sizes, "refine, write", each[0], sent=each[1], disk=disk, memory=_refine_memory(sizes)))
    else:
        found.append(_shared(sizes, "write", 0.0, sent=0.0, disk=2 * sizes.vectors, memory=_refine_memory(sizes)))
    return tuple(found)


def rounds_of(sizes: Sizes) -> int:
    """Return the rounds of the pass that the technique takes, 0 without one."""
    asked = sizes.question
    refiner = refiners.get(sizes.refine or sizes.technique.refine_for(Imagined(asked.vertices, asked.edges)))()
    return 0 if refiner.is_identity else refiner.rounds_planned


def split_memory(sizes: Sizes, times: float = 1.0) -> float:
    """Return the bytes of a shard at the peak of reading and splitting a graph this many times as large."""
    asked, n = sizes.question, sizes.workers
    return split_bytes(2 * times * asked.edges / n, times * asked.vertices / n, min(n, MOST_SHARDS))


def split_bytes(n_arcs: float, n_vertices: float, n_parts: int) -> float:
    """Return the bytes of a shard of this many arcs and vertices at the peak of reading and splitting into parts.

    An arc was measured with its share of a vertex and of the vertices of others that a shard knows.
    """
    return BASE_BYTES + constants()["shard_arc_memory"].value * max(n_arcs, n_vertices) + _PAIR_BYTES * n_parts**2


def _refine_memory(sizes: Sizes, times: float = 1.0) -> float:
    """Return the bytes of a shard in a pass: vectors twice, rows, and some columns of all neighbours' vectors.

    The graph is this many times as large.
    """
    arcs, ghosts = 2 * times * sizes.question.edges / sizes.workers, times * _ghosts(sizes)
    columns = max(4.0 * ghosts, min(4.0 * 32 * ghosts, _COLUMN_BYTES))
    return BASE_BYTES + 2 * times * sizes.vectors / sizes.workers + _ARC_DISK * arcs + columns


def _ghosts(sizes: Sizes) -> float:
    """Return the most vertices of others that a shard may know: all of them, or one per arc."""
    return min(sizes.question.vertices, 2 * sizes.question.edges / sizes.workers)


def _rows_disk(sizes: Sizes) -> float:
    return 2 * _ARC_DISK * sizes.question.edges + 24.0 * sizes.question.vertices


def _shared(sizes: Sizes, name: str, each: float, *, sent: float, disk: float, memory: float | None = None) -> Stage:
    """Return a stage of which every shard does its share; `each` and `sent` are seconds and bytes per edge."""
    asked, n = sizes.question, sizes.workers
    work, bytes_sent = each * asked.edges / n, 0.0 if n == 1 else sent * asked.edges
    seconds = work + disk / n / asked.disk_speed + bytes_sent / n / asked.network_speed
    held = split_memory(sizes) if memory is None else memory
    return Stage(name, n, seconds, work, held, disk / n, bytes_sent, "in shards")


def sharded_breaks(sizes: Sizes) -> tuple[Break, ...]:
    """Return everything that grows in a run in shards, the first to break first."""
    return tuple(sorted(_growing(sizes), key=lambda item: item.edges))


def _growing(sizes: Sizes) -> Iterable[Break]:
    asked, more = sizes.question, _enough_shards(sizes)
    tables = compared(
        sizes,
        "a table has 448 numbers for each pair of parts",
        (float(sizes.workers), float(MOST_SHARDS), _count("shards")),
        "larger workers, or two stages of parts: groups of shards first, then shards within each group",
    )
    if asked.workers is None:
        yield tables
    elif tables.share > 1:  # workers that are given are as many for any graph
        yield replace(tables, edges=0.0)
    yield compared(
        sizes,
        "a vertex's number takes four bytes",
        (float(asked.vertices), float(MOST_VERTICES), _count("vertices")),
        "numbers of five bytes, which add a quarter to the rows",
    )
    yield compared(
        sizes,
        "a shard holds its rows and its neighbours while the graph is split",
        (split_memory(sizes), float(asked.memory), format_bytes),
        "more workers; the estimate counts an arc at its peak",
        give="memory",
        or_give=more,
        grown=partial(split_memory, sizes),
    )
    yield compared(
        sizes,
        "a shard refines its vectors, and knows a column of its neighbours'",
        (_refine_memory(sizes), float(asked.memory), format_bytes),
        "more workers, or --refine none",
        give="memory",
        or_give=more,
        grown=partial(_refine_memory, sizes),
    )
    slowest = max(sharded_stages(sizes), key=lambda stage: stage.seconds)
    yield compared(
        sizes,
        f"the slowest stage is {slowest.name}",
        (slowest.seconds, DAY, duration),
        "more workers: every stage is shared out, and takes less time on more of them",
    )
    yield from of_workers(sizes)


def _enough_shards(sizes: Sizes) -> str:
    """Return the fewest workers of the same memory that hold every stage, as a key; nothing where none do."""
    asked = sizes.question

    def fits(workers: int) -> bool:
        some = replace(sizes, question=replace(asked, workers=workers))
        return max(split_memory(some), _refine_memory(some), some.worker_memory) <= asked.memory

    most = min(MOST_SHARDS, asked.vertices)
    found = next((workers for workers in range(sizes.workers, most + 1) if fits(workers)), None)
    return "" if found is None else f"workers={found}"


def _count(what: str) -> Callable[[float], str]:
    return lambda number: f"{number:,.0f} {what}"

"""What grows with the graph, against what is there: where the design breaks first, and what would take its place."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from parge.errors import InputError
from parge.estimate.stages import DAY, REFINE_BYTES, Sizes, refining, splitting
from parge.memory import format_bytes
from parge.show.text import duration


@dataclass(frozen=True)
class Break:
    """Something that does not fit beyond a size: what it needs, what it has, and what would take its place."""

    what: str
    # What it needs at the given size, and what is available.
    needs: str
    limit: str
    share: float  # the first over the second
    edges: float  # from how many edges on, at the same mean degree, it does not fit
    instead: str
    give: str = ""  # keys that would let it fit; empty where the run is only slow, or goes another way

    @property
    def warning(self) -> str | None:
        """One line where the run asked for cannot be, None where it can."""
        return f"{self.what}: needs {self.needs}, has {self.limit}; give {self.give}" if self.give else None


def breaks(sizes: Sizes) -> tuple[Break, ...]:
    """Return everything that grows, the first to break first."""
    found = [*_of_time(sizes), *_of_coordinator(sizes), *of_workers(sizes)]
    return tuple(sorted(found, key=lambda item: item.edges))


def _of_time(sizes: Sizes) -> list[Break]:
    asked = sizes.question
    alone = sum(stage.seconds for stage in splitting(sizes, in_memory=False))
    port = sizes.results / asked.network_speed
    found = [
        compared(
            sizes,
            "the coordinator alone reads, sorts and splits the graph",
            (alone, DAY, duration),
            "each worker reads and sorts a slice of the file, then assigns it using shared counts of the parts "
            "(buffered restreaming). The coordinator adds the counts",
        ),
        compared(
            sizes,
            f"all vectors pass through one network port ({asked.network_speed * 8 / 1e9:g} Gbit/s)",
            (port, DAY, duration),
            "each worker maps and writes its own vectors; only anchors are sent",
        ),
    ]
    refine = refining(sizes)
    if refine is not None:
        found.append(
            compared(
                sizes,
                "one machine makes the pass over the whole graph",
                (refine.seconds, DAY, duration),
                "each worker refines its part and sends the rows that its neighbours need, once per round",
            )
        )
    return found


def _of_coordinator(sizes: Sizes) -> list[Break]:
    asked, known, in_files = sizes.question, sizes.known, not sizes.in_memory
    found = [
        compared(
            sizes,
            "the coordinator holds one row of numbers per vertex",
            (known["stream_memory"] * asked.vertices, asked.coordinator, format_bytes),
            "parts and cut degrees in shards by vertex, one worker each; anchors by a threshold on the degree",
            give="coordinator" if in_files else "",
        ),
        compared(
            sizes,
            "sorting uses the coordinator's disk",
            (known["sort_disk"] * asked.edges, asked.disk, format_bytes),
            "the rows stay in the slices that workers have sorted; no machine holds all of them",
            give="disk" if in_files else "",
        ),
        compared(
            sizes,
            "part folders and vectors use the coordinator's disk",
            (sizes.run_folder, asked.disk, format_bytes),
            "parts are sent to workers as they are extracted; each worker maps and writes its own vectors",
            give="disk",
        ),
    ]
    if refining(sizes) is not None:
        found.append(
            compared(
                sizes,
                "refining in the coordinator holds four columns",
                (REFINE_BYTES * asked.vertices, asked.coordinator, format_bytes),
                "one column at a time, which reads four times as much; or each worker refines its part",
                give="coordinator",
            )
        )
    return found


def of_workers(sizes: Sizes) -> list[Break]:
    """Return what breaks in the workers that embed."""
    asked, one = sizes.question, sizes.technique.footprint()
    found = [
        compared(
            sizes,
            "every worker holds a tenth of the vertices as anchors",
            (sizes.anchor_memory(0.1 * asked.vertices), asked.memory, format_bytes),
            "fewer anchors, as in this estimate: as many as fit a tenth of a worker's memory. Or a backbone, which has "
            "a few thousand landmarks for any graph. Beyond that, groups of workers must share anchors in a tree",
        )
    ]
    if asked.workers is not None:
        needs, limit = sizes.worker_memory, asked.memory
        give = f"{_enough_workers(sizes)}memory={_at_least(needs)}" if needs > limit else ""
        grown = max(0.0, limit - one.fixed) / (needs - one.fixed)
        many = f"{sizes.workers:,} worker{'s' if sizes.workers > 1 else ''}"
        what, instead = f"the graph on {many}", "more workers, or larger ones"
        shown = format_bytes(needs), format_bytes(limit)
        found.append(Break(what, *shown, needs / limit, asked.edges * grown, instead, give))
    return found


def compared(
    sizes: Sizes,
    what: str,
    amounts: tuple[float, float, Callable[[float], str]],
    instead: str,
    give: str = "",
    or_give: str = "",
    grown: Callable[[float], float] | None = None,
) -> Break:
    """Return what is needed and what there is; `give` is the key that would provide it, `or_give` another with a value.

    `grown` is what a graph that many times as large needs, where that is not as many times as much.
    """
    needs, limit, show = amounts
    other = f"{or_give} or more, or " if or_give else ""
    asking = f"{other}{give}={_at_least(needs)} or more" if give and needs > limit else ""
    times = limit / needs if grown is None else _most_times(grown, limit)
    return Break(what, show(needs), show(limit), needs / limit, sizes.question.edges * times, instead, asking)


def _most_times(grown: Callable[[float], float], limit: float) -> float:
    """Return how many times as large a graph can be, for needs that grow with it: 0 if none fits.

    >>> round(_most_times(lambda times: 250 + 10 * times, 1000), 6), _most_times(lambda times: 2 + times, 1)
    (75.0, 0.0)
    """
    if grown(0.0) >= limit:
        return 0.0
    low, high = 0.0, 1.0
    while grown(high) <= limit:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if grown(middle) <= limit else (low, middle)
    return low


def _enough_workers(sizes: Sizes) -> str:
    try:
        return f"workers={sizes.fewest_workers()} or "
    except InputError:  # no number of so small ones holds it
        return ""


def _at_least(size: float) -> str:
    """Return a size as `--estimate` reads it, rounded up.

    >>> _at_least(26_187_000_000_000), _at_least(1_000_000)
    ('26.19TB', '1MB')
    """
    unit, scale = next(((u, s) for u, s in (("TB", 1e12), ("GB", 1e9)) if size >= s), ("MB", 1e6))
    return f"{ceil(size / scale * 100) / 100:.15g}{unit}"

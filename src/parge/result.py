"""Report: how an embedding was computed, as typed numbers; `parge embed --json` prints it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NoReturn, Self

from parge.show.display import report_html
from parge.stage_reports import Coordinator, EdgeCounts, Part, Reconciled, Refined, Seconds, Shard, TechniqueChoice
from parge.values import Settings, Value, known, plain


@dataclass(frozen=True, kw_only=True, eq=False)
class Report(Value, dict[str, Any]):
    """How an embedding was computed.

    Missing values are None or empty. An embedding that parge did not compute has an empty report. Files hold only
    what is equal for equal runs (no times, no measured memory, no notices).

    It is also a read-only dict of its JSON: ``report["parts"][3]["seconds"]`` is ``report.parts[3].seconds``.

    Parameters
    ----------
    vertices, edges : int, optional
        Of the graph.
    dim : int, optional
        Columns of the vectors.
    technique : str, optional
        Name of the technique.
    choice : TechniqueChoice, optional
        Why this technique, where it was chosen by ``technique="auto"``.
    anchors : int, optional
        Number of vertices that every subgraph holds.
    edge_counts : EdgeCounts, optional
        Where the edges are.
    lost_edges : float, optional
        Share of the edges that join two parts and that neither holds.
    parts : tuple of Part
        One entry per subgraph.
    warnings : tuple of str
        What a user should know before trusting the result.
    notices : tuple of str
        What was done to the input, and which options had no effect.
    seconds : Seconds
        Wall time of each stage.
    reconcile : Reconciled
        How the parts were brought into one space, and how well they agree.
    refine : Refined
        What the pass over the whole graph did.
    retries : tuple of str
        Which workers were retried, and why.
    coordinator : Coordinator
        Memory of the process that decomposed and merged.
    plan : Settings
        The fields of the decided `parge.Plan`, without the technique.
    parge : str, optional
        The version that computed it.
    shards : tuple of Shard
        One entry per shard of a run in shards: its memory, and what each stage took.
    others : Settings
        Other fields of the JSON.

    Examples
    --------
    >>> report = Report.from_json({"refine": {"name": "whiten", "rounds": 7}, "warnings": ["few anchors"]})
    >>> report.refine.rounds, report.warnings, report.seconds.embed
    (7, ('few anchors',), None)
    >>> report["refine"]
    {'name': 'whiten', 'rounds': 7}
    """

    vertices: int | None = None
    edges: int | None = None
    dim: int | None = None
    technique: str | None = None
    choice: TechniqueChoice | None = None
    anchors: int | None = None
    edge_counts: EdgeCounts | None = None
    lost_edges: float | None = None
    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    seconds: Seconds = field(default_factory=Seconds)
    reconcile: Reconciled = field(default_factory=Reconciled)
    refine: Refined = field(default_factory=Refined)
    retries: tuple[str, ...] = ()
    coordinator: Coordinator = field(default_factory=Coordinator)
    plan: Settings = field(default_factory=Settings)
    parge: str | None = None
    shards: tuple[Shard, ...] = ()
    others: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        dict.update(self, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the report as ``parge embed --json`` prints it, without missing values."""
        # The report of a run also has empty lists: of warnings in files, too, of others with what was measured.
        listed = {"warnings"} if self.parts else set()
        listed |= {"notices", "retries"} if self.parts and self.seconds != Seconds() else set()
        found = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "others"}
        there = {name: plain(value) for name, value in found.items() if name in listed or value not in _NOTHING}
        return there | self.others.to_json()

    @classmethod
    def from_json(cls, data: Any, where: str = "") -> Self:
        """Return the report in JSON, also of an earlier version; raise if it is not a report.

        Values that an earlier version did not have are missing. (Without a halo and super-vertices, all vertices
        except the anchors are a part's own.)
        """
        if isinstance(data, Mapping) and isinstance(data.get("parts"), list | tuple):
            data = {**data, "parts": [_with_own(part, data.get("anchors")) for part in data["parts"]]}
        return cls(**cls._read(data, where or "the report"))

    @classmethod
    def of(cls, report: Any) -> Self:
        """Return a report unchanged, or make one from a plain dict."""
        return report if isinstance(report, cls) else cls.from_json(report)

    @property
    def is_measured(self) -> bool:
        """Whether the report has the times and memory of a completed run; files hold neither."""
        measured = all(part.seconds is not None and part.peak_bytes is not None for part in self.parts)
        return bool(self.parts) and measured and self.seconds.total is not None and self.reconcile != Reconciled()

    @property
    def worker_seconds(self) -> list[float]:
        """Time of each worker; raises if it was not measured."""
        return [known(part.seconds, "how long the workers took") for part in self.parts]

    @property
    def worker_peaks(self) -> list[int]:
        """Measured peak memory of each worker, in bytes; raises if it was not measured."""
        return [known(part.peak_bytes, "how much memory the workers took") for part in self.parts]

    def reproducible(self) -> Self:
        """Return the report without measurements and without where it ran: it is equal for equal runs, as files are.

        Notices on how a graph file was read are also left out: a run completed from its folder does not read that file.
        """
        return replace(
            self,
            parts=tuple(replace(part, peak_bytes=None, seconds=None) for part in self.parts),
            seconds=Seconds(),
            notices=(),
            retries=(),
            coordinator=Coordinator(),
            plan=Settings({name: value for name, value in self.plan.items() if name not in WHERE}),
            shards=(),
        )

    def _repr_html_(self) -> str:
        return report_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError("a report cannot be changed. Make another one with dataclasses.replace.")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


# Fields of a plan that say where its work is done, which does not change the result.
WHERE = frozenset({"engine", "address", "workers", "jobs", "coordinator_memory"})

_NOTHING = (None, (), Seconds(), Reconciled(), Refined(), Coordinator(), Settings())


def _with_own(part: Any, anchors: Any) -> Any:
    """Return the JSON of a part with its own vertices, which the first versions did not have."""
    if not isinstance(part, Mapping) or "own" in part:
        return part
    counts = [part.get("vertices", 0), 0 if anchors is None else anchors, part.get("halo", 0), part.get("lumps", 0)]
    if not all(type(count) is int for count in counts):
        return part
    return {**part, "own": max(0, counts[0] - sum(counts[1:]))}

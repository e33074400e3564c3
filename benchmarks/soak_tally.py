"""What `benchmarks.soak` counts: kills by kind and by stage, and what was found wrong."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

# The words that a run says, and the stage that begins with each.
STAGES = {
    "reading": "read",
    "resuming": "read",
    "decomposing": "decompose",
    "embedding": "embed",
    "embedded": "embed",
    "retrying": "embed",
    "aligning": "reconcile",
    "refining": "refine",
    "writing": "write",
}


@dataclass
class Tally:
    """What was done to whom in which stage, and what was found wrong."""

    kills: Counter[str] = field(default_factory=Counter)
    on_ray: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    starts: int = 0

    @property
    def n_kills(self) -> int:
        """How many times something was killed with SIGKILL."""
        return self.kills.total() + self.on_ray.total()

    def line(self) -> str:
        """Return the tally in words."""
        who = [f"{self.kills[kind]:,} {kind}s" for kind in ("worker", "server", "coordinator", "group")]
        ray = ", ".join(f"{count} {kind}s" for kind, count in sorted(self.on_ray.items()))
        who.append(f"{self.on_ray.total():,} on Ray{f' ({ray})' if ray else ''}")
        known = dict.fromkeys(["start", *STAGES.values(), *self.stages])
        stages = ", ".join(f"{stage} {self.stages[stage]:,}" for stage in known if self.stages[stage])
        found = [f"{self.wrong[what]} {what}" for what in ("changed bits", "processes left", "files left")]
        if self.wrong["other failures"]:
            found.append(f"{self.wrong['other failures']} other failures")
        return f"{self.n_kills:,} kills: {', '.join(who)}; stages: {stages}; {', '.join(found)}"

    def details(self) -> str:
        """Return what was done besides."""
        others = ", ".join(f"{count} {what}" for what, count in sorted(self.others.items()))
        return f"{self.runs} runs came to their end, in {self.starts} starts; besides: {others or 'nothing'}"

    def to_json(self) -> dict[str, object]:
        """Return the tally as `Tally.read` takes it."""
        return dict(vars(self))

    @staticmethod
    def read(path: Path) -> "Tally":
        """Return the tally that was kept in a file, or a new one."""
        if not path.exists():
            return Tally()
        kept = json.loads(path.read_text())
        return Tally(**{key: Counter(value) if isinstance(value, dict) else value for key, value in kept.items()})


class WrongError(Exception):
    """What must not be: the kind of it, and how it was found."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind

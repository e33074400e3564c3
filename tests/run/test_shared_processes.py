"""Which techniques share a process, and which a worker is prepared for: what they declare decides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import parge
from parge.engine.base import Task
from parge.engine.serial import Serial
from parge.events import ignore
from parge.graph.generate import planted
from parge.run.open_run import open_run
from parge.run.pipeline import embed_parts
from parge.run.worker import prepare_worker
from parge.techniques.base import Technique
from parge.techniques.registry import techniques
from parge.techniques.resolve import Described

GRAPH = planted(120, 500, communities=3, seed=2).graph
EMBEDDED: list[str] = []


@dataclass(frozen=True)
class Tidy(parge.SGC):
    """A technique of another package that leaves nothing behind."""

    name: ClassVar[str] = "tidy"
    leaves_nothing: ClassVar[bool] = True

    def embed(self, *given: Any, **named: Any) -> Any:
        EMBEDDED.append(self.name)
        return super().embed(*given, **named)


@dataclass(frozen=True)
class Untidy(Tidy):
    """One that may leave something."""

    name: ClassVar[str] = "untidy"
    leaves_nothing: ClassVar[bool] = False


class Collecting(Serial):
    """An engine that only looks at its tasks."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def run(self, tasks: Sequence[Task], *_given: Any, **_named: Any) -> Iterator[tuple[Task, Any]]:
        self.tasks += tasks
        return iter(())


@pytest.mark.parametrize("technique", [Tidy(dim=4), Untidy(dim=4), parge.SGC(dim=4)], ids=lambda each: each.name)
def test_small_subgraphs_share_a_process_if_the_technique_leaves_nothing(technique: Technique, tmp_path: Path) -> None:
    plan, engine = parge.Plan(technique=technique, parts=2), Collecting()
    with open_run(GRAPH, plan, run_dir=tmp_path / "run", resume=False, listener=ignore) as run:
        embed_parts(run, ignore, engine)
    assert [task.shares_process for task in engine.tasks] == 2 * [technique.leaves_nothing]


@pytest.mark.parametrize(("cls", "is_prepared"), [(Tidy, True), (Untidy, False)])
def test_a_worker_is_prepared_for_a_registered_technique_that_leaves_nothing(
    cls: type[Technique], is_prepared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(techniques._known, cls.name, cls)
    EMBEDDED.clear()
    prepare_worker(Described(cls.name, (("dim", 4),)))
    assert [cls.name] * is_prepared == EMBEDDED


def test_nothing_is_imported_of_a_technique_that_is_not_registered() -> None:
    EMBEDDED.clear()
    prepare_worker(Described(f"{__name__}:Tidy", (("dim", 4),)))
    assert not EMBEDDED


def test_a_technique_of_ones_own_promises_nothing_unless_it_says_so() -> None:
    assert not Technique.leaves_nothing
    found = {name: techniques.get(name) for name in techniques.shipped()}
    assert [name for name, cls in found.items() if cls.leaves_nothing is not (cls.needs_extra is None)] == []

"""One task after the other, in this process: the reference for every other engine."""

import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from parge.engine.base import Engine, Task, Watch, as_failure, raise_first, with_advice, with_place
from parge.values import takes_workers


@takes_workers
@dataclass(frozen=True)
class Serial(Engine):
    """Runs every task in this process, one by one.

    Use it to debug, or where no process may be started. On the command line: ``--engine serial``.

    Parameters
    ----------
    jobs : int, optional
        Accepted as in every engine, but without effect.
    """

    name: ClassVar[str] = "serial"
    joins_cluster: ClassVar[bool] = False
    in_this_process: ClassVar[bool] = True

    jobs: int | None = field(default=None, repr=False)

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result; failures are raised after the last task."""
        failures: list[BaseException] = []
        for task in tasks:
            watch(task, 0.0)
            try:
                result = task.function(task.argument, partial(watch, task))
            except (Exception, SystemExit) as error:  # noqa: BLE001  a task may fail in any way; the others still run
                failure = with_place(as_failure(error), f"in {task.label}", traceback.format_exc())
                failures.append(with_advice(task, failure))
                continue
            watch(task, 1.0)
            yield task, result
        raise_first(failures, tasks)

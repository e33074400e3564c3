"""Engines by name."""

import inspect
from collections.abc import Callable
from typing import Any

from parge.engine.base import Engine
from parge.engine.processes import Processes
from parge.engine.serial import Serial
from parge.errors import Extra, InputError
from parge.registry import Registry

engines: Registry[Callable[..., Engine]] = Registry("engine")
engines.register("serial", Serial)
engines.register("processes", Processes)
engines.register_at("ray", "parge.engine.ray:Ray")


def runs_here(name: str) -> bool:
    """Return whether the tasks of that engine run in this process; False if the engine is not installed.

    >>> runs_here("serial"), runs_here("processes"), runs_here("a plug-in that is not installed")
    (True, False, False)
    """
    return name in engines.names() and bool(_attribute(name, "in_this_process", default=False))


def joins_cluster(name: str) -> bool:
    """Return whether the tasks of that engine may run on other machines.

    >>> joins_cluster("serial"), joins_cluster("processes")
    (False, False)
    """
    return bool(_attribute(name, "joins_cluster", default=True))


def _attribute(name: str, attribute: str, *, default: Any) -> Any:
    """Return an attribute of an engine; the engine of a plug-in may be any callable, without attributes."""
    return getattr(engines.get(name), attribute, default)


def check_engine(name: str, address: str | None = None) -> None:
    """Refuse an unknown engine, one whose extra is not installed, and an address for an engine without a cluster."""
    engines.check(name)
    if address is not None and not joins_cluster(name):
        raise InputError(f"--address is for a cluster, and the engine {name} uses only this machine. Use --engine ray.")
    extra: Extra | None = _attribute(name, "needs_extra", default=None)
    if extra is not None:
        extra.check(f"the engine {name}")


def make_engine(name: str, *, jobs: int | None = None, address: str | None = None) -> Engine:
    """Return the engine of that name; only engines of clusters get an address.

    Older plug-ins take `jobs` under its former name, `workers`.
    """
    check_engine(name, address)
    make = engines.get(name)
    keyword = "jobs" if "jobs" in inspect.signature(make).parameters else "workers"
    return make(**{keyword: jobs}, **({} if address is None else {"address": address}))

"""Engines by name."""

from collections.abc import Callable

from parge.engine.base import Engine
from parge.engine.processes import Processes
from parge.engine.serial import Serial
from parge.errors import Extra, InputError
from parge.registry import Registry

engines: Registry[Callable[..., Engine]] = Registry("engine")
engines.register("serial", lambda **_settings: Serial())
engines.register("processes", Processes)
engines.register_at("ray", "parge.engine.ray:Ray")

_HERE = ("processes", "serial")


def check_engine(name: str, address: str | None = None) -> None:
    """Refuse an engine that nobody has or that lacks its extra, and an address where there is nothing to join."""
    engines.check(name)
    if address is not None and name in _HERE:
        raise InputError(f"an address is that of a cluster; the engine {name} works on this machine: use --engine ray")
    extra: Extra | None = getattr(engines.get(name), "needs_extra", None)  # a plug-in's may be any callable
    if extra is not None:
        extra.check(f"the engine {name}")


def make_engine(name: str, *, workers: int | None = None, address: str | None = None) -> Engine:
    """Return the engine of that name; only engines of clusters are told of an address."""
    check_engine(name, address)
    return engines.get(name)(workers=workers, **({} if address is None else {"address": address}))

"""Engines by name."""

from collections.abc import Callable

from parge.engine.base import Engine
from parge.engine.processes import Processes
from parge.engine.serial import Serial
from parge.registry import Registry

engines: Registry[Callable[..., Engine]] = Registry("engine")
engines.register("serial", lambda **_settings: Serial())
engines.register("processes", Processes)

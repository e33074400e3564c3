"""Named components: a name gives a class, an unknown name lists the known ones, plug-ins join by entry point."""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from parge.errors import InputError
from parge.numbers import shown
from parge.spelling import suggestion

T = TypeVar("T")


class Registry(Generic[T]):
    """The components of one kind, by name.

    Other packages add theirs with an entry point in the group ``parge.<kind>s`` (for example
    ``parge.techniques``), loaded only when its name is asked for. `also` are words that callers resolve to a name
    before they ask, such as auto: an unknown name lists them, too.
    """

    def __init__(self, kind: str, *, group: str | None = None, also: tuple[str, ...] = ()) -> None:
        self.kind, self.also = kind, also
        self.group = group or f"parge.{kind}s"
        self._known: dict[str, T] = {}
        self._homes: dict[str, str] = {}
        self._shipped: list[str] = []

    def register(self, name: str, component: T) -> T:
        """Add a component; a name is given once only."""
        self._refuse_twice(name)
        self._known[name] = component
        self._shipped.append(name)
        return component

    def register_at(self, name: str, home: str) -> None:
        """Add a component by where it lives, ``module:attribute``; it is imported when it is first asked for."""
        self._refuse_twice(name)
        self._homes[name] = home
        self._shipped.append(name)

    def _refuse_twice(self, name: str) -> None:
        if name in self._known or name in self._homes:
            raise ValueError(f"the {self.kind} {name!r} is registered already")

    def shipped(self) -> list[str]:
        """Return the names of parge's own components, in the order of their registration; plug-ins are not scanned."""
        return list(self._shipped)

    def listed(self) -> str:
        """Return the names of parge's own components as help shows them: ``a, b or c``."""
        return f"{', '.join(self._shipped[:-1])} or {self._shipped[-1]}"

    def names(self) -> list[str]:
        """Return all names, plug-ins included."""
        return sorted({*self._known, *self._homes, *(point.name for point in self._plugins())})

    def check(self, name: str) -> None:
        """Refuse an unknown name, without importing any component."""
        if name not in self.names():
            raise self._unknown(name)

    def get(self, name: str) -> T:
        """Return the component of that name."""
        if name in self._known:
            return self._known[name]
        if name in self._homes:
            module, attribute = self._homes[name].split(":")
            self._known[name] = getattr(import_module(module), attribute)
            return self._known[name]
        for point in self._plugins():
            if point.name == name:
                self._known[name] = point.load()
                return self._known[name]
        raise self._unknown(name)

    def _unknown(self, name: str) -> InputError:
        known = [*(word for word in self.also if word != name), *self.names()]
        close = suggestion(name, known) if isinstance(name, str) else ""
        return InputError(f"there is no {self.kind} {shown(name)}; known: {', '.join(known)}{close and '.'}{close}")

    def _plugins(self) -> Any:
        return _entry_points(self.group)


@cache
def _entry_points(group: str) -> Any:
    """Look for plug-ins once: a scan of all installed packages takes 35 ms."""
    return entry_points(group=group)

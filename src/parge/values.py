"""Values with typed fields that are written as JSON and read back, every field checked."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache, wraps
from inspect import signature
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, TypeVar, get_args, get_origin, get_type_hints

from parge.errors import InputError, UnknownNameError
from parge.numbers import MOST, shown
from parge.spelling import suggestion

# Lists within lists within settings; deeper ones are none of ours, and Python counts the calls that read them.
_DEEPEST = 32

T = TypeVar("T")
C = TypeVar("C")

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def known(value: T | None, what: str) -> T:
    """Return a value of a report; raise if the report does not have it."""
    if value is None:
        raise InputError(f"the report does not say {what}. Use the report that the run itself returned.")
    return value


def takes_workers(cls: type[C]) -> type[C]:
    """Let a class that has the setting `jobs` also accept and show its former name, `workers`; refuse misspelt names.

    >>> @takes_workers
    ... @dataclass(frozen=True)
    ... class Crew:
    ...     jobs: int | None = None
    >>> Crew(workers=3), Crew(jobs=2).workers
    (Crew(jobs=3), 2)
    """
    made: Callable[..., None] = cls.__init__
    known = tuple(signature(made).parameters)[1:]

    @wraps(made)
    def init(self: Any, *args: Any, workers: Any = ..., **settings: Any) -> None:
        for name in settings:
            if name not in known:
                raise UnknownNameError(
                    f"{cls.__name__} has no field {name!r}.{suggestion(name, known)} Its fields: {', '.join(known)}."
                    f"{getattr(cls, 'NOT_FIELDS', '')}"
                )
        if workers is not ...:
            if settings.get("jobs") not in (None, workers):
                raise InputError(
                    f"jobs={settings['jobs']!r} and workers={workers!r} are the same setting. Give only jobs."
                )
            settings["jobs"] = workers
        made(self, *args, **settings)

    cls.__init__ = init  # type: ignore[method-assign]
    cls.workers = property(lambda self: self.jobs)  # type: ignore[attr-defined]
    return cls


class Settings(Mapping[str, Any]):
    """Names with plain values, which cannot be changed; a name is an attribute, too.

    An attribute that was never given is None; `settings["name"]` and `"name" in settings` tell the difference. Lists
    are kept as tuples; `to_json` gives lists again.

    >>> plan = Settings({"seed": 7, "capacities": [40, 60]})
    >>> plan.seed, plan.capacities, plan.memory, "memory" in plan
    (7, (40, 60), None, False)
    """

    __slots__ = ("_values",)
    _values: dict[str, Any]

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "_values", {str(name): _frozen(value, 0) for name, value in (values or {}).items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._values.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"settings cannot be changed; the attempt was to set {name}")

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Settings({self._values!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Settings, (self._values,)

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict, with lists for tuples."""
        return {name: plain(value) for name, value in self._values.items()}


def _frozen(value: Any, depth: int) -> Any:
    """Return a plain value as one that cannot be changed; what JSON has no form for becomes text."""
    if depth > _DEEPEST:
        raise InputError(f"values within values are read to a depth of {_DEEPEST}; these go deeper")
    value = _without_numpy(value)
    if isinstance(value, Mapping):
        return Settings({str(name): _frozen(inner, depth + 1) for name, inner in value.items()})
    if isinstance(value, list | tuple):
        return tuple(_frozen(inner, depth + 1) for inner in value)
    return value if isinstance(value, str | int | float | NoneType) else str(value)


def _without_numpy(value: Any) -> Any:
    """Return numpy's numbers and arrays as Python's; numpy itself is not needed to know them."""
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def plain(value: Any) -> Any:
    """Return a field of a value as JSON has it."""
    if isinstance(value, Value | Settings):
        return value.to_json()
    return [plain(item) for item in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, eq=False)
class Value:
    """Fields by name, as JSON and back.

    A field that is None is not written, but for those in `NULLS`. Reading, a key that is missing leaves the field at
    its default, and keys that no field has are kept in `others`, where a class has such a field.
    """

    NULLS: ClassVar[frozenset[str]] = frozenset()
    KEYS: ClassVar[Mapping[str, str]] = {}
    """Fields whose key in JSON is another word: files and programs of others have it."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values, under their keys and in their own order."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        others = found.pop("others", {})
        there = {name: value for name, value in found.items() if value is not None or name in self.NULLS}
        return {**{self.KEYS.get(name, name): plain(value) for name, value in there.items()}, **plain(others)}

    @classmethod
    def from_json(cls, data: Any, where: str = "") -> Self:
        """Return the value that JSON describes; refuse what is none. `where` says in messages which one it is."""
        return cls(**cls._read(data, where))

    @classmethod
    def _read(cls, data: Any, where: str) -> dict[str, Any]:
        """Return the fields that JSON gives, checked."""
        if not isinstance(data, Mapping):
            raise _unlike(where or "all", data, "names with values")
        hints = _hints(cls)  # type: ignore[arg-type]  # mypy takes the hash of a class for that of its values
        within = f"{where}." if where else ""
        keys = {cls.KEYS.get(name, name): name for name in hints}
        found = {name: _read(hints[name], data[key], f"{within}{key}") for key, name in keys.items() if key in data}
        missing = [field.name for field in fields(cls) if field.name not in found and _is_needed(field)]
        if missing:
            raise InputError(f"{where or 'the whole'} does not say its {', '.join(missing)}")
        if any(field.name == "others" for field in fields(cls)):
            found["others"] = Settings({name: value for name, value in data.items() if name not in keys})
        return found


def _is_needed(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


@cache
def _hints(cls: type[Value]) -> dict[str, Any]:
    """Return the types of the fields that JSON names."""
    found = get_type_hints(cls)
    return {field.name: found[field.name] for field in fields(cls) if field.name != "others"}


def _read(kind: Any, value: Any, where: str) -> Any:
    """Return a value of a field's type, or refuse what JSON says."""
    if get_origin(kind) is UnionType:
        if value is None:
            return None
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise _unlike(where, value, "a list")
        return tuple(_read(get_args(kind)[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if kind is Settings:
        if not isinstance(value, Mapping):
            raise _unlike(where, value, "names with values")
        return Settings(value)
    if issubclass(kind, Value):
        return kind.from_json(value, where)
    return _read_plain(kind, value, where)


def _read_plain(kind: type, value: Any, where: str) -> Any:
    value = _without_numpy(value)
    right = isinstance(value, int | float if kind is float else kind) and isinstance(value, bool) == (kind is bool)
    if not right or (isinstance(value, int) and abs(value) > MOST):
        raise _unlike(where, value, _WORDS[kind])
    return value


def _unlike(where: str, value: Any, expected: str) -> InputError:
    return InputError(f"{where}: {expected} was expected; found {shown(value)}")

"""From what a user gives (a name, a dotted path, an object) to a technique, and to a file and back."""

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from parge.errors import InputError
from parge.numbers import shown
from parge.spelling import suggestion
from parge.storage import current_folder
from parge.techniques.adapt import DIM_NAMES, Adapted, adapt
from parge.techniques.base import Technique
from parge.techniques.registry import techniques
from parge.values import Value

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def resolve(technique: Any, settings: Mapping[str, Any] | None = None) -> Technique:
    """Return the technique that is meant, with these settings.

    A technique is the name of a registered one, ``module:attribute``, or the thing itself. The attribute is a
    technique, a function, a class or an object; modules of the current directory are found, too. Settings are values by
    name, or their text as ``--param`` gives it, checked against the type of the setting.

    >>> resolve("sgc", {"dim": "32", "hops": "3"})
    SGC(dim=32, hops=3, seed=0)
    """
    given = dict(settings or {})
    if isinstance(technique, str):
        if ":" not in technique:
            return _build(techniques.get(technique), given)
        found = _imported(technique)
        return _foreign(found, given, technique) if not _is_technique(found) else resolve(found, given)
    if isinstance(technique, Technique):
        return replace(technique, **_typed(type(technique), given)) if given else technique
    if _is_technique(technique):
        return _build(technique, given)
    return _foreign(technique, given, "")


def setting_names(technique: Any) -> tuple[str, ...] | None:
    """Return the names of the settings that `resolve` takes with this technique; None where it takes any name.

    >>> setting_names("sgc")
    ('dim', 'hops', 'seed')
    """
    if isinstance(technique, str):
        technique = _imported(technique) if ":" in technique else techniques.get(technique)
    if _is_technique(technique):
        return tuple(field.name for field in fields(technique))
    if not (inspect.isclass(technique) or _is_function(technique)):
        return ("dim",)
    known = _keywords(technique, {"": None}, positional=2 if _is_function(technique) else 0)
    return None if "" in known else ("dim", *(name for name in known if name != "dim"))


@dataclass(frozen=True)
class Described(Value):
    """A technique in words, which files and other processes have; `restore` makes the technique of them."""

    name: str  # its registered name, or ``module:attribute``. The JSON key is ``technique``
    settings: tuple[tuple[str, Any], ...] = ()  # by name, as they were given

    @property
    def is_registered(self) -> bool:
        """Whether parge or an installed plug-in has a technique of that name, so that no path is imported."""
        return self.name in techniques.names()

    def to_json(self) -> dict[str, Any]:
        """Return the name and the settings."""
        return {"technique": self.name, "settings": dict(self.settings)}

    @classmethod
    def from_json(cls, data: Any, where: str = "") -> Self:
        """Return the technique that JSON describes; whether it may be imported is not decided here."""
        if isinstance(data, Mapping):
            name, settings = data.get("technique"), data.get("settings")
            if isinstance(name, str) and isinstance(settings, Mapping):
                return cls(name, tuple(settings.items()))
        raise InputError(f"{where or 'a technique'} must be a name with settings; found {shown(data)}")


def describe(technique: Technique) -> Described | None:
    """Return the words that `restore` makes the same technique of; None for a live Python object.

    >>> describe(resolve("sgc"))
    Described(name='sgc', settings=(('dim', 128), ('hops', 2), ('seed', 0)))
    """
    if isinstance(technique, Adapted):
        return Described(technique.path, technique.settings) if technique.path else None
    settings = [(field.name, getattr(technique, field.name)) for field in fields(technique)]
    plain = tuple((name, value.item() if isinstance(value, np.generic) else value) for name, value in settings)
    if technique.name in techniques.names() and type(technique) is techniques.get(technique.name):
        return Described(technique.name, plain)
    path = _path(type(technique))
    carried = all(value is None or isinstance(value, int | float | str) for _, value in plain)
    made_of_them = all(field.init for field in fields(technique))
    return Described(path, plain) if path and carried and made_of_them else None


def _path(cls: type[Technique]) -> str:
    """Return where a class can be imported from, as ``module:attribute``; nothing where it cannot."""
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return f"{cls.__module__}:{cls.__qualname__}" if found is cls and cls.__module__ != "__main__" else ""


def restore(described: Described) -> Technique:
    """Return the technique that `describe` described."""
    return resolve(described.name, dict(described.settings))


def restore_declared(described: Described) -> Technique:
    """Return the technique that a stranger describes; what they chose reaches nothing but declared settings.

    A registered name is looked up and never imported as a path; its settings are fields, of their types. Of a
    ``module:attribute``, which the caller must have allowed, the attribute comes from that module's own package.
    Settings are plain values of parameters that are declared by name: no ``**settings`` takes whatever it is given.
    """
    name, settings = described.name, dict(described.settings)
    if described.is_registered:
        return _build(techniques.get(name), settings)
    for key, value in settings.items():
        if not (value is None or isinstance(value, int | float | str)):
            raise InputError(f"{key} of {name} must be a number, a text, true, false or none; got {value!r}")
    found = _imported(name)
    if _is_technique(found):
        return resolve(found, settings)
    _refuse_imports(found, name)
    return _foreign(found, settings, name, free=False)


def _refuse_imports(found: Any, path: str) -> None:
    """Refuse a class or function that a module has from another package: ``mine:Popen`` is none of mine."""
    home, package = getattr(found, "__module__", None), path.partition(":")[0].partition(".")[0]
    if isinstance(home, str) and home.partition(".")[0] != package:
        raise InputError(f"{path} is only imported there, from {home}. Name it where it is defined, {home}:...")


def _is_technique(value: Any) -> bool:
    return isinstance(value, Technique) or (inspect.isclass(value) and issubclass(value, Technique))


def _build(cls: type[Technique], given: Mapping[str, Any]) -> Technique:
    return cls(**_typed(cls, given))


def _typed(cls: type[Technique], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of the types that the technique's fields have, or say which one is wrong."""
    hints = get_type_hints(cls)
    known = {field.name: hints[field.name] for field in fields(cls)}
    return _parsed(known, given, cls.name or cls.__name__)


def _parsed(known: Mapping[str, Any], given: Mapping[str, Any], owner: str) -> dict[str, Any]:
    for name in given:
        if name not in known:
            close = suggestion(name, known)
            raise InputError(f"{owner} has no setting {shown(name)}; it has {', '.join(known) or 'none'}.{close}")
    return {name: _value(value, known[name], f"{name} of {owner}") for name, value in given.items()}


def _value(value: Any, expected: Any, setting: str) -> Any:
    """Return a value of the expected type, read from text where it is text."""
    value = value.item() if isinstance(value, np.generic) else value
    choices = get_args(expected) if get_origin(expected) in (Union, types.UnionType) else (expected,)
    for choice in choices:
        found = _attempt(value, choice)
        if found is not _attempt:
            return found
    raise InputError(f"{setting} must be {' or '.join(_expected(choice) for choice in choices)}; got {shown(value)}")


def _attempt(value: Any, expected: Any) -> Any:
    """Return the value as that type, or `_attempt` itself where it is none."""
    if expected is Any:
        return _guess(value) if isinstance(value, str) else value
    if get_origin(expected) is Literal:
        return value if value in get_args(expected) else _attempt
    if expected is type(None):
        return None if value is None or (isinstance(value, str) and value.lower() == "none") else _attempt
    if not isinstance(value, str) or expected is str:
        fits = isinstance(value, expected) if inspect.isclass(expected) else True
        is_number = isinstance(value, int) and expected is float
        return value if (fits or is_number) and not (isinstance(value, bool) and expected in (int, float)) else _attempt
    readers: dict[Any, Callable[[str], Any]] = {int: int, float: float, bool: _boolean}
    try:
        return readers[expected](value.strip()) if expected in readers else _attempt
    except ValueError:  # no such number, or one of more digits than Python reads
        return _attempt


def _boolean(text: str) -> bool:
    if text.lower() in _TRUE + _FALSE:
        return text.lower() in _TRUE
    raise ValueError(text)


def _guess(text: str) -> Any:
    """Return text as the first of integer, number, true/false, none that it reads as; else the text."""
    for expected in (int, float, type(None)):
        found = _attempt(text, expected)
        if found is not _attempt:
            return found
    return text.lower() == "true" if text.lower() in ("true", "false") else text


def _expected(expected: Any) -> str:
    if get_origin(expected) is Literal:
        return f"one of {', '.join(str(choice) for choice in get_args(expected))}"
    words = {int: "a whole number", float: "a number", bool: "true or false", type(None): "none"}
    return words.get(expected, getattr(expected, "__name__", str(expected)))


def _imported(path: str) -> Any:
    """Return the attribute that ``module:attribute`` names; the current directory is searched last."""
    module_name, _, attribute = path.partition(":")
    folder = current_folder()
    here = "a folder that no longer exists" if folder is None else str(folder)
    if folder is not None and here not in sys.path:
        sys.path.append(here)  # kept: workers import the module again from the same path
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # whatever a module raises while it is imported
        missing = isinstance(error, ModuleNotFoundError)
        cause = str(error) if missing else f"{type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError) and error.name == module_name:
            cause += ". Run parge in the folder of the module, or put that folder into PYTHONPATH."
        raise InputError(
            f"the technique {path!r} needs the module {module_name!r}, which cannot be imported from {here} or "
            f"Python's own path: {cause}"
        ) from error
    for depth, name in enumerate(attribute.split(".")):
        if depth and not (inspect.isclass(found) and found.__module__ == module_name):
            raise InputError(
                f"{path!r} goes through {attribute.split('.')[depth - 1]!r}, which is not a class of {module_name}. "
                "Name a technique where it is defined, as module:name or module:Class.name."
            )
        if not hasattr(found, name):
            public = _own_names(found, module_name)
            has = ", ".join(public) or "no public function or class of its own"
            raise InputError(f"{module_name!r} has no {attribute!r}; it has {has}.{suggestion(name, public)}")
        found = getattr(found, name)
    return found


def _own_names(owner: Any, module: str) -> list[str]:
    """Return the public names that may be techniques: functions and classes made in the package, objects that fit."""
    return [name for name in dir(owner) if not name.startswith("_") and _may_embed(getattr(owner, name, None), module)]


def _may_embed(value: Any, module: str) -> bool:
    fits = _is_technique(value) or hasattr(value, "fit") or hasattr(value, "fit_transform")
    if fits and not inspect.isclass(value):
        return True
    return callable(value) and str(getattr(value, "__module__", "")).partition(".")[0] == module.partition(".")[0]


def _foreign(found: Any, given: Mapping[str, Any], path: str, *, free: bool = True) -> Technique:
    """Return someone else's class, object or function as a technique, with its own settings.

    With `free`, what takes ``**`` takes any setting; otherwise only settings that are declared by name.
    """
    owner = path or getattr(found, "__name__", type(found).__name__)
    extra = {name: value for name, value in given.items() if name != "dim"}
    dim = None if given.get("dim") is None else _value(given["dim"], int, f"dim of {owner}")
    target = found
    if inspect.isclass(found) or _is_function(found):
        known = _keywords(found, extra if free else {}, positional=2 if _is_function(found) else 0)
        keywords = _parsed(known, extra, owner)
        alias = next((name for name in DIM_NAMES if name in known), None)
        if dim is not None and alias is not None:
            keywords.setdefault(alias, dim)
        target = _bound(found, keywords, owner)
    elif extra:
        name = next(iter(extra))
        raise InputError(f"{owner} is an object and takes no setting {name!r}. Name its class instead.")
    return adapt(target, dim, path=path, settings=tuple(given.items()))


def _is_function(found: Any) -> bool:
    fits = hasattr(found, "fit") or hasattr(found, "fit_transform")
    return callable(found) and not inspect.isclass(found) and not fits


def _bound(found: Any, keywords: dict[str, Any], owner: str) -> Any:
    if not inspect.isclass(found):
        return functools.partial(found, **keywords) if keywords else found
    try:
        return found(**keywords)
    except TypeError as error:
        settings = f"the settings {keywords}" if keywords else "its default settings"
        raise InputError(f"{owner} cannot be created with {settings}: {error}") from error


def _keywords(function: Any, given: Mapping[str, Any], *, positional: int) -> dict[str, Any]:
    """Return the settings that a function or class takes, with the types they are annotated or defaulted to.

    The first `positional` parameters are no settings; all that is given is one where there is a ``**``.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return dict.fromkeys(given, Any)
    by_name = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD][positional:]
    by_name += [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    free = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return {**(dict.fromkeys(given, Any) if free else {}), **{p.name: _kind(p) for p in by_name}}


def _kind(parameter: inspect.Parameter) -> Any:
    """Return the type of a setting: int, float, bool or str as annotated, or as its default is; else any."""
    named = {"int": int, "float": float, "bool": bool, "str": str}
    annotated = parameter.annotation if isinstance(parameter.annotation, str) else repr(parameter.annotation)
    for name, kind in named.items():
        if annotated in (name, repr(kind)):
            return kind
    default = type(parameter.default)
    if default is int:
        return int | float  # a default of 1 does not say that 0.5 is wrong
    return default if default in named.values() else Any

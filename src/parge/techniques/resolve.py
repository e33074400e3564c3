"""A technique from a name, a dotted path, an object or a description in a file, and back to a description."""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from parge.errors import InputError
from parge.techniques.adapt import Adapted, adapt, from_path
from parge.techniques.base import Technique
from parge.techniques.registry import techniques


def resolve(technique: Any, settings: Mapping[str, str] | None = None) -> Technique:
    """Return the technique that is meant.

    Parameters
    ----------
    technique : Technique, name, ``module:attribute``, callable, or object with fit_transform or fit
        What was asked for.
    settings : mapping of text, optional
        Settings as the command line gives them, ``{"walks": "20"}``, read by the type of each field.

    Examples
    --------
    >>> resolve("deepwalk", {"dim": "32", "walks": "5"}).walks
    5
    """
    settings = dict(settings or {})
    if isinstance(technique, str) and ":" in technique:
        return from_path(technique, settings)
    if isinstance(technique, str):
        kind = techniques.get(technique)()
        return kind(**read_settings(kind, settings))
    if settings:
        raise InputError("settings as text belong to a technique given by name; pass a technique with its settings")
    if isinstance(technique, type) and issubclass(technique, Technique):
        return technique()
    return technique if isinstance(technique, Technique) else adapt(technique)


def read_settings(kind: type[Technique], settings: Mapping[str, str]) -> dict[str, Any]:
    """Read settings from text by the types of a technique's fields; an unknown one lists the known ones."""
    hints = get_type_hints(kind)
    known = [field.name for field in fields(kind)]
    for key in settings:
        if key not in known:
            raise InputError(f"{kind.name} has no setting {key!r}; it has: {', '.join(known)}")
    return {key: _read(kind.name, key, text, hints[key]) for key, text in settings.items()}


def _read(name: str, key: str, text: str, hint: Any) -> Any:
    """Read one setting; `hint` is int, float, bool, str, a Literal, or one of these or None."""
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        if text.lower() in {"none", "auto", ""} and type(None) in get_args(hint):
            return None
        return _read(name, key, text, options[0])
    if get_origin(hint) is Literal or hint is str:
        return text
    if hint is bool and text.lower() in {"true", "false", "yes", "no", "1", "0"}:
        return text.lower() in {"true", "yes", "1"}
    try:
        if hint in (int, float):
            return hint(text)
    except ValueError:
        pass
    kind = {int: "a whole number", float: "a number", bool: "true or false"}.get(hint, "text")
    raise InputError(f"{key} of {name} must be {kind}; got {text!r}")


def describe(technique: Technique) -> dict[str, Any] | None:
    """Return the technique as plain values that `restore` understands, or None for a live Python object."""
    if isinstance(technique, Adapted):
        return None if technique.path is None else {"path": technique.path, "settings": dict(technique.settings)}
    if not is_dataclass(technique) or technique.name not in techniques.names():
        return None
    values = {field.name: getattr(technique, field.name) for field in fields(technique)}
    plain = all(value is None or isinstance(value, bool | int | float | str) for value in values.values())
    return {"name": technique.name, "settings": values} if plain else None


def restore(description: Mapping[str, Any]) -> Technique:
    """Return the technique of a description; nothing in it is evaluated, a name or path is looked up."""
    try:
        if "path" in description:
            return from_path(str(description["path"]), {k: str(v) for k, v in description["settings"].items()})
        return techniques.get(str(description["name"]))()(**description["settings"])
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{description!r} does not describe a technique: {error}") from None

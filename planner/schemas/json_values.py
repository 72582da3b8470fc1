"""Conversion between dataclasses and plain JSON values, with every type checked.

Readers take files of `VERSION` alone, and ignore unknown fields. A field in another form in JSON has that form as
`stored` in its metadata.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from planner.errors import BadInputError

VERSION: Final = 3
"""Version of the JSON that the commands print and store."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Form of a field in JSON, `annotation`, with the conversions in both directions."""

    annotation: Any
    store: Callable[[Any], Any]
    restore: Callable[[Any], Any]


def versioned(value: Any) -> dict[str, Any]:
    """Return a dataclass as plain dicts and lists, its version first."""
    return {"version": VERSION, **to_jsonable(value)}


def read_versioned(text: str, *, what: str) -> dict[str, Any]:
    """Return the object that a JSON text holds, without its version; `what` names the text in errors.

    Raises BadInputError for anything but a JSON object, and for one that states another version.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInputError(f"{what} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadInputError(f"{what}: expected an object, found {_brief(document)}")
    version = document.pop("version", VERSION)
    if type(version) is not int or version != VERSION:
        is_later = type(version) is int and version > VERSION
        advice = "upgrade the planner, then read again" if is_later else "make it again with this planner"
        raise BadInputError(f"{what}.version: {_brief(version)}, and this planner reads {VERSION}", [advice])
    return document


def to_jsonable(value: Any) -> Any:
    """Turn a dataclass, with any inside it, into plain dicts and lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_jsonable(_as_stored(field, getattr(value, field.name))) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [to_jsonable(item) for item in value]
    return {key: to_jsonable(item) for key, item in value.items()} if isinstance(value, dict) else value


def _as_stored(field: Any, value: Any) -> Any:
    stored: Stored | None = field.metadata.get("stored")
    return stored.store(value) if stored else value


def from_jsonable(annotation: Any, value: Any, *, where: str) -> Any:
    """Build a value of type `annotation` (a dataclass, a container or a scalar) from parsed JSON. Every type is
    checked; fields that a dataclass lacks are ignored.
    """
    if annotation is Any:
        return value
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _optional(annotation, value, where=where)
    if origin is tuple:
        return tuple(_items(arguments[0], value, where=where))
    if origin is dict:
        _expect(isinstance(value, dict), value, "an object", where)
        return {key: from_jsonable(arguments[1], item, where=f"{where}.{key}") for key, item in value.items()}
    if origin is Literal:
        _expect(value in arguments, value, f"one of {', '.join(map(str, arguments))}", where)
        return value
    build = _dataclass if is_dataclass(annotation) else _scalar
    return build(annotation, value, where=where)


def _dataclass(annotation: Any, value: Any, *, where: str) -> Any:
    _expect(isinstance(value, dict), value, "an object", where)
    hints = get_type_hints(annotation)
    given = {
        field.name: _field(field, hints[field.name], value[field.name], where=f"{where}.{field.name}")
        for field in fields(annotation)
        if field.name in value
    }
    try:
        return annotation(**given)
    except TypeError as error:
        missing = [f.name for f in fields(annotation) if f.name not in given]
        advice = "if another version of the planner wrote it, make it again with this one"
        raise BadInputError(f"{where}: fields are missing, among them {', '.join(missing)}", [advice]) from error


def _field(field: Any, annotation: Any, value: Any, *, where: str) -> Any:
    stored: Stored | None = field.metadata.get("stored")
    if stored is None:
        return from_jsonable(annotation, value, where=where)
    return stored.restore(from_jsonable(stored.annotation, value, where=where))


def _optional(annotation: Any, value: Any, *, where: str) -> Any:
    inner = [arg for arg in get_args(annotation) if arg is not type(None)]
    return None if value is None else from_jsonable(inner[0], value, where=where)


def _items(annotation: Any, value: Any, *, where: str) -> list[Any]:
    _expect(isinstance(value, list), value, "a list", where)
    return [from_jsonable(annotation, item, where=f"{where}[{number}]") for number, item in enumerate(value)]


def _scalar(annotation: Any, value: Any, *, where: str) -> Any:
    is_flag = isinstance(value, bool)
    if annotation is float and isinstance(value, int | float) and not is_flag:
        _expect(-sys.float_info.max <= value <= sys.float_info.max, value, "a finite number", where)
        return float(value)
    _expect(isinstance(value, annotation) and not (annotation is int and is_flag), value, annotation.__name__, where)
    return value


def _expect(good: bool, value: Any, expected: str, where: str) -> None:  # noqa: FBT001
    if not good:
        raise BadInputError(f"{where}: expected {expected}, found {_brief(value)}")


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

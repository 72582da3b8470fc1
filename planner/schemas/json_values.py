"""Dataclasses to plain JSON values and back, every type and name checked on the way.

Where a file of an earlier version lacks a field, its metadata say what it was then: a value `in_old_files`, or that of
the field `once_in`.
"""

from __future__ import annotations

import types
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from planner.errors import BadInputError


def to_jsonable(value: Any) -> Any:
    """Turn a dataclass into plain dicts and lists."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def from_jsonable(annotation: Any, value: Any, *, where: str) -> Any:
    """Build what `annotation` says (a dataclass, a container or a scalar) from parsed JSON; every type and name is
    checked on the way.
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
    unknown = set(value) - set(hints)
    _expect(not unknown, sorted(unknown), f"only the fields of {annotation.__name__}", where)
    given = {f.name: f.metadata["in_old_files"] for f in fields(annotation) if "in_old_files" in f.metadata}
    given |= {name: from_jsonable(hints[name], item, where=f"{where}.{name}") for name, item in value.items()}
    for field in fields(annotation):
        if field.name not in given and field.metadata.get("once_in") in given:
            given[field.name] = given[field.metadata["once_in"]]
    try:
        return annotation(**given)
    except TypeError as error:
        missing = [f.name for f in fields(annotation) if f.name not in given]
        raise BadInputError(f"{where}: fields are missing, among them {', '.join(missing)}") from error


def _optional(annotation: Any, value: Any, *, where: str) -> Any:
    inner = [arg for arg in get_args(annotation) if arg is not type(None)]
    return None if value is None else from_jsonable(inner[0], value, where=where)


def _items(annotation: Any, value: Any, *, where: str) -> list[Any]:
    _expect(isinstance(value, list), value, "a list", where)
    return [from_jsonable(annotation, item, where=f"{where}[{number}]") for number, item in enumerate(value)]


def _scalar(annotation: Any, value: Any, *, where: str) -> Any:
    is_flag = isinstance(value, bool)
    if annotation is float and isinstance(value, int) and not is_flag:
        return float(value)
    _expect(isinstance(value, annotation) and not (annotation is int and is_flag), value, annotation.__name__, where)
    return value


def _expect(good: bool, value: Any, expected: str, where: str) -> None:  # noqa: FBT001
    if not good:
        raise BadInputError(f"{where}: expected {expected}, found {value!r}")

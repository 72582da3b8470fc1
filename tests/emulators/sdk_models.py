"""An SDK's own models as judges: whether a request's body has only fields that Azure knows, of the types they have."""

from __future__ import annotations

import enum
import functools
import inspect
import sys
import typing
from collections.abc import Iterator
from types import UnionType
from typing import Any

from azure.mgmt.compute.models import VirtualMachineSizeTypes

OPEN = {VirtualMachineSizeTypes}
"""Enumerations to which Azure adds without telling its SDK."""


def wrong(model: type, value: Any, where: str = "body") -> Iterator[str]:
    """Yield what of a JSON value does not fit a model."""
    if not isinstance(value, dict):
        yield f"{where} is no object"
        return
    fields = fields_of(model)
    for name, each in value.items():
        if name not in fields:
            yield f"{where}.{name} is unknown to {model.__name__}"
        else:
            yield from _wrong(fields[name], each, f"{where}.{name}")


@functools.cache
def fields_of(model: type) -> dict[str, Any]:
    """Return the type of each field under its name in JSON."""
    model({})  # only now does the SDK collect the fields
    found: dict[str, Any] = {}
    module = sys.modules[model.__module__]
    package = sys.modules[module.__name__.rpartition(".")[0]]
    for base in reversed([each for each in model.__mro__ if is_model(each)]):
        hints = typing.get_type_hints(base, vars(module), {"_models": package})
        for attribute, field in getattr(model, "_attr_to_rest_field", {}).items():
            if attribute in hints:
                found[field._rest_name] = hints[attribute]
    return found


def is_model(kind: Any) -> bool:
    return (
        inspect.isclass(kind)
        and any(base.__name__ == "Model" for base in kind.__mro__)
        and ".models." in kind.__module__
    )


def is_enumeration(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, enum.Enum)


def _wrong(kind: Any, value: Any, where: str) -> Iterator[str]:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, UnionType) and any(map(is_enumeration, inner)):
        known = [member.value for each in inner if is_enumeration(each) for member in each]
        yield from () if value in known or OPEN & set(inner) else (f"{where}={value!r} is none of {known}",)
    elif origin in (typing.Union, UnionType):
        complaints = [list(_wrong(each, value, where)) for each in inner if each is not type(None)]
        if all(complaints):
            yield from min(complaints, key=len)
    elif origin is list:
        if not isinstance(value, list):
            yield f"{where} is no list"
        else:
            for number, each in enumerate(value):
                yield from _wrong(inner[0], each, f"{where}[{number}]")
    elif origin is dict:
        yield from () if isinstance(value, dict) else (f"{where} is no object",)
    elif is_model(kind):
        yield from wrong(kind, value, where)
    elif kind in (str, int, float, bool):
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        yield from () if fits else (f"{where}={value!r} is no {kind.__name__}",)

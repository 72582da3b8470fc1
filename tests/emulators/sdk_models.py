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
    for name, item in value.items():
        if name not in fields:
            yield f"{where}.{name} is unknown to {model.__name__}"
        else:
            yield from _wrong(fields[name], item, f"{where}.{name}")


@functools.cache
def fields_of(model: type) -> dict[str, Any]:
    """Return the type of each field under its name in JSON."""
    model({})  # only now does the SDK collect the fields
    types: dict[str, Any] = {}
    module = sys.modules[model.__module__]
    package = sys.modules[module.__name__.rpartition(".")[0]]
    for base in reversed([ancestor for ancestor in model.__mro__ if is_model(ancestor)]):
        hints = typing.get_type_hints(base, vars(module), {"_models": package})
        for attribute, field in getattr(model, "_attr_to_rest_field", {}).items():
            if attribute in hints:
                types[field._rest_name] = hints[attribute]
    return types


def is_model(hint: Any) -> bool:
    return (
        inspect.isclass(hint)
        and any(base.__name__ == "Model" for base in hint.__mro__)
        and ".models." in hint.__module__
    )


def is_enumeration(hint: Any) -> bool:
    return inspect.isclass(hint) and issubclass(hint, enum.Enum)


def _wrong(hint: Any, value: Any, where: str) -> Iterator[str]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType) and any(map(is_enumeration, inner)):
        values = [member.value for enumeration in inner if is_enumeration(enumeration) for member in enumeration]
        yield from () if value in values or OPEN & set(inner) else (f"{where}={value!r} is none of {values}",)
    elif origin in (typing.Union, UnionType):
        complaints = [list(_wrong(option, value, where)) for option in inner if option is not type(None)]
        if all(complaints):
            yield from min(complaints, key=len)
    elif origin is list:
        if not isinstance(value, list):
            yield f"{where} is no list"
        else:
            for number, item in enumerate(value):
                yield from _wrong(inner[0], item, f"{where}[{number}]")
    elif origin is dict:
        yield from () if isinstance(value, dict) else (f"{where} is no object",)
    elif is_model(hint):
        yield from wrong(hint, value, where)
    elif hint in (str, int, float, bool):
        fits = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
        yield from () if fits else (f"{where}={value!r} is no {hint.__name__}",)

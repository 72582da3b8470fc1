"""An SDK's own models as judges: whether a body has only fields that Azure knows, of the right types.

A request may not set fields that the models mark as read, which only Azure sets.
"""

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
"""Enumerations to which Azure adds values that its SDK lacks."""


def wrong(model: type, value: Any, where: str = "body", *, asking: bool = True) -> Iterator[str]:
    """Yield the parts of a JSON value, in a request if `asking`, that do not fit a model."""
    if not isinstance(value, dict):
        yield f"{where} is no object"
        return
    fields = fields_of(model)
    for name, item in value.items():
        if name not in fields:
            yield f"{where}.{name} is unknown to {model.__name__}"
        elif asking and name in read_only(model):
            yield f"{where}.{name} is output only"
        else:
            yield from _wrong(fields[name], item, f"{where}.{name}", asking=asking)


@functools.cache
def read_only(model: type) -> frozenset[str]:
    """Return the names, in JSON, of the fields that a request may not set."""
    fields_of(model)
    fields = getattr(model, "_attr_to_rest_field", {}).values()
    return frozenset(str(field._rest_name) for field in fields if field._visibility == ["read"])


@functools.cache
def fields_of(model: type) -> dict[str, Any]:
    """Return the type of each field under its name in JSON."""
    model({})  # the SDK collects the fields only now
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


def _wrong(hint: Any, value: Any, where: str, *, asking: bool) -> Iterator[str]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType) and any(map(is_enumeration, inner)):
        values = [member.value for enumeration in inner if is_enumeration(enumeration) for member in enumeration]
        yield from () if value in values or OPEN & set(inner) else (f"{where}={value!r} is none of {values}",)
    elif origin in (typing.Union, UnionType):
        complaints = [list(_wrong(option, value, where, asking=asking)) for option in inner if option is not type(None)]
        if all(complaints):
            yield from min(complaints, key=len)
    elif origin is list:
        if not isinstance(value, list):
            yield f"{where} is no list"
        else:
            for number, item in enumerate(value):
                yield from _wrong(inner[0], item, f"{where}[{number}]", asking=asking)
    elif origin is dict:
        yield from () if isinstance(value, dict) else (f"{where} is no object",)
    elif is_model(hint):
        yield from wrong(hint, value, where, asking=asking)
    elif hint in (str, int, float, bool):
        fits = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
        yield from () if fits else (f"{where}={value!r} is no {hint.__name__}",)

"""The arguments of `recommend` and `what_if` as fields of a `Request`: the options of `plan`, as Python says them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from inspect import Parameter, Signature, signature
from typing import Any, Final

from planner.errors import BadInputError, nearest
from planner.schemas.asked import Asked, in_seconds, the_size
from planner.schemas.asked_prices import capacities, clouds, discounts, names, own_prices
from planner.schemas.plan import Request
from planner.units import parse_rate, parse_share


def request_fields(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `Request` that arguments set, data and model among them.

    Raises BadInputError for an unknown name, a field set twice, and what cannot be understood.
    """
    given: dict[str, Any] = {}
    rest = dict(asked)
    if "data" in rest or "most_data" in rest:
        most = rest.get("most_data", False)
        given |= {"data_bytes": the_size(rest.pop("data", None), most_data=most), "most_data": most}
        rest.pop("most_data", None)
    for name, amount in rest.items():
        _set(given, name, amount)
    return given


def _set(given: dict[str, Any], name: str, amount: Any) -> None:
    if name != "model" and name not in Asked.__annotations__:
        raise BadInputError(f"{name}: no such argument.{nearest(name, ['data', 'model', *Asked.__annotations__])}")
    field, convert = _CONVERTED.get(name, (name, _as_it_is))
    if field in _ADDED:
        given[field] = (*given.get(field, ()), *convert(amount))
    elif field in given:
        raise BadInputError(f"{name}: another argument says the same ({field}): give one of them")
    else:
        given[field] = convert(amount)


def _as_it_is(amount: Any) -> Any:
    return amount


def _several(amount: str | Sequence[str] | None) -> tuple[str, ...]:
    return tuple(names([amount])) if isinstance(amount, str) else tuple(amount or ())


def _pairs(amount: Mapping[str, Any] | str | Sequence[str] | None) -> dict[str, Any]:
    """Return `{"network": "1.5"}` for a mapping, or for a text such as `network=1.5`."""
    if isinstance(amount, Mapping):
        return dict(amount)
    pairs = [item.partition("=") for item in _several(amount)]
    if bad := [name for name, equals, _ in pairs if not equals]:
        raise BadInputError(f"{bad[0]}: write it as a mapping, or as NAME=AMOUNT")
    return {name: value for name, _, value in pairs}


def _texts(amount: Any) -> list[str]:
    """Return what the command line would be given: `TYPE=AMOUNT` for each item of a mapping."""
    if isinstance(amount, Mapping):
        return [f"{name}={value}" for name, value in amount.items()]
    return list(_several(str(amount) if isinstance(amount, float | int) else amount))


def rate(amount: Any) -> float:
    """Return bytes per second, or a plain number. Raises BadInputError for a text that is neither."""
    try:
        return float(amount)
    except ValueError:
        return parse_rate(amount)


def _assumed(amount: Any) -> dict[str, float]:
    return {name: rate(value) for name, value in _pairs(amount).items()}


def _share(amount: str | float | None) -> float | None:
    return parse_share(amount) if isinstance(amount, str) else amount


def _rate_or_none(amount: Any) -> float | None:
    return None if amount is None else rate(amount)


def columns(amount: Mapping[str, str] | str | None) -> dict[str, str]:
    """Return the further columns of a profile's runs: `{"io": "s3"}` or `io=s3`."""
    return {name: str(value) for name, value in _pairs(amount).items()}


_CONVERTED: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    **dict.fromkeys(("cloud", "catalog", "catalogs"), ("catalogs", lambda amount: clouds(_several(amount)))),
    **dict.fromkeys(("region", "regions"), ("regions", _several)),
    **dict.fromkeys(("instance", "instances"), ("instances", _several)),
    "exclude": ("exclude", _several),
    "deadline": ("deadline_s", in_seconds),
    "sort_deadline": ("sort_deadline_s", in_seconds),
    "confidence": ("confidence", _share),
    "head_room": ("head_room", _share),
    "budget": ("budget_usd", _as_it_is),
    "interruptions": ("interruptions_per_node_hour", _as_it_is),
    "compute": ("compute_bytes_per_s_per_vcpu", _rate_or_none),
    "assume": ("assume", _assumed),
    **dict.fromkeys(("what_if", "scale"), ("scale", _assumed)),
    "discount": ("own_prices", lambda amount: discounts(_texts(amount))),
    "own_price": ("own_prices", lambda amount: own_prices(_texts(amount))),
    "own_prices": ("own_prices", tuple),
    "capacity": ("node_limits", lambda amount: capacities(_texts(amount))),
    "node_limits": ("node_limits", tuple),
}
"""The field that an argument sets, where its name or its form differ."""

_ADDED: Final = frozenset({"own_prices", "node_limits"})
"""Fields to which several arguments add."""


def with_all_arguments(function: Callable[..., Any]) -> Signature:
    """Return the signature of `recommend` with every argument of `Asked`, for help and completion in notebooks."""
    plain, defaults = signature(function), {field.name: field.default for field in fields(Request)}
    defaults |= dict.fromkeys(("assume", "what_if", "scale"))  # what is collected in a mapping begins empty
    first, *rest = [p for p in plain.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    arguments = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=hint.__forward_arg__)
        for name, hint in Asked.__annotations__.items()
    ]
    return Signature([first, *rest[:1], *arguments, *rest[1:]], return_annotation=plain.return_annotation)

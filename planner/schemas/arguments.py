"""The arguments of `recommend` and `what_if` as fields of a `Request`: the options of `plan`, as Python says them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from inspect import Parameter, Signature, signature
from typing import Any, Final, get_args

from planner.errors import BadInputError, nearest
from planner.schemas.asked import Asked, in_rate, in_seconds, in_share, is_plain, the_size
from planner.schemas.asked_prices import capacities, clouds, discounts, names, own_prices
from planner.schemas.plan import Objective, Request
from planner.units import parse_count, parse_number


def request_fields(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `Request` that arguments set, data and model among them: texts as on the command line, or
    Python's numbers, mappings and sequences.

    Raises BadInputError for an unknown name, a field set twice, and what cannot be understood.
    """
    given: dict[str, Any] = {}
    rest = dict(asked)
    if "data" in rest or "most_data" in rest:
        most = rest.get("most_data", False)
        given |= {"data_bytes": the_size(rest.pop("data", None), most_data=most), "most_data": most}
        rest.pop("most_data", None)
    if rest.get("cloud") and rest.get("catalog"):
        raise BadInputError("--cloud and --catalog contradict each other: both say where to look, give one")
    for name in sorted(rest, key=lambda name: name == "discount"):  # a price of a type is narrower than a discount
        _set(given, name, rest[name])
    return given


def _set(given: dict[str, Any], name: str, amount: Any) -> None:
    if name != "model" and name not in Asked.__annotations__:
        near = nearest(name, ["data", "model", *Asked.__annotations__])
        raise BadInputError(f"{name}: no such argument.{_MEANT.get(name, near)}")
    field, convert = _CONVERTED.get(name, (name, _as_it_is))
    if field in _ADDED:
        given[field] = (*given.get(field, ()), *convert(amount))
    elif field in given:
        raise BadInputError(f"{name}: another argument says the same ({field}): give one of them")
    else:
        is_cleared = amount is None and getattr(Request, field, "collected") is None
        given[field] = None if is_cleared else convert(amount)


_MEANT: Final = dict.fromkeys(("spot", "preemptible"), " Did you mean pricing='spot'?")
"""What is said for names that are no arguments, where the names spelled alike mislead."""


def _as_it_is(amount: Any) -> Any:
    return amount


def _several(amount: str | Sequence[str] | None) -> tuple[str, ...]:
    return tuple(names([amount] if isinstance(amount, str) else list(amount or ())))


def _pairs(option: str, amount: Mapping[str, Any] | str | Sequence[str] | None, *, example: str) -> dict[str, Any]:
    """Return `{"network": "1.5"}` for a mapping, or for texts such as `network=1.5`."""
    if isinstance(amount, Mapping):
        return dict(amount)
    pairs: dict[str, Any] = {}
    for item in _several(amount):
        name, equals, value = item.partition("=")
        if not equals:
            raise BadInputError(f"{option} {item}: write it as {example}")
        if name in pairs:
            raise BadInputError(f"{option} {name} is given twice")
        pairs[name] = value
    return pairs


def _texts(amount: Any) -> list[str]:
    """Return what the command line would be given: `TYPE=AMOUNT` for each item of a mapping."""
    if isinstance(amount, Mapping):
        return [f"{name}={value}" for name, value in amount.items()]
    return list(_several(str(amount) if isinstance(amount, float | int) else amount))


def _assumed(amount: Any) -> dict[str, float]:
    pairs = _pairs("--assume", amount, example="NAME=RATE, for example network=800MB/s")
    return {name: _plain_number(name, value) if is_plain(name) else in_rate(value) for name, value in pairs.items()}


def _plain_number(name: str, amount: str | float) -> float:
    try:
        value = float(str(amount).removeprefix("$"))
    except ValueError:
        unit = "US dollars per node-hour, or of watts"
        raise BadInputError(f"--assume {name}={amount}: not a number of {unit}") from None
    if not 1e-4 <= value < 1e6:
        raise BadInputError(f"--assume {name}={amount}: must be positive, from 0.0001 to below a million")
    return value


def _factors(amount: Any) -> dict[str, float]:
    pairs = _pairs("--what-if", amount, example="NAME=FACTOR, for example network=1.5")
    return {name: _factor(name, value) for name, value in pairs.items()}


def _factor(name: str, amount: str | float) -> float:
    try:
        return in_share(re.sub(r"(?<=\d)\s*x$", "", amount.strip()) if isinstance(amount, str) else amount)
    except BadInputError:
        raise BadInputError(f"--what-if {name}={amount}: write it as {name}=2, 2x or 200%") from None


def _count(option: str, *, most: int = 100_000) -> Callable[[Any], int]:
    def convert(amount: str | float) -> int:
        count = parse_count(str(amount))
        if not 1 <= count <= most:
            raise BadInputError(f"{option} {amount}: must lie between 1 and {most}")
        return count

    return convert


def _budget(amount: str | float) -> float:
    try:
        usd = parse_number(re.sub(r"\s*(USD|\$)$", "", str(amount), flags=re.IGNORECASE).removeprefix("$"))
    except BadInputError as error:
        raise BadInputError(f"--budget: {error.message}") from None
    if not 0 < usd < 1e12:
        raise BadInputError(f"--budget {amount}: must be a positive amount of US dollars")
    return usd


def _objective(word: str) -> str:
    objectives = get_args(Objective)
    if word not in objectives:
        raise BadInputError(f"--objective {word}: use one of {', '.join(objectives)}.{nearest(word, objectives)}")
    return word


def columns(amount: Mapping[str, str] | str | Sequence[str] | None) -> dict[str, str]:
    """Return the further columns of a profile's runs: `{"io": "s3"}` or `io=s3`. Raises BadInputError for no pair."""
    pairs = _pairs("--option", amount, example="NAME=VALUE, for example io=s3")
    return {name: str(value) for name, value in pairs.items()}


def require_no_columns(option: object) -> None:
    """Raise BadInputError for columns of a profile's runs where no profile is named."""
    if option:
        raise BadInputError("--option is of a profile's runs: name the profile, too, with --profile")


_CONVERTED: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    **dict.fromkeys(("cloud", "catalog", "catalogs"), ("catalogs", lambda amount: clouds(_several(amount)))),
    **dict.fromkeys(("region", "regions"), ("regions", _several)),
    **dict.fromkeys(("instance", "instances"), ("instances", _several)),
    "exclude": ("exclude", _several),
    "nodes": ("nodes", _count("--nodes")),
    "max_nodes": ("max_nodes", _count("--max-nodes")),
    "max_vcpus": ("max_vcpus", _count("--max-vcpus", most=10**9)),
    "zones": ("zones", _count("--zones")),
    "top": ("top", _count("--top")),
    "deadline": ("deadline_s", in_seconds),
    "sort_deadline": ("sort_deadline_s", in_seconds),
    "confidence": ("confidence", in_share),
    "head_room": ("head_room", in_share),
    "map_ratio": ("map_ratio", in_share),
    "reduce_ratio": ("reduce_ratio", in_share),
    **dict.fromkeys(("budget", "budget_usd"), ("budget_usd", _budget)),
    "objective": ("objective", _objective),
    "interruptions": ("interruptions_per_node_hour", in_share),
    "compute": ("compute_bytes_per_s_per_vcpu", in_rate),
    "assume": ("assume", _assumed),
    **dict.fromkeys(("what_if", "scale"), ("scale", _factors)),
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

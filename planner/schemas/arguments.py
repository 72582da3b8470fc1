"""Arguments of `recommend` and `what_if` as fields of a `Request`: the options of `plan` in Python's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, Final, get_type_hints

from planner.errors import BadInputError
from planner.schemas.door import Argument, spelled
from planner.schemas.request import Request, default_of, options
from planner.schemas.request_forms import Form, pairs
from planner.schemas.wrong_words import argument_meant

COLLECTED: Final = {"own_prices": Form("Sequence[OwnPrice]"), "node_limits": Form("Sequence[NodeLimit]")}
"""Fields to which several arguments add, with their own forms."""


@cache
def arguments() -> dict[str, tuple[str, Form]]:
    """Return the field that each argument sets, with its form: options by their names, then fields by theirs."""
    by_option = {name: (item.name, option.form) for name, (item, option) in options().items()}
    own = {field: (field, COLLECTED.get(field, form)) for field, form in by_option.values() if field != "data_bytes"}
    return own | by_option


def request_fields(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `Request` that arguments set, including data and model: texts as on the command line, or
    Python's numbers, mappings and sequences.

    Raises BadInputError for an unknown name, a field set twice, and an invalid value.
    """
    for name in asked:
        if name not in arguments():
            text = f"no such argument.{argument_meant(name, list(arguments()))}"
            raise BadInputError(text, field=name, code="unknown-argument")
    given: dict[str, Any] = {}
    rest = dict(asked)
    if rest.get("most_data") and rest.get("data") is None:
        given["data_bytes"] = 1  # placeholder
        rest.pop("data", None)
    elif "data" in rest or "most_data" in rest:
        _require_data(rest.get("data"), most_data=rest.get("most_data", False))
    if rest.get("cloud") and rest.get("catalog"):
        raise BadInputError(
            "--cloud and --catalog contradict each other: both say where to look, give one", code="contradiction"
        )
    _require_together(rest)
    for name in sorted(rest, key=lambda name: name == "discount"):  # a type's own price is narrower than a discount
        _set(given, name, rest[name])
    return given


def _require_together(asked: Mapping[str, Any]) -> None:
    """Raise BadInputError for an option that another one excludes."""
    for name, value in asked.items():
        item, option = options().get(name, (None, None))
        if not (item and option and option.without) or value in (None, (), [], {}) or value == default_of(item):
            continue
        other, _, only = option.without.partition("=")
        given = asked.get(other)
        if given and (not only or _texts(given) == [only]):
            text = f"`{name}` does not go with `{option.without}`: leave out one of them"
            raise BadInputError(text, field=name, code="contradiction")


def _texts(value: Any) -> list[str]:
    """Return a value as texts: the names of a list, or of a text with commas."""
    return [text for each in (value if isinstance(value, list | tuple) else [value]) for text in str(each).split(",")]


def _require_data(data: str | float | None, *, most_data: bool) -> None:
    if data is None:
        raise BadInputError(
            "say how much to sort: --data 100TB; or ask `planner most-data` how much can be", code="missing-argument"
        )
    if isinstance(data, str) and data.endswith((".toml", ".json")):
        hints = [f"`plan {data}` plans a request or a kept plan", "in Python: recommend(**planner.read_request(FILE))"]
        raise BadInputError(f"--data {data}: a file, and no size", hints, code="not-an-amount")
    if most_data:
        raise BadInputError("--data and --most-data contradict each other: give one", code="contradiction")


def _set(given: dict[str, Any], name: str, amount: Any) -> None:
    field, form = arguments()[name]
    if field in COLLECTED:
        given[field] = (*given.get(field, ()), *form.read(amount, option_of(name)))
    elif field in given:
        raise BadInputError(
            f"another argument says the same ({field}): give one of them", field=name, code="contradiction"
        )
    else:
        is_cleared = amount is None and getattr(Request, field, "collected") is None
        given[field] = None if is_cleared else form.read(amount, option_of(name))


def option_of(argument: str) -> str:
    """Return an argument's option."""
    return f"--{argument.replace('_', '-')}"


def words_of(argument: str, value: str = "") -> tuple[str, ...]:
    """Return the words of the command line for an argument: its option and the value, or a setting of `--set`."""
    if options()[argument][1].place.startswith("Settings"):
        name = argument.replace("_", "-")
        return "--set", f"{name}={value}" if value else name
    return (option_of(argument), value) if value else (option_of(argument),)


def columns(amount: Mapping[str, str] | str | Sequence[str] | None) -> dict[str, str]:
    """Return the further columns of a profile's runs: `{"io": "s3"}` or `io=s3`. Raises BadInputError where a text is
    not such a pair.
    """
    by_name = pairs("--option", amount, example="NAME=VALUE, for example io=s3")
    return {name: str(value) for name, value in by_name.items()}


def require_no_columns(option: object) -> None:
    """Raise BadInputError for columns of a profile's runs if no profile is named."""
    if option:
        raise BadInputError(
            "--option is of a profile's runs: name the profile, too, with --profile", code="missing-companion"
        )


def with_all_arguments(function: Callable[..., Any]) -> Signature:
    """Return the signature of `recommend` with every argument, for help and completion in notebooks."""
    plain = signature(function)
    named = {name: p for name, p in plain.parameters.items() if p.kind is not Parameter.VAR_KEYWORD}
    defaults = {item.name: None if item.type.startswith("dict") else default_of(item) for item in fields(Request)}
    further = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=python_type(name))
        for name in arguments()
        if name not in named
    ]
    return plain.replace(parameters=[*named.values(), *further])


def with_typed_arguments(function: Callable[..., Any], typed: type, *declared: type[Any]) -> Signature:
    """Return the signature of a function whose further arguments are those of a TypedDict, with the defaults of the
    dataclasses that declare them.
    """
    plain = signature(function)
    named = {name: p for name, p in plain.parameters.items() if p.kind is not Parameter.VAR_KEYWORD}
    defaults = {item.name: item.default for part in declared for item in fields(part) if item.default is not MISSING}
    further = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=annotation)
        for name, annotation in get_type_hints(typed).items()
        if name not in named
    ]
    return plain.replace(parameters=[*named.values(), *further])


def as_arguments(text: str) -> str:
    """Return a text on a request with Python's arguments for options: `` `deadline='20m'` `` for --deadline 20m."""
    return spelled(text, {name: Argument(form.option_type, None, None, ()) for name, (_, form) in arguments().items()})


def python_type(argument: str) -> str:
    """Return an argument's type as Python source."""
    field, form = arguments()[argument]
    return f"{form.in_python} | None" if getattr(Request, field, ()) is None else form.in_python

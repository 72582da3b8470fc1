"""Fast conversion of options: texts, file names and words of a choice stay as given, numbers are read as people write
them.

Typer converts every value, even text, with pydantic, which takes a tenth of a second to load. It has no public way
around that: an option's own parser goes through pydantic as well. So this replaces the object that typer asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

from planner.api.files import output_file
from planner.errors import BadInputError, nearest
from planner.units import parse_count, parse_number

_Amount = TypeVar("_Amount")
_NUMBERS: Final[dict[Any, Callable[[str], float]]] = {int: parse_count, float: parse_number}
"""Parsers of the numbers that options take, as people write them: `10,000`, `1e6`."""

_NO_LISTS: Final = ("--key", "--only", "--column", "--more-output", "--temp-dir", "--input", "--node", "--ran-on")
"""Repeatable options in whose values a comma is no separator."""
LARGEST_NUMBER: Final = 2**63 - 1
"""Largest number accepted: no option needs more, and the sort core takes no more."""


class UnconvertedValues:
    """Base class of commands that takes missing options, texts and defaults without conversion."""

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the command."""
        for parameter in self.get_params(ctx):
            if hasattr(parameter, "get_runtime_param"):
                parameter.get_runtime_param = partial(_Quick, parameter)
        return super().parse_args(ctx, args)  # type: ignore[no-any-return,misc]

    def make_parser(self: Any, ctx: Any) -> Any:
        """Return typer's parser, which takes the last of several values, with a check that an option has only one."""
        parser = super().make_parser(ctx)  # type: ignore[misc]
        for option in {*parser._long_opt.values(), *parser._short_opt.values()}:
            if option.action == "store" and not ctx.resilient_parsing:
                option.process = partial(_store_once, option, option.process)
        return parser


def _store_once(option: Any, store: Callable[[Any, Any], None], value: Any, state: Any) -> None:
    """Store an option's value. Raises BadInputError if the option was given before, with another value."""
    former = state.opts.get(option.dest, value)
    if former != value:
        name = max(option.obj.opts, key=len)
        raise BadInputError(
            f"{name} is given twice, as {former} and as {value}: leave out one of them", code="repeated"
        )
    store(value, state)


@dataclass(frozen=True)
class _Quick:
    """Replacement for the converter that typer asks."""

    parameter: Any

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        _require_valid(value, param)
        wanted = param.type_descriptor.annotation
        is_text = isinstance(value, str) and wanted in _NUMBERS
        if is_text:
            value = _number(value, wanted, option=max(param.opts, key=len))
        if is_text and param.type_descriptor.is_ranged:
            _require_in_range(self.parameter, value)
        if _is_already(wanted, value):
            return value
        if get_origin(wanted) is Literal and isinstance(value, str):
            words = get_args(wanted)
            name = max(param.opts, key=len)
            raise BadInputError(
                f"{name} {value}: use one of {', '.join(words)}.{nearest(value, words)}", code="unknown-word"
            )
        if wanted is Path and not param.type_descriptor.parameter_info.dir_okay:
            output_file(value, example="NAME")
        if wanted is Path and _may_name(value):
            return Path(value)
        if wanted == list[Path] and isinstance(value, list | tuple) and all(map(_may_name, value)):
            return [Path(name) for name in value]
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)


def amount(option: str, read: Callable[[str], _Amount], text: str) -> _Amount:
    """Return the amount in an option's text. Raises BadInputError, with the option's name, if `read` does."""
    try:
        return read(text)
    except BadInputError as error:
        raise error.reworded(f"{option}: {error.message}") from None


def _require_valid(value: Any, param: Any) -> None:
    """Raise BadInputError for an empty value, as of an unset shell variable, or for invalid text."""
    name = max(param.opts, key=len) if param.param_type_name == "option" else param.name.upper()
    for text in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(text, str):
            continue
        if not (text if name == "--separator" else text.strip()):  # a blank may separate fields
            raise BadInputError(
                f"{name} is empty: give it a value, or leave it out (is a shell variable not set?)", code="empty"
            )
        if "\0" in text:
            raise BadInputError(f"{name} holds a NUL byte, which no value can have; leave it out", code="nul-byte")
        if getattr(param, "multiple", False) and name not in _NO_LISTS and not all(map(str.strip, text.split(","))):
            raise BadInputError(f"{name} {text}: an empty part in this list; leave out the comma", code="empty")


def _number(text: str, wanted: Any, *, option: str) -> float:
    number = amount(option, _NUMBERS[wanted], text.removeprefix("$") if "cost" in option else text)
    if abs(number) > LARGEST_NUMBER:
        raise BadInputError(f"{option} {text[:20]}: too large a number; at most 2^63 - 1", code="out-of-range")
    return number


def _require_in_range(parameter: Any, value: float) -> None:
    about, name = parameter.type_descriptor.parameter_info, max(parameter.opts, key=len)
    if about.min is not None and value < about.min:
        raise BadInputError(f"{name} {value:g}: too small; at least {about.min:g}", code="out-of-range")
    if about.max is not None and value > about.max:
        raise BadInputError(f"{name} {value:g}: too large; at most {about.max:g}", code="out-of-range")


def _may_name(value: Any) -> bool:
    """Return whether a text names a missing or a readable file; typer refuses others, with the reason."""
    return isinstance(value, str) and (os.access(value, os.R_OK) or not os.path.lexists(value))


def _is_already(wanted: Any, value: Any) -> bool:
    if get_origin(wanted) is Literal:
        return isinstance(value, str) and value in get_args(wanted)
    if wanted == list[str]:
        return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return wanted in (str, int, float) and type(value) is wanted

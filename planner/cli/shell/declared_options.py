"""Options of a command, from what functions of the library declare of their arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, Signature
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Final, get_args, get_origin

from typer import Option

from planner.cli.shell import completion
from planner.cli.shell.option_values import LARGEST_NUMBER
from planner.errors import BadInputError
from planner.schemas.door import Argument, Between, accepted, arguments_of, option_of, require_together
from planner.units import format_exact_size, parse_seconds, parse_size

_UNITS: Final[Mapping[str, tuple[Callable[[str], float], Callable[[Any], str]]]] = {
    "bytes": (parse_size, format_exact_size),
    "s": (parse_seconds, "{:g}s".format),
    "large": (int, str),
}
"""How amounts are read and shown."""


class DeclaredOptions(dict[str, Any]):
    """Arguments as options gave them. A subclass names the functions, or classes, that declare them, those that it
    `needs`, and the `only` ones that it takes, or those that it is `without`; of arguments with the same name the first
    counts.
    """

    __signature__: ClassVar[Signature]
    declared: ClassVar[Mapping[str, Argument]]

    def __init_subclass__(
        cls,
        of: Sequence[Callable[..., Any]],
        needs: Collection[str] = (),
        only: Collection[str] = (),
        without: Collection[str] = (),
    ) -> None:
        cls.declared = {name: each for function in reversed(of) for name, each in arguments_of(function).items()}
        found = signature_of(*of, needs=needs)
        taken = set(only or found.parameters).difference(without)
        cls.__signature__ = Signature([option for name, option in found.parameters.items() if name in taken])

    def __init__(self, **typed: Any) -> None:
        read = {name: _read(name, self.declared[name], value) for name, value in typed.items()}
        super().__init__({name: value for name, value in read.items() if value is not None})
        require_together(self.declared, self)

    def __missing__(self, name: str) -> None:
        """Return None for an argument that was not given."""
        assert name in self.declared, name

    @property
    def given(self) -> list[str]:
        """The arguments that differ from their defaults."""
        return [name for name, value in self.items() if self.declared[name].is_given(value)]

    def of(self, function: Callable[..., Any]) -> dict[str, Any]:
        """Return those that are arguments of a function."""
        taken = arguments_of(function)
        return {name: value for name, value in self.items() if name in taken}

    def require_taken_by(self, function: Callable[..., Any], reason: str) -> None:
        """Raise BadInputError, with the reason, for a given option that is no argument of a function."""
        for name in self.given:
            if name not in arguments_of(function):
                raise BadInputError(f"{reason}: leave out `{name}`", field=name, code="contradiction")


def signature_of(*functions: Callable[..., Any], needs: Collection[str] = ()) -> Signature:
    """Return the signature of a command with an option for each argument of functions that has a sentence."""
    found: dict[str, Parameter] = {}
    for function in functions:
        for name, argument in arguments_of(function).items():
            if argument.help and name not in found:
                found[name] = _parameter(name, argument, is_needed=name in needs)
    return Signature(list(found.values()))


def _parameter(name: str, argument: Argument, *, is_needed: bool) -> Parameter:
    taken, default = _taken(argument), argument.default
    if default in (Parameter.empty, ()) or (argument.help and argument.help.default):
        default = None
    elif (unit := _unit(argument)) and default is not None:
        default = _UNITS[unit][1](default)
    annotation: Any = Annotated[taken if is_needed or default is not None else taken | None, option(name, argument)]
    kind = Parameter.KEYWORD_ONLY
    return Parameter(name, kind, default=Parameter.empty if is_needed else default, annotation=annotation)


def option(name: str, argument: Argument) -> Any:
    """Return the option of an argument in typer's form."""
    about, bounds, names = argument.help, _bounds(argument), option_of(name, argument)
    assert about is not None
    is_open = bool in accepted(argument.hint) and argument.default is None and about.takes is None
    least, most = (bounds.least, bounds.most) if bounds and not _unit(argument) else (None, None)
    return Option(
        f"{names}/{names.replace('--no-', '--')}" if is_open else names,
        help=about.text,
        min=least,
        max=None if most is None or most > LARGEST_NUMBER else most,
        show_default=about.default or not is_open,
        autocompletion=getattr(completion, about.complete) if about.complete else None,
    )


def _taken(argument: Argument) -> Any:
    """Return the type that typer has to know."""
    if argument.help and argument.help.takes:
        return argument.help.takes
    kinds = [kind for kind in accepted(argument.hint) if kind is not NoneType]
    if lists := [kind for kind in kinds if get_origin(kind) is Sequence]:
        return list[Path] if os.PathLike[str] in accepted(get_args(lists[0])[0]) else list[str]
    if _unit(argument) or str in kinds:
        return str
    return get_args(kinds[0])[0] if get_origin(kinds[0]) is Annotated else kinds[0]


def _bounds(argument: Argument) -> Between | None:
    marks = (mark for kind in accepted(argument.hint) if get_origin(kind) is Annotated for mark in get_args(kind))
    return next((mark for mark in marks if isinstance(mark, Between)), None)


def _unit(argument: Argument) -> str:
    """Return the unit of an amount that is typed as a text; `large` for numbers larger than those of other options."""
    bounds = _bounds(argument)
    if bounds is None:
        return ""
    return bounds.unit or ("large" if LARGEST_NUMBER < bounds.most < float("inf") else "")


def _read(name: str, argument: Argument, value: Any) -> Any:
    """Return an argument's value; amounts are read. Raises BadInputError."""
    if not (isinstance(value, str) and (unit := _unit(argument))):
        return value
    try:
        return _UNITS[unit][0](value)
    except BadInputError as error:
        raise BadInputError(f"`{name}`: {error.message}", error.details, field=name, code="wrong-type") from None
    except ValueError:
        raise BadInputError(f"`{name}={value}`: not a whole number", field=name, code="wrong-type") from None

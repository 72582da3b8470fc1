"""The door of the library: a public function checks its arguments against its own signature before it does anything.

The signature is the one declaration of an argument: its type, words as a `Literal`, bounds as `Annotated[int,
Between(1)]`, and default. `@checked` reads it on the first call.

>>> @checked
... def wait(*, mode: Literal["read", "write"] = "read", repeats: Count = 1) -> int:
...     return repeats
>>> wait(mode="reed")
Traceback (most recent call last):
    ...
planner.errors.BadInputError: mode: 'reed' is none of read, write. Did you mean read?
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from datetime import date
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from planner.errors import BadInputError, PlannerError, nearest

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Between:
    """Bounds of a number, both included unless it must be `above` the least or `below` the most."""

    least: float
    most: float = math.inf
    above: bool = False
    below: bool = False

    def holds(self, value: float) -> bool:
        """Return whether the value lies within the bounds; NaN never does."""
        is_end = (self.above and value == self.least) or (self.below and value == self.most)
        return self.least <= value <= self.most and not is_end

    def __str__(self) -> str:
        if not (self.above or self.below or math.isinf(self.most)):
            return f"from {self.least} to {self.most}"
        least = f"{'above' if self.above else 'of at least'} {self.least}"
        return least if math.isinf(self.most) else f"{least} and {'below' if self.below else 'at most'} {self.most}"


class Foreign:
    """A type of another package, which is imported for type checkers only: anything but a value of Python's own."""


Bytes = Annotated[int, Between(1)]
"""An amount of data or memory, in bytes."""
Count = Annotated[int, Between(1)]
Offset = Annotated[int, Between(0)]
Seconds = Annotated[float, Between(0, 1e9)]
Usd = Annotated[float, Between(0, 1e12)]

MEANT: Final = dict.fromkeys(("spot", "preemptible"), " Did you mean pricing='spot'?")
"""Hints for unknown names for which the nearest spelling misleads."""
UNIONS: Final = (Union, types.UnionType)
_NUMBERS: Final[dict[Any, tuple[str, str]]] = {int: ("a whole number", "__index__"), float: ("a number", "__float__")}
"""What each kind of number is called, and what tells it: numpy's numbers count, booleans don't."""

_PLAIN: Final = {
    str: "a text",
    bool: "True or False",
    types.NoneType: "None",
    date: "a date, written YYYY-MM-DD without quotes",
    Callable: "a function",
    Foreign: "an object of another package",
}


def checked(function: F) -> F:
    """Return a function, or a dataclass, that raises BadInputError for arguments which its signature does not allow.

    The error's `field` is the argument, its `code` one of `unknown-argument`, `missing-argument`, `wrong-type`,
    `unknown-word` and `out-of-range`. What the function itself raises names arguments as Python does: see `_spell`.
    """
    if is_dataclass(function):
        setattr(function, "__init__", checked(function.__init__))  # noqa: B010  # mypy allows no plain assignment
        return function

    @functools.wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        signature, hints = _declared(function)
        for name, value in _given(function, signature, positional, named).items():
            if name in hints and (found := problem(value, hints[name])):
                code, text = found
                raise BadInputError(text, field=name, code=code)
        try:
            return function(*positional, **named)
        except PlannerError as error:
            _spell(error, hints)
            raise

    return call  # type: ignore[return-value]


def argument_types(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the type of each argument of a public function."""
    return _declared(inspect.unwrap(function))[1]


_OPTION: Final = re.compile(r"--([a-z][a-z0-9-]*)(?:[ =]((?=\S*[0-9A-Z/*])[^\s,;()'\"`]*[^\s,;:.()'\"`]))?")
"""An option, with its value if that looks like one: `--data 100TB`, not the word after `--force`."""
_COMMAND: Final = re.compile(r"`[^`]*`|\bplan(?:ner)? [^;:.`]*")
"""What a shell runs: its options stay options."""


OTHERWISE: Final = {
    "directory": "dir",
    "directories": "dir",
    "machines": "own",
    "more_outputs": "more-output",
    "temp_dirs": "temp-dir",
    "file_bytes": "file-size",
}
"""Arguments whose options have another name."""


def _spell(error: PlannerError, hints: Mapping[str, Any]) -> None:
    """Let an error name a function's arguments as Python does: `` `no_header` `` for --no-header. Without a `field` the
    first of them in its first line is it.
    """
    arguments = {OTHERWISE.get(name, name.replace("_", "-")): name for name in hints}
    arguments = {re.sub("-(bytes|s|usd)$", "", option): name for option, name in arguments.items()} | arguments
    named: list[str] = []

    def argument(option: re.Match[str]) -> str:
        if option[1] not in arguments:
            return option[0]
        named.append(name := arguments[option[1]])
        value = "True" if hints[name] is bool else option[2]
        return f"`{name}={value}`" if value else f"`{name}`"

    def respelled(text: str) -> str:
        parts, end = [], 0
        for command in _COMMAND.finditer(text):
            parts += [_OPTION.sub(argument, text[end : command.start()]), command[0]]
            end = command.end()
        return "".join([*parts, _OPTION.sub(argument, text[end:])])

    error.message = respelled(error.message)
    if isinstance(error, BadInputError) and not error.field and named:
        error.field, error.code = named[0], "contradiction" if len(set(named)) > 1 else error.code
    error.details = tuple(map(respelled, error.details))


@functools.cache
def _declared(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    signature, names = inspect.signature(function), _Names(function.__globals__)
    stated = {
        name: p.annotation
        for name, p in signature.parameters.items()
        if p.annotation is not p.empty and p.kind is not p.VAR_KEYWORD
    }
    hints = {name: eval(text, {}, names) if isinstance(text, str) else text for name, text in stated.items()}
    return signature, hints


def _given(
    function: Callable[..., Any], signature: inspect.Signature, positional: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by name. Raises BadInputError for one that is unknown, missing or given twice.

    A function with `**further` arguments checks their names itself.
    """
    parameters = signature.parameters
    by_place = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    taken = dict(zip(by_place, positional, strict=False))
    takes_further = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in named:
        if name not in parameters and not takes_further:
            text = f"no such argument.{MEANT.get(name, nearest(name, list(parameters)))}"
            raise BadInputError(text, field=name, code="unknown-argument")
        if name in taken:
            raise BadInputError("given twice, by place and by name", field=name, code="unknown-argument")
    if len(positional) > len(by_place):
        text = f"give the arguments after {by_place[-1]} by name" if by_place else "give the arguments by name"
        raise BadInputError(text, field=(by_place or [""])[-1], code="unknown-argument")
    for name, p in parameters.items():
        if p.default is p.empty and p.kind is not p.VAR_KEYWORD and name not in taken | dict(named):
            raise BadInputError("is missing; say which", field=name, code="missing-argument")
    return taken | dict(named)


class _Names(dict[str, Any]):
    """The names that an annotation uses: the module's, then the public ones of `planner`; others are `Foreign`."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        self.module = module

    def __missing__(self, name: str) -> Any:
        planner = sys.modules["planner"]
        for found in (self.module.get(name), getattr(builtins, name, None)):
            if found is not None:
                return found
        return getattr(planner, name) if name in planner.__all__ else Foreign


def problem(value: Any, hint: Any) -> tuple[str, str] | None:
    """Return the code and the sentence for a value that its type does not allow."""
    accepted = list(_accepted(hint))
    if any(kind is Any for kind in accepted) or any(_fits(value, kind) for kind in accepted):
        return None
    words = [word for kind in accepted if get_origin(kind) is Literal for word in get_args(kind)]
    if isinstance(value, str) and words and not any(kind in (str, Sequence[str]) for kind in accepted):
        text = f"{value!r} is none of {', '.join(map(str, words))}.{nearest(value, [str(word) for word in words])}"
        return "unknown-word", text
    for kind in accepted:
        if get_origin(kind) is Annotated and _is_a(value, get_args(kind)[0]):
            return "out-of-range", f"{value!r} is not {_named(kind)}"
    return "wrong-type", f"expected {_named(hint)}, not {shown(value)}"


def _accepted(hint: Any) -> Iterator[Any]:
    """Yield the members of a union, at any depth."""
    if get_origin(hint) in UNIONS:
        for member in get_args(hint):
            yield from _accepted(member)
    elif hint is None:
        yield types.NoneType
    else:
        yield hint


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a value is of a type and within its bounds."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        bounds = [bound for bound in inner[1:] if isinstance(bound, Between)]
        return _fits(value, inner[0]) and all(bound.holds(value) for bound in bounds)
    if origin is Literal:
        return any(value == word and type(value) is type(word) for word in inner)
    if not _is_a(value, kind):
        return False
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return all(not problem(key, inner[0]) and not problem(each, inner[1]) for key, each in value.items())
    if origin is tuple and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(not problem(*pair) for pair in zip(value, inner, strict=True))
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return not any(problem(each, inner[0]) for each in value)
    return True


def _is_a(value: Any, kind: Any) -> bool:
    """Return whether a value is of a type, whatever it holds."""
    kind = get_origin(kind) or kind
    if kind is Any:
        return True
    if kind is Foreign:
        return type(value).__module__ != "builtins"
    if kind in _NUMBERS:
        return not isinstance(value, bool | str | bytes) and hasattr(value, _NUMBERS[kind][1]) and _is_one(value, kind)
    if isinstance(kind, type) and issubclass(kind, Sequence) and kind is not str:
        return isinstance(value, kind) and not isinstance(value, str | bytes)
    return isinstance(value, kind)


def _is_one(value: Any, kind: Any) -> bool:
    """Return whether a number is one, not NaN and not an array of several."""
    try:
        return not math.isnan(kind(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _named(kind: Any) -> str:
    """Return what an error calls a type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in UNIONS:
        return " or ".join(dict.fromkeys(_named(each) for each in _accepted(kind) if each is not types.NoneType))
    if origin is Annotated:
        return " ".join([_named(inner[0]), *(str(bound) for bound in inner[1:])])
    if origin is Literal:
        return ", ".join(map(repr, inner))
    if kind in _NUMBERS:
        return _NUMBERS[kind][0]
    kind = origin or kind
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a mapping"
    if isinstance(kind, type) and issubclass(kind, Sequence):
        return f"a list, each {_named(inner[0])}" if inner else "a list"
    if kind.__name__ == "PathLike":
        return "a path"
    return f"planner.{kind.__name__}" if kind.__module__.startswith("planner.") else kind.__name__


def shown(value: Any) -> str:
    """Return a value as an error quotes it."""
    text = repr(value)
    return text if len(text) <= 40 else f"{type(value).__name__} {text[:40]}..."

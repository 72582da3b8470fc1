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
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from planner.errors import BadInputError, PlannerError, nearest
from planner.schemas.wrong_words import argument_meant

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Between:
    """Bounds of a number, both included unless it must be `above` the least or `below` the most."""

    least: float
    most: float = math.inf
    above: bool = False
    below: bool = False
    unit: str = ""
    """`bytes` or `s` if it is an amount with a unit, which a command line takes as a text: 2GB, 10s."""

    def holds(self, value: float) -> bool:
        """Return whether the value lies within the bounds; NaN never does."""
        is_end = (self.above and value == self.least) or (self.below and value == self.most)
        return self.least <= value <= self.most and not is_end

    def __str__(self) -> str:
        if not (self.above or self.below or math.isinf(self.most)):
            return f"from {self.least} to {self.most}"
        least = f"{'above' if self.above else 'of at least'} {self.least}"
        return least if math.isinf(self.most) else f"{least} and {'below' if self.below else 'at most'} {self.most}"


@dataclass(frozen=True)
class Help:
    """The sentence on an argument that is an option, too; one without it is Python's alone.

    The option has the argument's name without its unit, or the name `option`. Where the command line takes another type
    it `takes` that, and help may print another `default`. `complete` names the source of its completion.
    """

    text: str
    option: str = ""
    takes: Any = None
    default: str = ""
    complete: str = ""


@dataclass(frozen=True, init=False)
class With:
    """The argument without which this one says nothing; `format=csv`: another value of it excludes this one."""

    others: tuple[str, ...]

    def __init__(self, *others: str) -> None:
        object.__setattr__(self, "others", others)

    def require(self, name: str, given: Mapping[str, Any]) -> None:
        """Raise BadInputError unless one of the others is given, or may be."""
        others = [other.partition("=")[::2] for other in self.others]
        if not any(given.get(other, word) == word if word else other in given for other, word in others):
            needed = " or ".join(f"`{other}`" for other in self.others)
            said = f"`{name}=False`" if given[name] is False else f"`{name}`"
            raise _contradiction(f"{said} applies only with {needed}: add that, or leave out {said}", name)


class Without(With):
    """Arguments, perhaps with a value, that exclude this one."""

    def require(self, name: str, given: Mapping[str, Any]) -> None:
        """Raise BadInputError if one of the others is given."""
        for other in self.others:
            excluding, _, word = other.partition("=")
            if excluding in given and word in ("", given[excluding]):
                raise _contradiction(f"`{name}` does not go with `{other}`: leave out one of them", name)


def _contradiction(text: str, name: str) -> BadInputError:
    return BadInputError(text, field=name, code="contradiction")


class Argument(NamedTuple):
    """An argument of a public function: its type, default, sentence, and what it goes with."""

    hint: Any
    default: Any
    help: Help | None
    rules: tuple[With, ...]

    def is_given(self, value: Any) -> bool:
        """Return whether a value is neither the default nor nothing; False counts where nothing is the default."""
        is_nothing = value is None or (value is False and self.default is not None) or value in ([], ())
        return not is_nothing and value != self.default


class Foreign:
    """A type of another package, which is imported for type checkers only: anything but a value of Python's own."""


Bytes = Annotated[int, Between(1, unit="bytes")]
"""An amount of data or memory."""
Count = Annotated[int, Between(1)]
Offset = Annotated[int, Between(0)]
Seconds = Annotated[float, Between(0, 1e9, unit="s")]
Usd = Annotated[float, Between(0, 1e12)]

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
    `unknown-word`, `out-of-range` and `contradiction`. What the function itself raises names arguments as Python does:
    see `_spell`.
    """
    if is_dataclass(function):
        setattr(function, "__init__", checked(function.__init__))  # noqa: B010  # mypy allows no plain assignment
        return function

    @functools.wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        signature, declared = _declared(function)
        values = _given(function, signature, positional, named)
        for name, value in values.items():
            if name in declared and (found := problem(value, declared[name].hint)):
                code, text = found
                raise BadInputError(text, field=name, code=code)
        require_together(declared, values)
        try:
            return function(*positional, **named)
        except PlannerError as error:
            _spell(error, declared)
            raise

    return call  # type: ignore[return-value]


def taking(declared: type) -> Callable[[F], F]:
    """Return a decorator that checks a function as `checked` does; its `**asked` are what a dataclass declares.

    Each argument is in the function's signature, and its sentence in the docstring.
    """

    def decorate(function: F) -> F:
        own, further = inspect.signature(function), _sentenced(declared)
        named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=source_of(each.hint)
            )
            for name, each in further.items()
        ]
        texts = {name: spelled(each.help.text, further) for name, each in further.items() if each.help}
        sentences = "".join(f"\n    * `{name}`: {text}" for name, text in texts.items())
        function.__doc__ = f"{function.__doc__}\n    Arguments:\n{sentences}\n    "
        vars(function).update(__declares__=declared, __signature__=own.replace(parameters=[*named, *more]))
        return checked(function)

    return decorate


def _sentenced(declared: type) -> dict[str, Argument]:
    return {name: argument for name, argument in arguments_of(declared).items() if argument.help}


def source_of(hint: Any) -> str:
    """Return a type as Python source, without its bounds."""
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, list):  # arguments of a function
        return f"[{', '.join(map(source_of, hint))}]"
    if origin in UNIONS:
        return " | ".join(map(source_of, inner))
    if origin is Annotated:
        return source_of(inner[0])
    if origin is Literal:
        words = ", ".join(f'"{word}"' for word in inner)
        return f"Literal[{words}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(source_of, inner))}]"
    return "None" if hint in (None, types.NoneType) else str(hint.__name__)


def arguments_of(function: Callable[..., Any]) -> dict[str, Argument]:
    """Return the arguments that a public function, or a dataclass, declares."""
    return _declared(inspect.unwrap(function.__init__ if is_dataclass(function) else function))[1]


def require_together(declared: Mapping[str, Argument], values: Mapping[str, Any]) -> None:
    """Raise BadInputError for the first argument that another excludes, or that says nothing without another."""
    if any(argument.rules for argument in declared.values()):
        given = {name: v for name, v in values.items() if name in declared and declared[name].is_given(v)}
        for name in given:
            for rule in declared[name].rules:
                rule.require(name, given)


def option_of(name: str, argument: Argument | None = None) -> str:
    """Return the option of an argument, which has no unit in its name."""
    named = argument.help.option if argument and argument.help else ""
    return named or f"--{re.sub('_(bytes|s|usd)$', '', OTHERWISE.get(name, name)).replace('_', '-')}"


_OPTION: Final = re.compile(r"--([a-z][a-z0-9-]*)(?:[ =]((?=\S*[0-9A-Z/*])[^\s,;()'\"`]*[^\s,;:.()'\"`]))?")
"""An option, with its value if that looks like one: `--data 100TB`, not the word after `--force`."""
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_COMMAND: Final = re.compile(r"`[^`]*`|\bplan(?:ner)? [^;:.`]*")
"""What a shell runs: its options stay options."""


OTHERWISE: Final = {"directory": "dir", "directories": "dir", "machines": "own", "keys": "key"}
"""Arguments without a sentence of their own whose options have another name."""


def _spell(error: PlannerError, declared: Mapping[str, Argument]) -> None:
    """Let an error name a function's arguments as Python does: `` `no_header` `` for --no-header. Without a `field` the
    first of them in its first line is it.
    """
    named: list[str] = []
    error.message = spelled(error.message, declared, named)
    error.details = tuple(spelled(detail, declared) for detail in error.details)
    is_unnamed = isinstance(error, BadInputError) and not error.field
    if named and (is_unnamed or error.field.startswith("-")):
        error.field = named[0]


def spelled(text: str, declared: Mapping[str, Argument], named: list[str] | None = None) -> str:
    """Return a text with arguments for options, and add their names to those `named`."""
    named = [] if named is None else named
    arguments = {option_of(name, argument)[2:]: name for name, argument in declared.items()}
    arguments |= {name.replace("_", "-"): name for name in declared}

    def argument(option: re.Match[str]) -> str:
        if option[1] not in arguments:
            return option[0]
        named.append(name := arguments[option[1]])
        hint, value = declared[name].hint, option[2]
        if hint is bool:
            value = "True"
        elif value and not _NUMBER.fullmatch(value) and problem(value, hint) is None:
            value = repr(value)
        return f"`{name}={value}`" if value else f"`{name}`"

    parts, end = [], 0
    for command in _COMMAND.finditer(text):
        parts += [_OPTION.sub(argument, text[end : command.start()]), command[0]]
        end = command.end()
    return "".join([*parts, _OPTION.sub(argument, text[end:])])


@functools.cache
def _declared(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Argument]]:
    signature, names = inspect.signature(function), _Names(function.__globals__)
    of_class = getattr(function, "__declares__", None)
    declared = _sentenced(of_class) if of_class else {}
    for name, p in signature.parameters.items():
        if name not in declared and p.annotation is not p.empty and p.kind is not p.VAR_KEYWORD:
            stated = p.annotation
            hint, *about = _parts(eval(stated, {}, names) if isinstance(stated, str) else stated)
            sentence = next((each for each in about if isinstance(each, Help)), None)
            rules = tuple(each for each in about if isinstance(each, With))
            declared[name] = Argument(hint, p.default, sentence, rules)
    return signature, declared


def _parts(hint: Any) -> list[Any]:
    """Return a type with its bounds, and what else is said of it."""
    if get_origin(hint) is not Annotated:
        return [hint]
    inner, *about = get_args(hint)
    bounds = tuple(each for each in about if not isinstance(each, Help | With))
    return [Annotated[(inner, *bounds)] if bounds else inner, *about]


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
            text = f"no such argument.{argument_meant(name, list(parameters))}"
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
    kinds = list(accepted(hint))
    if any(kind is Any for kind in kinds) or any(_fits(value, kind) for kind in kinds):
        return None
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if isinstance(value, str) and words and not any(kind in (str, Sequence[str]) for kind in kinds):
        text = f"{value!r} is none of {', '.join(map(str, words))}.{nearest(value, [str(word) for word in words])}"
        return "unknown-word", text
    for kind in kinds:
        if get_origin(kind) is Annotated and _is_a(value, get_args(kind)[0]):
            return "out-of-range", f"{value!r} is not {_named(kind)}"
    return "wrong-type", f"expected {_named(hint)}, not {shown(value)}"


def accepted(hint: Any) -> Iterator[Any]:
    """Yield the members of a union, at any depth."""
    if get_origin(hint) in UNIONS:
        for member in get_args(hint):
            yield from accepted(member)
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
        return " or ".join(dict.fromkeys(_named(each) for each in accepted(kind) if each is not types.NoneType))
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

"""Commands with grouped options: a class among the parameters stands for one option per argument of its own.

Rarer ones are settings, `--set NAME=VALUE`: as options of their own they would hide the others in the command's help.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import is_dataclass
from itertools import pairwise
from typing import Annotated, Any, Final, get_args, get_type_hints

from typer import Option

from planner.errors import BadInputError, PlannerError, nearest
from planner.schemas.arguments import request_fields
from planner.schemas.request import Request
from planner.schemas.request import options as request_options
from planner.schemas.wrong_words import option_meant

HEADING: Final = "Settings"
"""Heading of the options that are given as `--set NAME=VALUE`."""
HELP: Final = "help"


def ungrouped(
    command: Callable[..., None], *, panels: Mapping[str, Sequence[str]] | None = None
) -> Callable[..., None]:
    """Return a command in typer's form: every parameter whose type is a dataclass, or has its own signature, is
    replaced by that type's arguments, annotated as options. `panels` has the options under the headings of the help;
    those under `Settings` are given as `--set NAME=VALUE`.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: _options(hint) for name, hint in hints.items() if is_dataclass(hint) or _has_signature(hint)}
    if not (groups or panels):
        return command

    def flat(**given: Any) -> None:
        given.pop("set", None)  # the command's words have the options behind it
        for name, options in groups.items():
            given[name] = hints[name](**{option.name: given.pop(option.name) for option in options})
        command(**given)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        parameters += groups.get(parameter.name) or [parameter.replace(annotation=hints[parameter.name])]
    parameters = _under_headings(parameters, panels or {})
    if settings := [parameter.name for parameter in parameters if parameter.name in (panels or {}).get(HEADING, ())]:
        annotation = _set_option(settings)
        parameters.append(inspect.Parameter("set", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    flat.__name__, flat.__doc__ = command.__name__, command.__doc__
    return flat


def _under_headings(
    parameters: Sequence[inspect.Parameter], panels: Mapping[str, Sequence[str]]
) -> list[inspect.Parameter]:
    """Return parameters with their options under headings, in the order of `panels`, after those without one. Options
    are copied, because other commands share them.
    """
    headings = {name: heading for heading, names in panels.items() for name in names}
    order = {name: number for number, name in enumerate(headings)}
    ordered = sorted(parameters, key=lambda parameter: order.get(parameter.name, -1))
    return [_under(parameter, headings.get(parameter.name)) for parameter in ordered]


def _under(parameter: inspect.Parameter, heading: str | None) -> inspect.Parameter:
    annotated, *metadata = get_args(parameter.annotation) or (parameter.annotation,)
    if heading is None or not metadata:
        return parameter
    option = copy(metadata[0])
    option.rich_help_panel = heading
    option.hidden = option.hidden or heading == HEADING
    return parameter.replace(annotation=Annotated[annotated, option])


def _has_signature(hint: Any) -> bool:
    return isinstance(hint, type) and "__signature__" in vars(hint)


def _options(group: Any) -> list[inspect.Parameter]:
    hints = {} if _has_signature(group) else get_type_hints(group, include_extras=True)
    return [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints.get(name, parameter.annotation))
        for name, parameter in inspect.signature(group).parameters.items()
    ]


def _set_option(names: Sequence[str]) -> Any:
    """Return the type of the option `--set` of a command with these settings."""
    listed = [name.replace("_", "-") for name in names]
    about = f"{', '.join(listed)}: --set {HELP} says what each means."
    option = Option(
        "--set",
        metavar="NAME=VALUE",
        help=about,
        rich_help_panel=HEADING,
        autocompletion=lambda incomplete: [f"{name}=" for name in listed if name.startswith(incomplete)],
    )
    return Annotated[list[str] | None, option]


def settings_of(parameters: Sequence[Any]) -> dict[str, Any]:
    """Return a command's parameters that `--set` gives, by their names there."""
    return {
        max(parameter.opts, key=len).removeprefix("--"): parameter
        for parameter in parameters
        if getattr(parameter, "rich_help_panel", None) == HEADING and parameter.hidden
    }


_OF_OTHERS: Final = ("contradiction", "missing-companion", "not-spot", "unknown-type")
"""Codes of refusals that depend on other options."""


def asks_for_help(words: Sequence[str]) -> bool:
    """Return whether the words ask for the meaning of the settings."""
    return f"--set={HELP}" in words or ("--set", HELP) in pairwise(words)


def help_rows(settings: Mapping[str, Any], ctx: Any) -> Iterator[tuple[str, str]]:
    """Yield each setting with its meaning."""
    for name, parameter in settings.items():
        parameter.hidden = False
        words, text = parameter.get_help_record(ctx)
        parameter.hidden = True
        yield name if parameter.is_flag else f"{name}={words[words.index('<') :]}", text


def as_options(words: Sequence[str], settings: Mapping[str, Any], options: Collection[str]) -> list[str]:
    """Return a command's words with the option behind each setting in the place of `--set NAME=VALUE`.

    Raises BadInputError for an unknown setting, with what was meant, and for a setting given as an option.
    """
    made: list[str] = []
    rest, names = iter(words), "|".join(map(re.escape, settings))
    between = rf",(?=(?:{names})(?:=|,|$))"  # in `zones=2,files=500`; a comma in a value separates nothing
    for word in rest:
        option, equals, value = word.partition("=")
        if word == "--":
            return [*made, word, *rest]
        if option == "--set":
            given = value if equals else next(rest, "")
            made += [part for setting in re.split(between, given) for part in _option(setting, settings, options)]
        elif option.removeprefix("--") in settings and option.startswith("--"):
            value = value or ("" if settings[option[2:]].is_flag else next(rest, "VALUE"))
            raise _is_setting(option[2:], value, options)
        else:
            made.append(word)
    return made


def _is_setting(name: str, value: str, options: Collection[str]) -> BadInputError:
    """Return the error of a setting that was typed as an option, with how to give it, or why its value is refused."""
    from planner.planning.request.request_checks import check_request  # slow to load

    meant = option_meant(name, options).strip()
    try:
        if name.replace("-", "_") in request_options() and value not in ("", "VALUE"):
            check_request(Request(**request_fields({"data": "1TB", name.replace("-", "_"): value})), ())
    except BadInputError as refused:
        if refused.code not in _OF_OTHERS:
            why = [f"{value}: {refused.message.rpartition(': ')[2]}", *filter(None, [meant])]
            return BadInputError(f"{name} is a setting: --set {name}=VALUE", why, code="is-setting")
    return BadInputError(f"{name} is a setting: --set {name}{'=' + value if value else ''}", code="is-setting")


def _option(setting: str, settings: Mapping[str, Any], options: Collection[str]) -> list[str]:
    name, equals, value = setting.partition("=")
    name = name.strip().replace("_", "-")
    if f"--{name}" in options:
        raise BadInputError(f"--set {setting}: {name} is an option: --{name} {value or 'VALUE'}", code="is-option")
    if name not in settings:
        raise BadInputError(
            f"--set {setting}: no such setting.{nearest(name, list(settings))} --set {HELP} lists them",
            code="unknown-setting",
        )
    if settings[name].is_flag:
        if equals and value not in ("true", "false"):
            raise BadInputError(f"--set {setting}: this is true or false", code="not-a-bool")
        return [] if value == "false" else [f"--{name}"]
    if not equals:
        raise BadInputError(f"--set {setting}: a value is missing: --set {name}=VALUE", code="missing-value")
    return [f"--{name}={value}"]


def spelled(error: PlannerError, names: Mapping[str, str]) -> None:
    """Let an error name a command's settings and arguments as the command does: `names` has how, by option."""
    if not names:
        return
    named = re.compile(
        rf"(?<!set )({'|'.join(sorted(names, reverse=True))})(?![\w-])"
        r"(?:[= ]([A-Z0-9][^\s:;,]*|[^\s:;,]+=[A-Z]+|[^\s:;,]+(?=[:;])))?"
    )

    def said(match: re.Match[str]) -> str:
        name, value = names[match[1]], match[2] or ""
        return f"{name}{'=' if name.startswith('--set') else ' '}{value}" if value else name

    error.message, error.details = named.sub(said, error.sentence), tuple(named.sub(said, d) for d in error.details)

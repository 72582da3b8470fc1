"""`--set NAME=VALUE`: a command's rarer settings. As options of their own they would hide the others in its help."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Final

from typer import Option

from planner.errors import BadInputError, PlannerError, nearest

HEADING: Final = "Settings"
"""Heading of the options that are given as `--set NAME=VALUE`."""
HELP: Final = "help"


def set_option(names: Sequence[str]) -> Any:
    """Return the type of the option `--set` of a command with these settings."""
    listed = [name.replace("_", "-") for name in names]
    about = f"{', '.join(listed)}: --set {HELP} says what each means."
    option = Option(
        "--set", metavar="NAME=VALUE", help=about, rich_help_panel=HEADING, autocompletion=_completion(listed)
    )
    return Annotated[list[str] | None, option]


def _completion(names: Sequence[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [f"{name}=" for name in names if name.startswith(incomplete)]


def settings_of(parameters: Sequence[Any]) -> dict[str, Any]:
    """Return a command's parameters that `--set` gives, by their names there."""
    return {
        max(parameter.opts, key=len).removeprefix("--"): parameter
        for parameter in parameters
        if getattr(parameter, "rich_help_panel", None) == HEADING and parameter.hidden
    }


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
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if word == "--":
            return [*made, word, *rest]
        if option == "--set":
            given = value if equals else next(rest, "")
            made += [part for setting in _parts(given, settings) for part in _option(setting, settings, options)]
        elif option.removeprefix("--") in settings and option.startswith("--"):
            value = value or ("" if settings[option[2:]].is_flag else next(rest, "VALUE"))
            raise BadInputError(
                f"{option[2:]} is a setting: --set {option[2:]}{'=' + value if value else ''}", code="is-setting"
            )
        else:
            made.append(word)
    return made


def _parts(given: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the settings in `zones=2,files=500`; a comma in a value separates nothing."""
    return re.split(rf",(?=(?:{'|'.join(map(re.escape, settings))})(?:=|,|$))", given)


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

"""Options that apply only together with others are refused elsewhere, for every command and each of its options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from planner.cli.app import build
from planner.cli.shell.option_rules import RULES, holds, refusal
from planner.errors import BadInputError

COMMANDS: dict[str, Any] = {}
for _name, _command in typer.main.get_command(build()).commands.items():  # type: ignore[attr-defined]
    members = getattr(_command, "commands", None)
    COMMANDS |= {f"{_name} {member}": of for member, of in members.items()} if members else {_name: _command}


def parameters(command: str) -> dict[str, Any]:
    """Return the parameters of a command by their names in the rules."""
    named = {}
    for parameter in COMMANDS[command].params:
        names = (
            parameter.opts if parameter.param_type_name == "option" else [parameter.metavar or parameter.name.upper()]
        )
        named |= dict.fromkeys(names, parameter)
    return named


def rules() -> Iterator[tuple[str, str, str]]:
    for command, of_command in RULES.items():
        for options, condition in of_command.items():
            yield from ((command, option, condition) for option in options.split())


def words(command: str, option: str) -> list[str]:
    """Return words that give an option or an argument of a command."""
    parameter = parameters(command)[option.partition(" ")[0]]
    if parameter.param_type_name == "argument":
        return [option.partition(" ")[2] or "x"]
    if parameter.hidden:
        return ["--set", f"{option[2:]}{'' if parameter.is_flag else '=1'}"]
    if getattr(parameter, "is_flag", False):
        return [option]
    wanted = option.partition(" ")[2]
    about = parameter.type_descriptor
    least = str(getattr(about.parameter_info, "min", None) or 1)
    choices = getattr(about.annotation, "__args__", (least,))
    return [option.partition(" ")[0], wanted or next((word for word in choices if isinstance(word, str)), least)]


def arguments(command: str, without: str = "") -> list[str]:
    """Return a word for each argument that a command needs."""
    needed = [p for p in COMMANDS[command].params if p.param_type_name == "argument" and p.required]
    if command == "sort":
        return ["in", "-"] if without == "OUTPUT -" else ["in", "out"]
    return ["x" for _ in needed]


def required(command: str, given: str) -> list[str]:
    needed = [p for p in COMMANDS[command].params if p.param_type_name == "option" and p.required]
    return [word for p in needed if given not in p.opts for word in (max(p.opts, key=len), "x")]


@pytest.mark.parametrize(("command", "option", "condition"), list(rules()))
def test_an_option_is_refused_where_it_says_nothing(command: str, option: str, condition: str) -> None:
    word, others = condition.split(" ", 1)
    for other in others.split(" or ") if word == "without" else [""]:
        beside = words(command, other) if other and other != "OUTPUT -" else []
        typed = [*command.split(), *arguments(command, other), *required(command, option), *words(command, option)]
        ended = CliRunner().invoke(build(only=command.split(maxsplit=1)[0]), [*typed, *beside])
        assert isinstance(ended.exception, BadInputError), (typed, beside, ended.output)
        assert f"{option.removeprefix('--')} " in str(ended.exception) and other in str(ended.exception)
        assert ended.exception.message.splitlines()[0] == ended.exception.message


@pytest.mark.parametrize(("command", "option", "condition"), list(rules()))
def test_rules_speak_of_what_there_is(command: str, option: str, condition: str) -> None:
    known = parameters(command)
    assert option in known
    assert {other.partition(" ")[0] for other in condition.split(" ", 1)[1].split(" or ")} <= set(known)
    assert len(refusal(option, condition)) <= 160


def test_a_condition_holds_where_one_of_its_options_is_given() -> None:
    assert holds("with --a or --b", {"--b": 3})
    assert not holds("with --a", {"--a": None})
    assert holds("with --pricing spot", {"--pricing": "on-demand,spot"})
    assert holds("without --pricing spot", {"--pricing": "on-demand,spot"})
    assert not holds("without --pricing spot", {"--pricing": "spot"})
    assert not holds("without --out", {"--out": "x"})

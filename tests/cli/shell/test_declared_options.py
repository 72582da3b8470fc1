"""Options come from what a function declares: name, type, bounds, default, sentence and what it excludes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from planner.cli.shell.commands import PlannerCommand
from planner.cli.shell.declared_options import DeclaredOptions
from planner.cli.shell.option_groups import ungrouped
from planner.errors import BadInputError
from planner.schemas.door import Between, Bytes, Count, Help, Seconds, With, Without, checked


@checked
def pack(
    *,
    boxes: Annotated[Count | None, Help("How many boxes.")] = None,
    room_bytes: Annotated[Bytes | None, Help("How much goes in.", option="--size")] = None,
    wait_s: Annotated[Seconds, Help("How long it may take.")] = 2,
    seed: Annotated[int, Between(0, 2**128), Help("Where chance begins.")] = 0,
    no_lid: Annotated[bool | None, Help("Without a lid, or with one.")] = None,
    soft: Annotated[bool, Help("Wrap it.", option="-s"), Without("boxes")] = False,
    how: Annotated[Literal["tight", "loose"], Help("How it is packed."), With("room_bytes")] = "tight",
    things: Annotated[Sequence[str], Help("What goes in.", option="--thing")] = (),
    say: Any = None,
) -> None:
    """Pack."""


class PackOptions(DeclaredOptions, of=[pack]):
    """The arguments of `pack`."""


def packed(*words: str) -> Any:
    """Return the arguments that words give, or the help's text."""
    given = []

    def command(*, asked: PackOptions) -> None:
        """Pack."""
        given.append(dict(asked))

    command.__annotations__ = {"asked": PackOptions, "return": None}
    app = typer.Typer()
    app.command(cls=PlannerCommand, help="Pack.")(ungrouped(command))
    ended = CliRunner().invoke(app, words)
    if ended.exception and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return given[0] if given else ended.output


def test_amounts_are_read_and_what_is_not_given_is_left_out() -> None:
    usual = {"wait_s": 2, "seed": 0, "soft": False, "how": "tight"}
    assert {name: value for name, value in packed().items() if value != ()} == usual
    words = ["--size", "2KB", "--wait", "1m", "--seed", str(2**100), "--lid", "--thing", "a", "--thing", "b", "-s"]
    read = {"room_bytes": 2000, "wait_s": 60, "seed": 2**100, "no_lid": False, "things": ["a", "b"], "soft": True}
    assert packed(*words) == usual | read
    assert packed("--boxes", "1,000")["boxes"] == 1000


def test_help_has_the_sentences_and_no_argument_of_python_alone() -> None:
    text = " ".join(packed("--help").split())
    for part in ("--size <str> How much goes in.", "--wait <str> How long it may take. [default: 2s]", "[x>=1]"):
        assert part in text
    assert "--no-lid / --lid" in text and "--say" not in text


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("--boxes 0", "--boxes"),
        ("--size many", "--size"),
        ("--seed x", "--seed"),
        ("--wait soon", "--wait"),
        ("--how wide", "--how"),
        ("--how loose", "--how"),
        ("--boxes 2 -s", "-s"),
    ],
)
def test_errors_name_the_option(words: str, option: str) -> None:
    with pytest.raises(BadInputError) as refused:
        packed(*words.split())
    assert option in str(refused.value) and "`" not in str(refused.value)


def test_what_another_function_does_not_take_is_refused() -> None:
    @checked
    def unpack(*, boxes: Annotated[Count | None, Help("How many boxes.")] = None) -> None:
        """Unpack."""

    with pytest.raises(BadInputError) as refused:
        PackOptions(boxes=1, room_bytes="2KB").require_taken_by(unpack, "unpacking needs no room")
    assert refused.value.field == "room_bytes"
    PackOptions(boxes=1, room_bytes=None).require_taken_by(unpack, "unpacking needs no room")

"""A command's dataclass parameters become options and are passed back as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from planner.cli.shell.option_groups import ungrouped


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of a box."""

    width: Annotated[int, typer.Option(help="How wide.")]
    height: Annotated[int, typer.Option(help="How high.")] = 2


def box(*, size: Size, name: Annotated[str, typer.Option(help="Whose.")] = "mine") -> None:
    """Describe a box."""
    typer.echo(f"{name} {size.width * size.height}")


def plain(*, name: str = "mine") -> None:
    """Take no group."""


def run(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(ungrouped(box))
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.output


def test_fields_are_options_with_their_defaults() -> None:
    assert run("--width", "3") == (0, "mine 6\n")
    assert run("--width", "3", "--height", "5", "--name", "yours") == (0, "yours 15\n")


def test_a_field_without_a_default_is_required() -> None:
    code, output = run("--height", "5")
    assert code == 2 and "--width" in output


def test_help_lists_the_fields_in_their_order() -> None:
    _, output = run("--help")
    assert output.index("--width") < output.index("--height") < output.index("--name")
    assert "Describe a box." in output


def test_a_command_without_groups_is_left_alone() -> None:
    assert ungrouped(plain) is plain

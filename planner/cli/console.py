"""What all commands share: stdout for results, stderr for talk, and one way for errors to become exit codes."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from typer.core import TyperCommand

from planner.cli.end_signals import end_as_ctrl_c
from planner.cli.given_values import TakesAsGiven
from planner.cli.help_text import PlainHelp
from planner.cli.usage import UsageError, with_example
from planner.errors import InterruptedRunError, PlannerError

_EXAMPLE = "Example: "
_NAME = 18
"""Cells of at most so many characters are names, dates or numbers, which are not broken over lines."""
_LEAST = 6
"""A column of sentences can be as narrow as this."""


class PlannerCommand(PlainHelp, TakesAsGiven, TyperCommand):
    """A command whose help starts with its examples, and that tells an interrupt from a failure.

    Examples are the paragraphs of the docstring that begin with `Example: `. A PlannerError passes through to
    `exit_code_of`.
    """

    def __init__(self, *arguments: Any, help: str | None = None, **options: Any) -> None:
        paragraphs = (help or "").split("\n\n")
        self.examples = [text.removeprefix(_EXAMPLE) for text in paragraphs if text.startswith(_EXAMPLE)]
        rest = [text for text in paragraphs if not text.startswith(_EXAMPLE)]
        options["short_help"] = options.get("short_help") or rest[0]
        whole = [*(_EXAMPLE + example for example in self.examples), *rest]
        super().__init__(*arguments, help="\n\n".join(whole), **options)
        for parameter in self.params:
            if getattr(parameter, "is_flag", False):
                parameter.display_type_rich = lambda ctx: None  # type: ignore[attr-defined]  # a flag takes no value

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take `plan 100TB` for `plan --data 100TB`. What cannot be taken is refused with an example."""
        if self.name == "plan" and args and not args[0].startswith("-"):
            args = ["--data", *args]
        if self.name == "plan" and args == ["--version"]:
            show_version()
            ctx.exit()
        given = any(not word.startswith("-") for word in args)
        try:
            return list(super().parse_args(ctx, args))
        except UsageError as error:
            raise with_example(error, self.examples, given=given) from error

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an interrupt, or another signal to end, becomes an InterruptedRunError."""
        try:
            with end_as_ctrl_c():
                return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise InterruptedRunError("interrupted; nothing half done was left behind") from interrupt


def exit_code_of(run: Callable[[], None]) -> int:
    """Run a command and return its exit code; a PlannerError is said on stderr."""
    try:
        run()
    except PlannerError as error:
        talk(f"error: {error}")
        return error.exit_code
    return 0


def talk(text: str) -> None:
    """Say something to the person, on stderr."""
    print(text, file=sys.stderr)


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """End the command with 0, and quietly, when nobody reads its results any more, as after `| head`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it ends
        raise SystemExit(0) from None


def show_text(text: str) -> None:
    """Print a result."""
    with _reader_may_leave():
        print(text)


def show_version() -> None:
    """Print which version this is."""
    from importlib.metadata import version

    show_text(f"planner {version('sortplanner')}")


def show_json(value: Any) -> None:
    """Print a result as one JSON object."""
    show_text(json.dumps(value, indent=2, allow_nan=False))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False, **settings: Any) -> Any:
    """Return a rich table without lines that folds long cells; `numbers` aligns all columns but the first right."""
    from rich.table import Column, Table

    headers = [
        Column(name, justify="right" if numbers and i else "left", overflow="fold") for i, name in enumerate(columns)
    ]
    made = Table(*headers, box=None, pad_edge=False, **settings)
    for row in rows:
        made.add_row(*row)
    return made


def columns() -> int:
    """Return how many columns an answer may take: what COLUMNS says, else the terminal's, else 80."""
    return max(shutil.get_terminal_size().columns, 40)


def show(*renderables: Any, width: int | None = None) -> None:
    """Print rich renderables as a result; colours only where a terminal shows them. Into a pipe they are `width`
    columns wide, else what COLUMNS says, else 160.
    """
    from rich.console import Console

    if width is None and not sys.stdout.isatty():
        width = columns() if "COLUMNS" in os.environ else 160
    console = Console(highlight=False, soft_wrap=False, width=width)
    with console.capture() as captured:
        for renderable in renderables:
            _keep_names_whole(renderable, width=console.width)
            console.print(renderable)
    with _reader_may_leave():
        print(captured.get(), end="")


def _keep_names_whole(renderable: Any, *, width: int) -> None:
    """Let a table's columns of names, dates and numbers keep their width, where columns of sentences can give way."""
    from rich.table import Table

    if not isinstance(renderable, Table):
        return
    sized = [(max(len(str(cell)) for cell in (column.header, *column.cells)), column) for column in renderable.columns]
    needed = sum(min(size, _LEAST) + 2 for size, _ in sized)
    for size, column in sorted(sized, key=lambda pair: pair[0]):
        needed += size - min(size, _LEAST)
        column.no_wrap = column.no_wrap or (size <= _NAME and needed <= width + 2)

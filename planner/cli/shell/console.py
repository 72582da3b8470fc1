"""Conventions of all commands: stdout for results, stderr for messages, and one mapping of errors to exit codes."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final

from typer.core import TyperCommand

from planner.cli.shell.end_signals import end_as_ctrl_c
from planner.cli.shell.failures import ending_of, headed, name_options
from planner.cli.shell.help_text import PlainHelp
from planner.cli.shell.option_rules import require_applicable
from planner.cli.shell.option_values import UnconvertedValues
from planner.cli.shell.output import ends_without_reader, forget
from planner.cli.shell.set_option import as_options, asks_for_help, help_rows, settings_of, spelled
from planner.cli.shell.usage import UsageError, with_example
from planner.errors import BadInputError, InterruptedRunError, PlannerError
from planner.report.section import Said, Section
from planner.report.words import wrapped
from planner.schemas.door import option_of

_EXAMPLE = "Example: "
_GIVEN: Final[ContextVar[tuple[str, ...]]] = ContextVar("given")
_NAME = 18
"""Longest cell that counts as a name, date or number, which are not broken over lines."""
_LEAST = 14
"""Narrowest column of sentences."""
_WORD = 40
"""Longest unbroken word, such as an address; on a screen below `_BROAD` it is `_NARROW_WORD`."""
_BROAD = 100
_NARROW_WORD = 24
_GAP = 2
"""Spaces between two columns."""


class PlannerCommand(PlainHelp, UnconvertedValues, TyperCommand):
    """A command whose help starts with its examples, and that distinguishes an interrupt from a failure.

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
        self.settings = settings_of(self.params)
        self.spelling = {f"--{name}": f"--set {name}" for name in self.settings}
        for parameter in self.params:
            if parameter.param_type_name == "argument":
                self.spelling[option_of(str(parameter.name))] = parameter.metavar or str(parameter.name).upper()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept `plan 100TB` for `plan --data 100TB`. Usage errors are shown with an example."""
        if self.name == "plan" and args and not args[0].startswith("-"):
            args = ["--data", *args]
        if self.name == "plan" and args == ["--version"]:
            show_version()
            ctx.exit()
        _GIVEN.set((*_path(ctx), *args))
        given = any(not word.startswith("-") for word in args)
        try:
            if self.settings and not ctx.resilient_parsing:
                args = self._with_settings(ctx, args)
            rest = list(super().parse_args(ctx, args))
            if not ctx.resilient_parsing:
                require_applicable(ctx)
        except UsageError as error:
            raise with_example(error, self.examples, given=given) from error
        except PlannerError as error:
            spelled(error, self.spelling)
            raise
        return rest

    def _with_settings(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the words with the options behind their settings; `--set help` ends with the meaning of each."""
        if asks_for_help(args):
            formatter = ctx.make_formatter()
            with formatter.section("Settings, as --set NAME=VALUE"):
                formatter.write_dl(list(help_rows(self.settings, ctx)))
            show_text(formatter.getvalue().rstrip())
            ctx.exit()
        options = {name for parameter in self.params for name in parameter.opts}
        options -= {f"--{name}" for name in self.settings}
        return as_options(args, self.settings, options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an interrupt, or another signal to end, becomes an InterruptedRunError."""
        try:
            with end_as_ctrl_c():
                return super().invoke(ctx)
        except PlannerError as error:
            name_options(error, {of.name: max(of.opts, key=len) for of in self.params if of.opts[0].startswith("-")})
            spelled(error, self.spelling)
            raise
        except KeyboardInterrupt as interrupt:
            raise InterruptedRunError("interrupted; nothing half done was left behind") from interrupt
        except EOFError as end:
            raise BadInputError(
                "the input ended before the question was answered; give the options instead", code="answers-ended"
            ) from end


def words_given() -> tuple[str, ...]:
    """Return the words after `planner` that the user gave to the command at work."""
    return _GIVEN.get()


def _path(ctx: Any) -> tuple[str, ...]:
    return (*_path(ctx.parent), ctx.info_name) if ctx.parent else ()


def exit_code_of(run: Callable[[], None]) -> int:
    """Run a command and return its exit code. Every error is printed as a sentence on stderr; see `failures`."""
    try:
        with ends_without_reader():
            run()
    except Exception as error:
        return print_error(error)
    return 0


def print_error(error: Exception, *, before: str = "error: ") -> int:
    """Print an error on stderr, and return its exit code."""
    text, code = ending_of(error)
    talk(f"{before}{headed(text) if before == 'error: ' else text}")
    try:
        sys.stdout.flush()
    except OSError:
        forget(sys.stdout)
    return code


_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}
"""Control characters, which names and data may have and terminals obey."""


def talk(text: str) -> None:
    """Print a message for the person on stderr. Without a reader the command goes on."""
    try:
        print(text.translate(_CONTROL), file=sys.stderr)
    except OSError:
        forget(sys.stderr)


def show_text(text: str) -> None:
    """Print a result."""
    with ends_without_reader():
        print(text)


def show_version() -> None:
    """Print this version."""
    from importlib.metadata import version

    show_text(f"planner {version('sortplanner')}")


def show_json(value: Mapping[str, Any]) -> None:
    """Print a result as one JSON object that starts with its version."""
    from planner.schemas.json_values import VERSION

    show_text(json.dumps({"version": VERSION, **value}, indent=2, allow_nan=False))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False, title: str = "") -> Section:
    """Return a table; `numbers` right-aligns all columns but the first."""
    return Section(title=title, columns=columns, rows=[*rows], numbers=range(1, len(columns)) if numbers else ())


def columns() -> int:
    """Return how many columns an answer may take: COLUMNS, else the terminal's, else 80."""
    return max(shutil.get_terminal_size().columns, 40)


def shown_width() -> int:
    """Return the width of tables: the terminal's or COLUMNS, 160 in a pipe."""
    return columns() if "COLUMNS" in os.environ or sys.stdout.isatty() else 160


def show(*answers: Any, drop_first: Sequence[str] = ()) -> None:
    """Print texts, paragraphs and tables, or answers of several, as a result, `shown_width` wide; colours only where a
    terminal shows them. A table that does not fit loses columns of `drop_first` in order, with a note; if that is not
    enough it becomes a block per row, a line per cell.
    """
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False, width=shown_width())
    with console.capture() as captured:
        for answer in answers:
            for part in [answer] if isinstance(answer, str | Said | Section) else answer:
                fitted = _fitted(part, console.width, drop_first) if isinstance(part, Section) else [part]
                for line in fitted:
                    console.print(line)
    with ends_without_reader():
        print(captured.get(), end="")


def fits(section: Section, width: int) -> bool:
    """Return whether a table of short cells fits the width without breaking any."""
    sizes = [max([_longest_word(header), *map(len, cells)]) for header, *cells in section.cells]
    return sum(sizes) + _GAP * (len(sizes) - 1) <= width


def _fitted(section: Section, width: int, drop_first: Sequence[str]) -> Iterator[Any]:
    """Yield a table that fits: names, dates and numbers keep their width, sentences are narrowed; else drop or fold."""
    present = [name for name in drop_first if name in section.columns]
    for count in range(len(present) + 1):
        left = section.without(present[:count])
        needs = [_need(header, cells, width=width) for header, *cells in left.cells]
        spare = width - sum(needs) - _GAP * (len(needs) - 1)
        if spare >= 0:
            yield left.wide(_shared_out(spare, needs, left.cells))
            if count:
                yield f"Not shown, as the screen is narrow: {', '.join(present[:count])}. COLUMNS=160 shows all."
            return
    yield _folded(section)


def _shared_out(spare: int, needs: Sequence[int], texts: Sequence[Sequence[str]]) -> list[int]:
    """Return column widths that share the screen's spare columns; rich would give them to some and crop others."""
    widths, wants = list(needs), [max(map(_longest_line, cells)) for cells in texts]
    order = sorted(range(len(needs)), key=lambda number: wants[number] - needs[number])
    for position, number in enumerate(order):
        given = min(max(wants[number] - needs[number], 0), -(-spare // (len(order) - position)))
        widths[number] += given
        spare -= given
    return widths


def _longest_line(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


def _need(header: str, cells: Sequence[str], *, width: int) -> int:
    """Return a column's narrowest width: names stay whole, sentences and headers break between words."""
    size, word = max([_longest_word(header), *map(len, cells)]), _WORD if width >= _BROAD else _NARROW_WORD
    return size if size <= _NAME else min(max([_LEAST, _longest_word(header), *map(_longest_word, cells)]), word)


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _folded(section: Section) -> Any:
    """Return a table as a block per row, with a line per cell and the name of its column."""
    from rich.table import Table

    folded = Table(box=None, pad_edge=False, show_header=False, title=section.title or None, title_justify="left")
    folded.add_column()
    folded.add_column(overflow="fold")
    for number, row in enumerate(section.rows):
        if number:
            folded.add_row("", "")
        for name, cell in zip(section.columns, row, strict=True):
            if cell:
                folded.add_row(name, cell, style=section.style(number))
    return folded


def show_sentences(text: str) -> None:
    """Print a result in sentences, wrapped to the terminal or COLUMNS if narrower."""
    width = shown_width()
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        show_text("\n".join(wrapped(line, width, indent=indent)))

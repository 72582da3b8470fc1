"""Commands and their groups: help with examples first, settings, and an interrupt as an error of its own.

Help is plain text under headings. Typer would use rich, which takes longer to load than everything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final

from typer import echo
from typer.core import TyperCommand, TyperGroup

from planner.cli.shell.console import ends_without_reader, show_text, show_version
from planner.cli.shell.failures import name_options
from planner.cli.shell.interrupts import end_as_ctrl_c
from planner.cli.shell.option_groups import as_options, asks_for_help, help_rows, settings_of, spelled
from planner.cli.shell.option_rules import require_applicable
from planner.cli.shell.option_values import UnconvertedValues
from planner.cli.shell.usage import UsageError, intended_command, with_example
from planner.errors import BadInputError, InterruptedRunError, PlannerError
from planner.schemas.door import option_of

_EXAMPLE = "Example: "
_GIVEN: Final[ContextVar[tuple[str, ...]]] = ContextVar("given")
_OTHERS = {"argument": "Arguments", "option": "Options"}
"""Headings of parameters without their own."""


class PlainHelp:
    """Base class of commands and groups that shows their help as plain text."""

    def make_context(self: Any, *arguments: Any, **settings: Any) -> Any:
        """Parse the command line; meanwhile help may be shown, and its reader may leave."""
        with ends_without_reader():
            return super().make_context(*arguments, **settings)  # type: ignore[misc]

    def format_help(self: Any, ctx: Any, formatter: Any) -> None:
        """Write usage, text, parameters and commands."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        for heading, rows in (*under_headings(self.get_params(ctx), ctx), *_commands(self, ctx)):
            with formatter.section(heading):
                formatter.write_dl(rows)


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
        """Accept `plan 100TB` for `plan --data 100TB`, not a file. Usage errors are shown with an example."""
        if self.name == "plan" and args and not args[0].startswith("-") and not _FILE_NAME.search(args[0]):
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


_FILE_NAME: Final = re.compile(r"\w\.[A-Za-z]\w+$")
"""Ends of words that are names of files, and no sizes such as 1.5TB."""


def _path(ctx: Any) -> tuple[str, ...]:
    return (*_path(ctx.parent), ctx.info_name) if ctx.parent else ()


class PlannerGroup(PlainHelp, UnconvertedValues, TyperGroup):
    """Commands under one name; the name alone shows the help and ends with 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the group's name."""
        if not args and not ctx.resilient_parsing:
            echo(ctx.get_help())
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the named command; a name from other programs is answered with the command's own."""
        if name := intended_command(args[0], self.list_commands(ctx)) if args else "":
            is_command = name.split()[0] in self.list_commands(ctx)
            advice = f"Did you mean: {ctx.command_path} {name}" if is_command else f"Note: {name}"
            raise UsageError(f"No such command {args[0]!r}. {advice}", ctx=ctx)
        return super().resolve_command(ctx, args)


class DefaultGroup(PlannerGroup):
    """A group whose first command also runs without its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the first command before words that begin with no command's, nor with another's for it."""
        names = self.list_commands(ctx)
        is_first = bool(args) and args[0] not in (*names, "--help")
        if is_first and args[1:] and not args[1].startswith("-") and intended_command(args[0], names):
            is_first = False
        return super().parse_args(ctx, [names[0], *args] if is_first else args)


def under_headings(parameters: Iterable[Any], ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the headings with their parameters; arguments come first, options without a heading last."""
    under: dict[str, list[tuple[str, str]]] = {_OTHERS["argument"]: []}
    for parameter in parameters:
        heading = getattr(parameter, "rich_help_panel", None) or _OTHERS[parameter.param_type_name]
        record = parameter.get_help_record(ctx)
        if record:
            under.setdefault(heading, []).append(record)
    last = under.pop(_OTHERS["option"], [])
    yield from ((heading, rows) for heading, rows in (*under.items(), (_OTHERS["option"], last)) if rows)


def _commands(group: Any, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    if isinstance(group, TyperGroup):
        members = [(name, group.get_command(ctx, name)) for name in group.list_commands(ctx)]
        yield "Commands", [(name, member.short_help or member.help or "") for name, member in members if member]

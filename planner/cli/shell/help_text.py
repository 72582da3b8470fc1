"""Help as plain text under headings. Typer would use rich, which takes longer to load than everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from typer import echo
from typer.core import TyperGroup

from planner.cli.shell.option_values import UnconvertedValues
from planner.cli.shell.output import ends_without_reader
from planner.cli.shell.usage import UsageError, intended_command

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

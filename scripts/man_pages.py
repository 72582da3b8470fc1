"""The manual pages plan.1 and planner.1, made from the commands' help; a wheel installs them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from planner import errors
from planner.cli.app import build
from planner.cli.shell.commands import under_headings

TOP = Path(__file__).resolve().parent.parent
SHORT = "which cluster to rent to sort or shuffle terabytes"


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    root: Any = typer.main.get_command(build())
    leaves = list(_leaves(root, "planner"))
    plan = dict(leaves)["planner plan"]
    sections = [line for name, command in leaves for line in _section(name, command)]
    return {
        "plan.1": _page("plan", _synopsis("plan", plan), [".SH DESCRIPTION", *_body(plan, ".SH")], "planner"),
        "planner.1": _page("planner", _synopsis("planner", root), [".SH COMMANDS", *sections], "plan"),
    }


def _leaves(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, member in group.commands.items():
        if hasattr(member, "commands"):
            yield from _leaves(member, f"{path} {name}")
        else:
            yield f"{path} {name}", member


def _page(name: str, synopsis: list[str], body: list[str], other: str) -> str:
    version = (TOP / "CITATION.cff").read_text().partition("\nversion: ")[2].partition("\n")[0]
    head = ['.\\" Made from the help.', f'.TH {name.upper()} 1 "" "sortplanner {version}" "User Commands"']
    named = [".SH NAME", f"{name} \\- {SHORT}", ".SH SYNOPSIS", *synopsis]
    return "\n".join([*head, *named, *body, *_exit_status(), ".SH SEE ALSO", f".BR {other} (1)"]) + "\n"


def _synopsis(path: str, command: Any) -> list[str]:
    pieces = " ".join(command.collect_usage_pieces(command.make_context(path, [], resilient_parsing=True)))
    return [f".B {_plain(path)}", _plain(pieces)]


def _section(path: str, command: Any) -> Iterator[str]:
    yield f'.SS "{_plain(path)}"'
    yield from _synopsis(path, command)
    yield ".PP"
    yield from _body(command, ".PP")


def _body(command: Any, heading: str) -> Iterator[str]:
    """Yield a command's description, its options, under headings of the page or as paragraphs, and its examples."""
    paragraphs = [text for text in command.help.split("\n\n") if not text.startswith("Example: ")]
    yield "\n.PP\n".join(_filled(text) for text in paragraphs)
    context = command.make_context("", [], resilient_parsing=True)
    for title, rows in under_headings(command.get_params(context), context):
        yield f'.SH "{title.upper()}"' if heading == ".SH" else f".PP\n.I {_plain(title)}"
        for names, meaning in rows:
            yield f".TP\n.B {_plain(names)}\n{_filled(meaning)}"
    yield ".SH EXAMPLES" if heading == ".SH" else ".PP\n.I Examples"
    for example in command.examples:
        yield f".nf\n{_plain(' '.join(example.split()))}\n.fi"


def _exit_status() -> list[str]:
    meant = {0: "Done."}
    for error in (errors.PlannerError, *errors.PlannerError.__subclasses__()):
        meant.setdefault(error.exit_code, _meaning(error))
    return [".SH EXIT STATUS", *(f".TP\n.B {code}\n{_filled(text)}" for code, text in sorted(meant.items()))]


def _meaning(error: type[errors.PlannerError]) -> str:
    if error is errors.PlannerError:
        return "Something else is wrong; the message says what."
    return (error.__doc__ or "").partition("; `")[0].rstrip(".") + "."


def _plain(text: str) -> str:
    """Return text escaped for the language of manual pages."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def _filled(text: str) -> str:
    """Return prose in lines of at most 80 characters, escapes included."""
    lines = textwrap.wrap(text, 72, break_long_words=False, break_on_hyphens=False)
    return "\n".join(_plain(line) for line in lines)

"""Everything the documents tell a reader to type exists: commands, options and make targets."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from planner.cli.app import build

CHECKOUT = Path(__file__).resolve().parent.parent
DOCUMENTS = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").glob("*.md"))]


def typed_lines() -> Iterator[tuple[str, str]]:
    """Yield each line of the code blocks as (document, line), without its comment, continuation lines joined."""
    for document in DOCUMENTS:
        text = re.sub(r"\\\n\s*", " ", document.read_text(encoding="utf-8"))
        blocks = re.findall(r"^```(?:sh|bash|console)?\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
        indented = [line for line in text.splitlines() if line.startswith("    ")]
        for line in [*indented, *(line for block in blocks for line in block.splitlines())]:
            yield document.name, re.sub(r"(^|\s)#.*", "", line).strip().removeprefix("$ ")


def commands_of(program: str) -> list[tuple[str, list[str]]]:
    """Return the calls of `program` in the documents as (document, words)."""
    calls = [(name, part) for name, line in typed_lines() for part in re.split(r"&&|;|\|", line)]
    return [(name, shlex.split(part)) for name, part in calls if re.match(rf"{program}(\s|$)", part.strip())]


EVERYWHERE = {"--help", "--install-completion", "--show-completion"}
"""Options that typer adds, also to `plan`."""


@cache
def tree() -> Any:
    return typer.main.get_command(build())


def leaf(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that `words` name and the words left for it."""
    command = tree()
    while words and not words[0].startswith("-") and hasattr(command, "commands"):
        assert words[0] in command.commands, f"no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


def calls() -> list[tuple[str, list[str]]]:
    whole = [(name, words[1:]) for name, words in commands_of("planner")]
    return whole + [(name, words) for name, words in commands_of("plan")]


@pytest.mark.parametrize(
    ("document", "words"), calls(), ids=lambda value: " ".join(value) if isinstance(value, list) else value
)
def test_documented_commands_and_options_exist(document: str, words: list[str]) -> None:
    command, arguments = leaf(words)
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    own = takewhile(lambda word: word != "--", arguments)  # the rest is for another command
    used = {word.split("=")[0] for word in own if word.startswith("-")}
    assert used <= options | EVERYWHERE, f"{document}: {command.name} has no {used - options}"


def test_documented_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), flags=re.MULTILINE))
    used = {words[1] for _, words in commands_of("make") if len(words) > 1 and "=" not in words[1]}
    assert {"run", "test"} <= used <= targets
    helped = set(re.findall(r"^#   make (\w+)", (CHECKOUT / "Makefile").read_text(), flags=re.MULTILINE))
    assert helped <= targets


def test_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    code, *of_data = project["license"].split(" AND ")
    assert (citation["version"], citation["license"]) == (project["version"], code) and of_data

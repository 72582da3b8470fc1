"""What is typed and cannot be taken is refused with the command that was meant, or an example of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import typer

UsageError: Final[Any] = typer.BadParameter.__base__
"""What typer raises for words that a command does not take; it has no public name."""

_UNCLEAR: Final = ("MissingParameter", "UsageError")
"""Errors that do not say what to type instead: a missing argument, and one too many."""

_MEANT: Final = {
    "status": ("list", "ls", "ps", "show"),
    "down": ("delete", "destroy", "rm", "stop", "terminate"),
    "up": ("create", "launch", "start"),
    "show": ("list", "ls"),
}
"""By command: what other programs call it."""


def with_example(error: Any, examples: Sequence[str], *, given: bool) -> Any:
    """Return the error with what a missing argument is, and an example. Of several files the last is the one that is
    missing where any is `given`.
    """
    if type(error).__name__ not in _UNCLEAR:
        return error
    parameter, arguments = getattr(error, "param", None), []
    if parameter is not None and parameter.param_type_name == "argument" and error.ctx is not None:
        arguments = [param for param in error.ctx.command.params if param.param_type_name == "argument"]
    if parameter is not None and given and len(arguments) > 1 and parameter is arguments[0]:
        error.param = arguments[-1]
    about = [getattr(error.param, "help", "") or ""] if arguments else []
    example = [f"For example: {examples[0]}"] if examples else []
    text = error.message and f"{error.message.rstrip('.')}."
    error.message = " ".join(filter(None, [text, *about, *example]))
    return error


def meant(word: str, commands: Collection[str]) -> str:
    """Return the command of a group that other programs call `word`; '' for none."""
    return next((name for name, others in _MEANT.items() if name in commands and word in others), "")

"""`plan` without options at a terminal: it asks for the options it needs, and prints the command for the next time."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner.cli.plan.request_options import RequestOptions
from planner.cli.shell.console import show_sentences, show_text
from planner.errors import BadInputError, PlannerError, nearest
from planner.schemas.request import options
from planner.units import format_bytes, format_exact_size, parse_duration, parse_number, parse_size

_SAFETY: Final = ("indy", "daytona", "object-store")
_FORMATS: Final = ("records", "lines", "csv", "parquet")
_MISSING: Final = "--data is missing: how much is to be sorted?"
_USAGE: Final = ("Usage: plan --data SIZE [OPTIONS]; plan --help lists the options", "For example: plan --data 100TB")


@dataclass(frozen=True, kw_only=True)
class _Question:
    """A question for a missing option, and the check of its answer."""

    option: str
    text: str
    check: Callable[[str], object] = str


def completed(request_options: RequestOptions) -> RequestOptions:
    """Return the options completed with answers asked for at a terminal.

    Elsewhere raises BadInputError with the usage.
    """
    if request_options.based_on or request_options["data"] is not None or request_options["input"]:
        return request_options
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInputError(_MISSING, _USAGE, code="missing-argument")
    show_text("Press Enter to take the answer in brackets; Ctrl-C ends.")
    try:
        answers = _data(request_options)
        for question in _questions():
            if _is_open(question.option, request_options, answers) and (
                answer := _answer(question.text, question.check)
            ):
                answers[question.option] = answer
    except EOFError:
        raise BadInputError(
            "the answers ended before the questions did; nothing was planned", _USAGE, code="answers-ended"
        ) from None
    answers = {name: answer for name, answer in answers.items() if answer}
    show_text(f"\nNext time: {_command(answers)}\n")
    return RequestOptions(request_options, **answers)


def _questions() -> Sequence[_Question]:
    """Return the questions after the one for the data; that for the model explains what each buys."""
    return (
        _Question(option="input", text="Where is it? s3://, gs:// or abfss://... [made on the nodes]", check=_address),
        _Question(
            option="format",
            text="What do the files hold? records, lines, csv or parquet [records]",
            check=lambda text: _one_of(text, _FORMATS),
        ),
        _Question(option="output", text="Where does the result go? s3://... [stays on the nodes]", check=_address),
        _Question(option="model", text=_safety_text(), check=lambda text: _one_of(text, _SAFETY)),
        _Question(option="deadline", text="By when must the whole run end? 30m, 2h [no limit]", check=parse_duration),
        _Question(option="budget", text="How many US dollars may it cost? 250 [no limit]", check=_usd),
    )


def _safety_text() -> str:
    from planner.cost_model.model_reader import load_model

    buys = "\n".join(f"  {name:<13} {load_model(name).durability}" for name in _SAFETY)
    return f"How safe must the result be?\n{buys}\nWhich of them? [daytona]"


def _is_open(option: str, request_options: RequestOptions, answers: dict[str, str]) -> bool:
    """Return whether an option exists and has no value or its default."""
    if option not in options() or option in answers:
        return False
    if option == "format" and not (request_options.get("input") or answers.get("input")):  # nodes generate records
        return False
    return request_options.get(option) in (None, RequestOptions.__signature__.parameters[option].default)


def _data(request_options: RequestOptions) -> dict[str, str]:
    """Ask for the data until its size is known: as a size, or as a place that can be listed. Nodes cannot read from a
    folder of this machine, so the place is not asked for again.
    """
    text = request_options.get("input") or _answer(
        "How much data is to be sorted? 3TB, a file or folder of it, or its address: s3://bucket/path",
        _size_or_place,
        needed=True,
    )
    if not _is_place(text):
        return {"data": text}
    known = {} if request_options.get("input") else {"input": text if "://" in text else ""}
    try:
        return {"data": _size_of(text), **known}
    except PlannerError as error:
        show_sentences(f"It cannot be looked at: {error.message}")
    return {"data": _answer("How much data is there? 3TB", parse_size, needed=True), **known}


def _size_of(place: str) -> str:
    from planner.api.listed_input import files_at

    files = files_at(place)
    plural, size = "file" if len(files) == 1 else "files", sum(files.values())
    show_text(f"{len(files):,} {plural}, {format_bytes(size)}")
    return format_exact_size(size)


def _answer(question: str, check: Callable[[str], object], *, needed: bool = False) -> str:
    """Ask until the answer is valid; '' where it is empty and not `needed`."""
    *before, last = question.split("\n")
    if before:
        show_text("\n".join(before))
    while True:
        text = input(f"{last}: ").strip()
        if not text and not needed:
            return ""
        try:
            check(text)
        except PlannerError as error:
            show_sentences(str(error))
        else:
            return text


def _is_place(text: str) -> bool:
    return "://" in text or Path(text).expanduser().exists()


def _size_or_place(text: str) -> None:
    if "://" in text:
        _address(text)
    elif text and not _is_place(text):
        try:
            parse_size(text)
        except BadInputError as error:
            hint = "; there is no such file or folder either" if any(sign in text for sign in "/~.") else ""
            raise error.reworded(f"{error.message}{hint}") from None
    elif not text:
        raise BadInputError("a size, a path or an address is needed: 3TB", code="missing-argument")


def _address(text: str) -> None:
    scheme, separator, rest = text.partition("://")
    if not (scheme and separator and rest.strip("/")):
        raise BadInputError(
            f"{text}: not the address of an object store, such as s3://bucket/path", code="not-an-address"
        )


def _one_of(text: str, words: Sequence[str]) -> None:
    if text not in words:
        raise BadInputError(f"{text}: use one of {', '.join(words)}.{nearest(text, words)}", code="unknown-word")


def _usd(text: str) -> None:
    if parse_number(text.removeprefix("$")) <= 0:
        raise BadInputError(f"{text}: must be a positive amount of US dollars", code="out-of-range")


def _command(answers: dict[str, str]) -> str:
    """Return the command equivalent to the options and answers."""
    typed = sys.argv[2:] if sys.argv[1:2] == ["plan"] else sys.argv[1:]
    said = [word for name, answer in answers.items() for word in (f"--{name}", answer)]
    return shlex.join(["plan", *typed, *said])

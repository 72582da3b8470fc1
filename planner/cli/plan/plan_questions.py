"""`plan` alone, at a terminal: it asks in words for what it needs to know, and says what to type the next time."""

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
from planner.schemas.request_forms import size_text
from planner.units import format_bytes, parse_duration, parse_number, parse_size

_SAFETY: Final = ("indy", "daytona", "object-store")
_FORMATS: Final = ("records", "lines", "csv", "parquet")
_MISSING: Final = "--data is missing: how much is to be sorted?"
_USAGE: Final = ("Usage: plan --data SIZE [OPTIONS], of which plan --help tells", "For example: plan --data 100TB")


@dataclass(frozen=True, kw_only=True)
class _Question:
    """What is asked of an option that was not given, and what to understand by the answer."""

    option: str
    text: str
    check: Callable[[str], object] = str


def completed(asked: RequestOptions) -> RequestOptions:
    """Return the options with what is missing: asked for at a terminal.

    Elsewhere raises BadInputError with the usage.
    """
    if asked["data"] is not None or asked["most_data"] or asked["input"]:
        return asked
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInputError(_MISSING, _USAGE)
    show_text("Nothing after a question takes what it says in brackets; Ctrl-C ends.")
    try:
        answers = _data(asked)
        for question in _questions():
            if _is_open(question.option, asked, answers) and (answer := _answer(question.text, question.check)):
                answers[question.option] = answer
    except EOFError:
        raise BadInputError("the answers ended before the questions did; nothing was planned", _USAGE) from None
    answers = {name: answer for name, answer in answers.items() if answer}
    show_text(f"\nNext time: {_command(answers)}\n")
    return RequestOptions(asked, **answers)


def _questions() -> Sequence[_Question]:
    """Return what is asked after the data; what a model buys is said when its turn comes."""
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


def _is_open(option: str, asked: RequestOptions, answers: dict[str, str]) -> bool:
    """Whether an option exists and was not given, or was given as by default."""
    if option not in options() or option in answers:
        return False
    if option == "format" and not (asked.get("input") or answers.get("input")):  # nodes make records
        return False
    return asked.get(option) in (None, RequestOptions.__signature__.parameters[option].default)


def _data(asked: RequestOptions) -> dict[str, str]:
    """Ask for the data until its size is known: as a size, or as a place that can be listed. Nodes cannot read from a
    folder of this machine, so that the place is not asked for again.
    """
    text = asked.get("input") or _answer(
        "How much data is to be sorted? 3TB, a file or folder of it, or its address: s3://bucket/path",
        _size_or_place,
        needed=True,
    )
    if not _is_place(text):
        return {"data": text}
    known = {} if asked.get("input") else {"input": text if "://" in text else ""}
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
    return size_text(size)


def _answer(question: str, check: Callable[[str], object], *, needed: bool = False) -> str:
    """Ask until the answer can be understood; '' where nothing is answered and nothing is `needed`."""
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
            raise BadInputError(f"{error.message}{hint}") from None
    elif not text:
        raise BadInputError("a size, a path or an address is needed: 3TB")


def _address(text: str) -> None:
    scheme, separator, rest = text.partition("://")
    if not (scheme and separator and rest.strip("/")):
        raise BadInputError(f"{text}: not the address of an object store, such as s3://bucket/path")


def _one_of(text: str, words: Sequence[str]) -> None:
    if text not in words:
        raise BadInputError(f"{text}: use one of {', '.join(words)}.{nearest(text, words)}")


def _usd(text: str) -> None:
    if parse_number(text.removeprefix("$")) <= 0:
        raise BadInputError(f"{text}: must be a positive amount of US dollars")


def _command(answers: dict[str, str]) -> str:
    """Return the command that says what was typed and answered."""
    typed = sys.argv[2:] if sys.argv[1:2] == ["plan"] else sys.argv[1:]
    said = [word for name, answer in answers.items() for word in (f"--{name}", answer)]
    return shlex.join(["plan", *typed, *said])

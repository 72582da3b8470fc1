"""`plan` alone, at a terminal: it asks in words for what it needs to know."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from planner.cli.plan.request_options import RequestOptions
from planner.errors import BadInputError, PlannerError
from planner.units import parse_duration, parse_size

if TYPE_CHECKING:
    from collections.abc import Callable


def completed(asked: RequestOptions) -> RequestOptions:
    """Return the options with what is missing: asked for at a terminal.

    Elsewhere raises BadInputError with an example.
    """
    if asked["data"] is not None or asked["most_data"] or asked["input"]:
        return asked
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInputError("--data is missing: how much is to be sorted? For example: plan --data 100TB")
    data = _answer("How much data is to be sorted, such as 100TB?", check=parse_size)
    place = _answer("Where is it? s3://bucket/path, or nothing if the nodes generate it:", check=str, optional=True)
    result = _answer("Where does the result go? s3://bucket/path, or nothing if it stays:", check=str, optional=True)
    lost = _answer("May a node be lost with its share of the output? yes or no:", check=_yes_or_no)
    until = _answer(
        "Until when must it be sorted, such as 30m? Nothing for no limit:", check=parse_duration, optional=True
    )
    return RequestOptions(
        asked,
        data=data,
        input=place or asked["input"],
        output=result or asked["output"],
        model="indy" if _yes_or_no(lost) else "daytona",
        deadline=until or asked["deadline"],
    )


def _answer(question: str, *, check: Callable[[str], object], optional: bool = False) -> str:
    """Ask until the answer can be understood."""
    while True:
        text = input(f"{question} ").strip()
        if not text and optional:
            return ""
        try:
            check(text)
        except PlannerError as error:
            print(error)
        else:
            return text


def _yes_or_no(text: str) -> bool:
    if text.lower() not in ("yes", "y", "no", "n"):
        raise BadInputError(f"{text!r}: say yes or no")
    return text.lower().startswith("y")

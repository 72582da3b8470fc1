"""JSON files of instruments: read completely, or refused with the place of the error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


EARLIER: Final = "#"
"""Marks the earlier of equal names in one object, oldest first: `sum_sent#1`."""


def _keep_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object in which the last of equal names counts and the others are kept under marked names."""
    whole: dict[str, Any] = {}
    for name, value in pairs:
        if name in whole:
            whole[f"{name}{EARLIER}{sum(key.startswith(f'{name}{EARLIER}') for key in whole) + 1}"] = whole[name]
        whole[name] = value
    return whole


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_keep_repeated)
_BEGINS: Final = re.compile(r'^[^\n,{"]*\{(?=\s*["}]|\s*\Z)', re.MULTILINE)
"""An object begins a line, or follows words that a program prints while it runs."""
_LIST: Final = re.compile(r'\s*\[\s*([{\]"]|-?\d[\d.]*\s*,)')
_NO_NUMBER: Final = re.compile(r'("\s*:\s*)-?(?:nan|inf(?:inity)?)\b', re.IGNORECASE)
"""C's output for a missing figure, such as the deviation of a single sample."""


def parse(path: Path, text: str) -> list[dict[str, Any]]:
    """Return the JSON objects in `text`, one, several or a list; plain words around them are skipped.

    A figure that is not a number becomes null. Raises BadInputError for truncated or malformed JSON.
    """
    text = _NO_NUMBER.sub(r"\1null", text)
    if is_list(text):
        items = parse_list(path, text)
        if not items or not all(isinstance(item, dict) for item in items):
            raise BadInputError(
                f"{path}: JSON of no known instrument; expected a JSON object, or a list of them", code="unknown-format"
            )
        return items
    documents: list[dict[str, Any]] = []
    begin = _BEGINS.search(text)
    while begin:
        try:
            document, end = _DECODER.raw_decode(text, begin.end() - 1)
        except ValueError as error:
            raise _incomplete_error(path, error) from error
        documents.append(document)
        begin = _BEGINS.search(text, end)
    if not documents:
        raise BadInputError(f"{path}: expected a JSON object, as instruments write it", code="wrong-type")
    return documents


def holds_objects(text: str) -> bool:
    """Return whether a JSON object begins somewhere in `text`, or a list of them at its start."""
    return is_list(text) or _BEGINS.search(text) is not None


def is_list(text: str) -> bool:
    """Return whether `text` begins like a JSON list of objects."""
    return _LIST.match(text) is not None


def parse_list(path: Path, text: str) -> list[Any]:
    """Return the JSON list in `text`. Raises BadInputError for truncated or malformed JSON, and for anything else."""
    items = _parse(path, text)
    if not isinstance(items, list):
        raise BadInputError(f"{path}: expected a JSON list", code="wrong-type")
    return items


def _parse(path: Path, text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except ValueError as error:
        raise _incomplete_error(path, error) from error


def _incomplete_error(path: Path, error: ValueError) -> BadInputError:
    return BadInputError(
        f"{path}: not complete JSON; was it cut off? Run the instrument again", [str(error)], code="not-json"
    )


@contextmanager
def refuse_malformed(path: Path) -> Iterator[None]:
    """Raise BadInputError if the body fails on valid JSON that its supposed instrument would not write."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BadInputError(
            f"{path}: not as its instrument writes it; run it again", [repr(error)], code="malformed"
        ) from error


def number(path: Path, holder: Any, name: str) -> float:
    """Return a number from a parsed object. Raises BadInputError when it is missing, not a number or negative."""
    value = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInputError(
            f"{path}: {name} is {'missing' if value is None else repr(value)}, expected a number", code="not-a-number"
        )
    if value < 0:
        raise BadInputError(f"{path}: {name} is {value}; a negative figure cannot have been measured", code="negative")
    return float(value)


def day_of(seconds: Any) -> date | None:
    """Return the day (UTC) of a Unix time; None when there is none."""
    is_time = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < 4e9
    return datetime.fromtimestamp(seconds, UTC).date() if is_time else None

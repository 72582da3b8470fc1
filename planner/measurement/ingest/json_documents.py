"""JSON files of instruments: read whole or refused with the place where they break."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


EARLIER: Final = "#"
"""Marks the earlier of equal names in one object, oldest first: `sum_sent#1`."""


def _keep_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object in which the last of equal names counts and the others are kept under a marked one."""
    whole: dict[str, Any] = {}
    for name, value in pairs:
        if name in whole:
            whole[f"{name}{EARLIER}{sum(key.startswith(f'{name}{EARLIER}') for key in whole) + 1}"] = whole[name]
        whole[name] = value
    return whole


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_keep_repeated)
_BEGINS: Final = re.compile(r"^[ \t]*\{", re.MULTILINE)


def parse(path: Path, text: str) -> list[dict[str, Any]]:
    """Return the JSON objects in `text`, one or several; plain lines around them are passed over.

    An object begins at the start of a line. Raises BadInputError for truncated or malformed JSON.
    """
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
        raise BadInputError(f"{path}: expected a JSON object, as instruments write it")
    return documents


def holds_objects(text: str) -> bool:
    """Whether a JSON object begins somewhere in `text`."""
    return _BEGINS.search(text) is not None


def parse_list(path: Path, text: str) -> list[Any]:
    """Return the JSON list in `text`. Raises BadInputError for truncated or malformed JSON, and for anything else."""
    items = _parse(path, text)
    if not isinstance(items, list):
        raise BadInputError(f"{path}: expected a JSON list")
    return items


def _parse(path: Path, text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except ValueError as error:
        raise _incomplete_error(path, error) from error


def _incomplete_error(path: Path, error: ValueError) -> BadInputError:
    return BadInputError(f"{path}: not complete JSON ({error}); was it cut off? Run the instrument again")


def number(path: Path, holder: Any, name: str) -> float:
    """Return a number out of a parsed object. Raises BadInputError when it is missing, not a number or negative."""
    value = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInputError(f"{path}: {name} is {'missing' if value is None else repr(value)}, expected a number")
    if value < 0:
        raise BadInputError(f"{path}: {name} is {value}; a negative figure cannot have been measured")
    return float(value)


def day_of(seconds: Any) -> date | None:
    """Return the day (UTC) of a Unix time; None when there is none."""
    is_time = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < 4e9
    return datetime.fromtimestamp(seconds, UTC).date() if is_time else None

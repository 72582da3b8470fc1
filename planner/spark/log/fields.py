"""Type-checked access to an event's fields: an absent one is None, one of a wrong type an error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from planner.spark.application.application import Loss

Event = dict[str, Any]
LATEST_MS: Final = 1e14


class FieldError(Exception):
    """A required field is absent, or a field has a wrong type."""


class RepeatedError(Exception):
    """A repeated event, which must not count twice."""


def number(event: Event, key: str) -> float | None:
    """Return a finite number (an int stays one), None if it is absent. Raises FieldError."""
    value = event.get(key)
    if value is None:
        return None
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return value
    raise FieldError(f"{key} is {value!r:.40}, not a number")


def whole_number(event: Event, key: str) -> int:
    """Return a required integer of at least 0. Raises FieldError."""
    value = event.get(key)
    if type(value) is int and value >= 0:
        return value
    raise FieldError(f"{key} is {value!r:.40}, not a whole number from 0")


def text(event: Event, key: str) -> str:
    """Return a text, '' where it is absent. Raises FieldError."""
    value = event.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise FieldError(f"{key} is {value!r:.40}, not a text")


def group(event: Event, key: str) -> Event:
    """Return the fields under a key, none where it is absent. Raises FieldError."""
    value = event.get(key)
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise FieldError(f"{key} is {value!r:.40}, not an object")


def items(event: Event, key: str) -> list[Any]:
    """Return the list under a key, empty where it is absent. Raises FieldError."""
    value = event.get(key)
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise FieldError(f"{key} is {value!r:.40}, not a list")


def milliseconds(event: Event, key: str) -> float | None:
    """Return a time in milliseconds, None if it is absent. Raises FieldError, also for times beyond the year 5000."""
    value = number(event, key)
    if value is not None and value > LATEST_MS:
        raise FieldError(f"{key} is {value!r:.40}, not a time")
    return value


def seconds(event: Event, key: str) -> float | None:
    """Return a time in seconds from one in milliseconds; Spark writes 0 and -1 for a time not reached yet.

    Raises FieldError.
    """
    value = milliseconds(event, key)
    return value / 1000 if value is not None and value > 0 else None


_EXAMPLE_LETTERS = 100


class Losses:
    """Collects losses while a log is read; one entry for each kind of loss, so its size is bounded."""

    def __init__(self) -> None:
        self._losses: dict[str, Loss] = {}

    def add(self, what: str, *, where: str, example: object = "", count: int = 1) -> None:
        """Count `count` more losses of a kind; `where` and `example` are kept from the first."""
        before = self._losses.get(what)
        first = where if before is None else before.first
        text = shorten(example) if before is None else before.example
        self._losses[what] = Loss(what=what, count=count + (before.count if before else 0), first=first, example=text)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self._losses.values())


def shorten(value: object) -> str:
    """Return the start of a text or of bytes as printable text."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text[: _EXAMPLE_LETTERS + 1])
    return text if len(text) <= _EXAMPLE_LETTERS else f"{text[:_EXAMPLE_LETTERS]}..."

"""From chunks of bytes to the events of a log, one line each, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from planner.compression.block_formats import BrokenDataError
from planner.spark.log.losses import Losses, shortened

MOST_LINE_BYTES: Final = 128 << 20
"""The longest lines seen are query plans of some MB; a longer one is no line of a log."""


def numbered_lines(chunks: Iterator[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line that is not blank with its number from 1; None in place of one above MOST_LINE_BYTES.

    A last line without an end is a line, also where the data then break off with BrokenDataError.
    """
    number, pending, size = 1, [b""], 0
    try:
        for chunk in chunks:
            first, *others = chunk.split(b"\n")
            pending.append(first if size <= MOST_LINE_BYTES else b"")
            size += len(first)
            for text in others:
                yield from _line(number, pending, size)
                number, pending, size = number + 1, [text], len(text)
    except BrokenDataError:
        yield from _line(number, pending, size)
        raise
    yield from _line(number, pending, size)


def _line(number: int, pending: list[bytes], size: int) -> Iterator[tuple[int, bytes | None]]:
    if size > MOST_LINE_BYTES:
        yield number, None
        return
    line = b"".join(pending)
    if line and not line.isspace():
        yield number, line


def events(chunks: Iterator[bytes], *, name: str, losses: Losses) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the events of one file with their line numbers; what is none is counted in `losses`."""
    number = 0
    try:
        for number, line in numbered_lines(chunks):
            event = _event(line)
            if isinstance(event, dict):
                yield number, event
            else:
                losses.add(event, where=f"{name}, line {number}", example=shortened(line or b""))
    except BrokenDataError as error:
        losses.add("end of a file that cannot be decompressed", where=f"{name}, after line {number}", example=error)


def _event(line: bytes | None) -> dict[str, Any] | str:
    """Return the event of a line, or in words why it is none."""
    if line is None:
        return f"line longer than {MOST_LINE_BYTES >> 20} MiB"
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return "line that is not JSON"
    if not isinstance(event, dict) or not isinstance(event.get("Event"), str):
        return "line that is no event"
    return event

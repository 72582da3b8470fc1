"""Notes for new users on sorting text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from planner.compression.looks import Look, is_text
from planner.errors import BadInputError


@contextmanager
def records_expected(looks: Sequence[Look], *, advice: str) -> Iterator[None]:
    """Add `advice` to the error for a file that is not a whole number of records, if it is text."""
    try:
        yield
    except BadInputError as error:
        if "no whole number of records" not in error.message or not any(is_text(look.stored) for look in looks):
            raise
        raise BadInputError(f"{error.message}; it looks like text: {advice}", code="looks-like-text") from error


def notes_on_columns(look: Look, separator: bytes) -> Iterator[str]:
    """Yield notes on how a sort by columns treats headings and quotes, if the beginning of the file has them."""
    lines = look.stored.split(b"\n")
    if any(field.startswith(b'"') and not _closed(field) for line in lines[:-1] for field in line.split(separator)):
        yield f"{look.name} has a separator or a line's end within quotes; it separates there, too"
    first, second = (*lines, b"", b"")[:2]
    if not any(map(_is_number, first.split(separator))) and any(map(_is_number, second.split(separator))):
        was = "looks like a heading, and was sorted with the others; `tail -n +2` leaves it out"
        yield f"the first line of {look.name} {was}"


def _closed(field: bytes) -> bool:
    return len(field.rstrip()) > 1 and field.rstrip().endswith(b'"')


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True

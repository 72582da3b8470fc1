"""What a log holds that could not be read: counted and named, with the place of the first, never dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_EXAMPLE_LETTERS = 100


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Something that was not read: `count` times, first at `first` (file and line), where it says `example`."""

    what: str
    count: int
    first: str
    example: str = ""

    def __str__(self) -> str:
        example = f": {self.example}" if self.example else ""
        return f"{self.count} x {self.what}, first at {self.first}{example}"


class Losses:
    """Collects losses while a log is read; one entry for each sort of loss, so that its size is bounded."""

    def __init__(self) -> None:
        self._losses: dict[str, Loss] = {}

    def add(self, what: str, *, where: str, example: object = "", count: int = 1) -> None:
        """Count one more loss of this sort; `where` and `example` are those of the first."""
        before = self._losses.get(what)
        first = where if before is None else before.first
        text = shortened(example) if before is None else before.example
        self._losses[what] = Loss(what=what, count=count + (before.count if before else 0), first=first, example=text)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self._losses.values())


def shortened(value: object) -> str:
    """Return the beginning of a text or of bytes as printable text."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text[: _EXAMPLE_LETTERS + 1])
    return text if len(text) <= _EXAMPLE_LETTERS else f"{text[:_EXAMPLE_LETTERS]}..."

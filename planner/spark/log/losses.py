"""What a log holds that could not be read: counted and named, with the place of the first, never dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator

from planner.spark.application.loss import Loss

_EXAMPLE_LETTERS = 100


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

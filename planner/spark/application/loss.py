"""Something that a log holds and that could not be read."""

from __future__ import annotations

from dataclasses import dataclass


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

"""A cell that is probably wrong: place, value, reason for doubt and recommended action."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

ADVICE: Final = (
    "look it up at the vendor: correct the cell and name the source in its row, or state in reviews.csv why it is true"
)


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """One doubted cell; `factor` is its value over the expected one, NaN if it is not a number.

    `line` is its line in the file, 0 for a table without lines. `region` and `pricing` are those of a price, else ''.
    """

    file: str
    line: int
    instance_type: str
    column: str
    value: str
    reason: str
    advice: str = ADVICE
    factor: float = math.nan
    region: str = ""
    pricing: str = ""

    def __str__(self) -> str:
        place = f"{self.file}.csv:{self.line}" if self.line else f"{self.file}.csv"
        priced = f" ({', '.join(filter(None, (self.region, self.pricing)))})" if self.region else ""
        return f"{place}, {self.instance_type}{priced}, column {self.column}: {self.value}: {self.reason}"

"""The receipt: predictions and advice beside the runs that followed, row by row and for a month.

Predicted and measured figures have fields of their own. Unknown figures are None, and no sum counts them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from planner.schemas.json_values import to_jsonable


@dataclass(frozen=True, kw_only=True)
class ReceiptRow:
    """A run, with the advice or plan that it was about, if there is one; advice without a run; or an unused file.

    `day` (ISO, UTC) is that of the run, else of `file`; '' for unused files. `reason` is the rule that paired the two,
    why a figure is unknown, or why the file is unused. `predicted_*` are for the cluster of `ran_on` (of `advised`
    without a run), on the data that the run had; `range_share` of runs are expected from `low_s` (None: 0) to
    `high_s`. `before_usd` is the measured cost of the run that the advice was made from, which ran on `before`,
    `best_usd` that of the cheapest known run of the same job on as much data, if there are several. Seconds and US
    dollars.
    """

    kind: Literal["run", "advice", "unused"]
    file: str
    reason: str
    day: str = ""
    job: str = ""
    advice: str = ""
    advised: str = ""
    before: str = ""
    predicted_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    range_share: float | None = None
    predicted_usd: float | None = None
    ran_on: str = ""
    measured_s: float | None = None
    measured_usd: float | None = None
    before_usd: float | None = None
    best_usd: float | None = None

    @property
    def taken(self) -> bool:
        """True for a run on the cluster that was advised."""
        return bool(self.advised) and self.advised == self.ran_on

    @property
    def inside(self) -> bool | None:
        """Whether the measured time lies in the predicted range; None if either is unknown."""
        if self.measured_s is None or self.high_s is None:
            return None
        return (self.low_s or 0.0) <= self.measured_s <= self.high_s

    @property
    def error(self) -> float | None:
        """The prediction's error as a fraction of the measured time: 0.1 is 10% too long."""
        return self.predicted_s / self.measured_s - 1 if self.predicted_s and self.measured_s else None

    @property
    def saved_usd(self) -> float | None:
        """Measured cost before the advised move, less that after it; None unless a move was advised and made."""
        if not self.taken or self.advised == self.before or self.before_usd is None or self.measured_usd is None:
            return None
        return self.before_usd - self.measured_usd

    @property
    def regret_usd(self) -> float | None:
        """Measured cost above that of the cheapest known run; None if there is no other run."""
        return None if self.best_usd is None or self.measured_usd is None else self.measured_usd - self.best_usd

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON-able values, with the derived ones."""
        derived = ("taken", "inside", "error", "saved_usd", "regret_usd")
        return {**to_jsonable(self), **{name: getattr(self, name) for name in derived}}


@dataclass(frozen=True, kw_only=True)
class ReceiptMonth:
    """The sums of a month (`2026-11`; '' for all): pieces of advice, and how many of them were `taken`; runs, and how
    many of the `checked` ones were `inside` their range.

    `expected_share` is the share that the ranges promise. `saved_usd` sums the `moves` whose costs before and after
    are measured. `regret_usd` sums runs that followed advice and have others to compare with; `regret` is their cost as
    a multiple of the cheapest ones'. `wrong` has the runs outside their range, the worst first.
    """

    month: str
    advised: int
    taken: int
    runs: int
    checked: int
    inside: int
    expected_share: float | None
    moves: int
    saved_usd: float | None
    regret_usd: float | None
    regret: float | None
    wrong: tuple[ReceiptRow, ...]
    unused: int

    @property
    def inside_share(self) -> float | None:
        """Share of the checked runs inside their range; None without any."""
        return self.inside / self.checked if self.checked else None

    def to_dict(self) -> dict[str, Any]:
        """Return the month as JSON-able values; `wrong` rows by their files."""
        return {**to_jsonable(self), "inside_share": self.inside_share, "wrong": [row.file for row in self.wrong]}


def month_of(rows: Sequence[ReceiptRow], month: str) -> ReceiptMonth:
    """Return the sums of the rows of a month, of all rows for ''."""
    of_month = [row for row in rows if row.kind != "unused" and row.day.startswith(month)]
    checked = [row for row in of_month if row.inside is not None]
    saved = [row.saved_usd for row in of_month if row.saved_usd is not None]
    followed = [row for row in of_month if row.taken and row.regret_usd is not None]
    best_usd = math.fsum(row.best_usd or 0.0 for row in followed)
    regret_usd = math.fsum(row.regret_usd or 0.0 for row in followed)
    return ReceiptMonth(
        month=month,
        advised=len({row.advice for row in of_month if row.advised}),
        taken=len({row.advice for row in of_month if row.taken}),
        runs=sum(row.kind == "run" for row in of_month),
        checked=len(checked),
        inside=sum(bool(row.inside) for row in checked),
        expected_share=math.fsum(row.range_share or 0.0 for row in checked) / len(checked) if checked else None,
        moves=len(saved),
        saved_usd=math.fsum(saved) if saved else None,
        regret_usd=regret_usd if followed else None,
        regret=1 + regret_usd / best_usd if best_usd else None,
        wrong=tuple(sorted((row for row in checked if not row.inside), key=_miss, reverse=True)),
        unused=sum(row.kind == "unused" for row in rows),
    )


def _miss(row: ReceiptRow) -> float:
    """Return how far off a prediction was, as a ratio in either direction on a logarithmic scale."""
    return abs(math.log(row.measured_s / row.predicted_s)) if row.measured_s and row.predicted_s else math.inf

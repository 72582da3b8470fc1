"""The public function `planner.receipt`, and its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.config.paths import StrPath
from planner.errors import BadInputError
from planner.schemas.door import checked
from planner.schemas.json_values import VERSION
from planner.schemas.receipt import ReceiptMonth, ReceiptRow, month_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Advice and predictions beside the runs that followed: `rows` in the order of their days, unused files last."""

    rows: tuple[ReceiptRow, ...]

    @checked
    def month(self, month: str | None = None) -> ReceiptMonth:
        """Return the sums of a month, such as `2026-11`; of all rows without one. Raises BadInputError for others."""
        if month is not None and not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", month):
            raise BadInputError(f"{month!r} is no month: write it as 2026-11", field="month", code="malformed")
        return month_of(self.rows, month or "")

    def rows_of(self, month: ReceiptMonth) -> tuple[ReceiptRow, ...]:
        """Return the rows of a month, and the files that are not used."""
        return tuple(row for row in self.rows if row.kind == "unused" or row.day.startswith(month.month))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each row, with the derived figures. Seconds and US dollars; NaN is unknown."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.rows])

    def to_dict(self, month: ReceiptMonth) -> dict[str, Any]:
        """Return a month and its rows as JSON-able values."""
        return {"version": VERSION, "month": month.to_dict(), "rows": [row.to_dict() for row in self.rows_of(month)]}

    @checked
    def to_html(self, month: str | None = None, *, made_on: date | None = None) -> str:
        """Return the receipt of a month, or of all rows, as a page that needs no network. Raises as `month` does."""
        from planner.report.receipt import receipt_page

        of_month = self.month(month)
        return receipt_page(of_month, self.rows_of(of_month), made_on=made_on)


@checked
def receipt(places: StrPath | Sequence[StrPath], *, ran_on: str | Sequence[str] = ()) -> Receipt:
    """Return what advice and predictions were worth: each beside the run that followed, as `planner receipt` does.

    `places` are files, or folders of them: what `planner plan-log --out`, `plan --out` and `planner run --out` wrote,
    journals of rented runs, and Spark event logs; others are rows with a reason. `ran_on` gives machines that logs
    lack, as `m5.4xlarge x 4`, or `app-1=m5.4xlarge x 4` for each run. Raises BadInputError for a place that is not
    there or holds no file.
    """
    from planner.api.receipts.reading import read_rows
    from planner.spark.model.machines import parse_ran_on

    stated = [ran_on] if isinstance(ran_on, str) else list(ran_on)
    for text in stated:
        parse_ran_on(text.rpartition("=")[2])
    given = [places] if isinstance(places, str) or not isinstance(places, Sequence) else places
    return Receipt(rows=read_rows([Path(place) for place in given], ran_on=stated))

"""Other names and units for the data, so that no predictor gains by knowing a type, a column or a runtime by heart."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from tables import Row

RATES = ("ghz", "ebs_mbps", "net_base_gbps", "net_burst_gbps", "nvme_r_MBps", "nvme_w_MBps", "price_usd_h")


TOLD = ("type", "n", "data_gb", "io", "spill", "replicas")
"""Columns that a user has to name as calibration reads them."""


TOLD = ("type", "n", "data_gb", "io", "spill", "replicas")
"""Columns that a user has to name as calibration reads them."""


class Disguise:
    """Renaming of types and further columns, with counts in other units, texts replaced, and the second stretched by a
    factor that divides rates; seed None changes nothing.
    """

    def __init__(self, specs: dict[str, Row], seed: int | None, rows: Sequence[Row] = ()) -> None:
        rng = random.Random(f"disguise {seed}")
        names = sorted(specs)
        shuffled = rng.sample(names, len(names))
        self._alias = {name: name if seed is None else f"vm{shuffled.index(name):02d}" for name in names}
        self.factor = 1.0 if seed is None else math.exp(rng.uniform(math.log(0.7), math.log(1.4)))
        self.specs = {
            self._alias[name]: {**row, "type": self._alias[name], **{key: row[key] / self.factor for key in RATES}}
            for name, row in specs.items()
        }
        self._columns = {} if seed is None else _columns(rows, rng)

    def row(self, row: Row, runtime_s: float | None = None) -> Row:
        """Return a row as a predictor sees it, with `runtime_s` only if given."""
        seen = {key: value for key, value in row.items() if key not in ("runtime_s", "repeats_s")}
        for column, (alias, values) in self._columns.items():
            seen[alias] = values[seen.pop(column)]
        time = {} if runtime_s is None else {"runtime_s": runtime_s * self.factor}
        return {**seen, "type": self._alias[row["type"]], **time}

    def undo(self, answer: float | dict[str, float]) -> float | dict[str, float]:
        """Return an answer in true seconds."""
        if isinstance(answer, dict):
            return {key: value / self.factor for key, value in answer.items()}
        return answer / self.factor


def _columns(rows: Sequence[Row], rng: random.Random) -> dict[str, tuple[str, dict[Any, Any]]]:
    """Return each further column's new name and its values' new ones: shares stay, as they have no unit."""
    columns = [key for key in rows[0] if key not in (*TOLD, "runtime_s", "repeats_s")] if rows else []
    disguised = {}
    for column, alias in zip(columns, rng.sample(range(100), len(columns)), strict=True):
        values = sorted({row[column] for row in rows})
        numbers = all(isinstance(value, float) for value in values)
        unit = rng.choice((0.01, 12.0, 1000.0)) if numbers and values[0] > 100 else rng.choice((1.0, 60.0))
        share = numbers and max(values) <= 1
        names = rng.sample(range(100), len(values))
        new = [value * (1.0 if share else unit) if numbers else f"v{k}" for value, k in zip(values, names, strict=True)]
        disguised[column] = (f"c{alias}", dict(zip(values, new, strict=True)))
    return disguised

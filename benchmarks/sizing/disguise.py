"""Other names and other units, so that no predictor gains by knowing a type or a runtime by heart."""

from __future__ import annotations

import math
import random

from tables import Row

RATES = ("ghz", "ebs_mbps", "net_base_gbps", "net_burst_gbps", "nvme_r_MBps", "nvme_w_MBps", "price_usd_h")


class Disguise:
    """Types renamed, and the second stretched by a factor that rates shrink by; seed None leaves all as it is."""

    def __init__(self, specs: dict[str, Row], seed: int | None) -> None:
        rng = random.Random(f"disguise {seed}")
        names = sorted(specs)
        shuffled = rng.sample(names, len(names))
        self._alias = {name: name if seed is None else f"vm{shuffled.index(name):02d}" for name in names}
        self.factor = 1.0 if seed is None else math.exp(rng.uniform(math.log(0.7), math.log(1.4)))
        self.specs = {
            self._alias[name]: {**row, "type": self._alias[name], **{key: row[key] / self.factor for key in RATES}}
            for name, row in specs.items()
        }

    def row(self, row: Row, runtime_s: float | None = None) -> Row:
        """Return a row as a predictor sees it, with `runtime_s` only if that is handed in."""
        seen = {key: value for key, value in row.items() if key not in ("runtime_s", "repeats_s")}
        time = {} if runtime_s is None else {"runtime_s": runtime_s * self.factor}
        return {**seen, "type": self._alias[row["type"]], **time}

    def undo(self, answer: float | dict[str, float]) -> float | dict[str, float]:
        """Return an answer in true seconds."""
        if isinstance(answer, dict):
            return {key: value / self.factor for key, value in answer.items()}
        return answer / self.factor

"""Scores of a prediction: the regret of choosing by it, its error, whether its range holds, deadlines met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tables import Row

SLACK = 1.02
"""A deadline counts as missed when exceeded by more than 2%."""
LEAST_CHOICE = 6
"""Least number of clusters of one job for which a choice is scored."""
DEADLINES = (0.25, 0.5, 0.75)
"""The deadlines are these quantiles of the clusters' measured times."""


@dataclass(kw_only=True)
class Score:
    """Cost of the cluster predicted to be cheapest over that of the cheapest (`regret`), relative errors, log biases,
    hits of the 90% range, missed deadlines and extra cost of those met, all in parts of 1.
    """

    regret: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    bias: list[float] = field(default_factory=list)
    held_by_range: list[bool] = field(default_factory=list)
    missed: list[bool] = field(default_factory=list)
    extra_cost: list[float] = field(default_factory=list)

    def add(self, rows: Sequence[Row], answers: Sequence[Any], specs: dict[str, Row]) -> None:
        """Score the answers of one task: seconds, or dicts of `runtime_s`, `lo` and `hi`."""
        for row, answer in zip(rows, answers, strict=True):
            predicted, true = max(_median(answer), 1e-3), row["runtime_s"]
            self.error.append(abs(predicted - true) / true)
            self.bias.append(math.log(predicted / true))
            if isinstance(answer, dict):
                self.held_by_range.append(answer["lo"] <= true <= answer["hi"])
        for chosen, usual, latest in _choices(rows, answers):
            hourly = [row["n"] * specs[row["type"]]["price_usd_h"] for row in chosen]
            cost = [price * row["runtime_s"] for price, row in zip(hourly, chosen, strict=True)]
            self.regret.append(cost[min(range(len(cost)), key=lambda i: hourly[i] * usual[i])] / min(cost))
            self._add_deadlines(chosen, latest, hourly=hourly, cost=cost)

    def _add_deadlines(
        self, rows: Sequence[Row], latest: Sequence[float], *, hourly: Sequence[float], cost: Sequence[float]
    ) -> None:
        times = sorted(row["runtime_s"] for row in rows)
        for quantile in DEADLINES:
            deadline_s = times[round(quantile * (len(times) - 1))]
            within = [i for i, hi in enumerate(latest) if hi <= deadline_s]
            pick = min(within, key=lambda i: hourly[i] * latest[i]) if within else latest.index(min(latest))
            cheapest = min(cost[i] for i, row in enumerate(rows) if row["runtime_s"] <= deadline_s)
            self.missed.append(rows[pick]["runtime_s"] > SLACK * deadline_s)
            if not self.missed[-1]:
                self.extra_cost.append(cost[pick] / cheapest - 1)


def mean(values: Sequence[float]) -> float:
    """Return the mean, NaN of nothing."""
    return sum(values) / len(values) if values else math.nan


def _median(answer: Any) -> float:
    return float(answer["runtime_s"] if isinstance(answer, dict) else answer)


def _choices(rows: Sequence[Row], answers: Sequence[Any]) -> list[tuple[Sequence[Any], ...]]:
    """Return for each job the clusters to choose from, their predicted times, and the times for meeting a deadline: the
    range's upper ends.
    """
    groups: dict[tuple[Any, ...], list[tuple[Row, float, float]]] = {}
    for row, answer in zip(rows, answers, strict=True):
        job = tuple(row[key] for key in sorted(row) if key not in ("type", "n", "runtime_s", "repeats_s"))
        latest = float(answer["hi"]) if isinstance(answer, dict) else _median(answer)
        groups.setdefault(job, []).append((row, max(_median(answer), 1e-3), latest))
    return [tuple(zip(*group, strict=True)) for group in groups.values() if len(group) >= LEAST_CHOICE]

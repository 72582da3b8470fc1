"""Scores of a prediction: the regret of choosing by it, its error, whether its range holds, deadlines met."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from disguise import Disguise
from protocols import deal
from tables import Row, read, specifications

SLACK = 1.02
"""A deadline counts as missed when exceeded by more than 2%."""
LEAST_CHOICE = 6
"""Least number of clusters of one job for which a choice is scored."""
UNRUN_DRAWS = 10
"""Number of stretched seconds by which predictions without runs are scored."""
MISSES = 0.1
"""Share of times that a range may miss."""
DEADLINES = (0.25, 0.5, 0.75)
"""The deadlines are these quantiles of the clusters' measured times."""


@dataclass(kw_only=True)
class Score:
    """Cost of the cluster predicted to be cheapest over that of the cheapest (`regret`), relative errors, log biases,
    hits of the 90% range, missed deadlines and extra cost of those met, all in parts of 1; `log_width` is the log of
    the ratio of a range's ends, `interval` the same plus 20 times by how much a time lies outside, in log seconds.
    """

    regret: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    bias: list[float] = field(default_factory=list)
    held_by_range: list[bool] = field(default_factory=list)
    log_width: list[float] = field(default_factory=list)
    interval: list[float] = field(default_factory=list)
    missed: list[bool] = field(default_factory=list)
    extra_cost: list[float] = field(default_factory=list)

    def add(self, rows: Sequence[Row], answers: Sequence[Any], specs: dict[str, Row]) -> None:
        """Score the answers of one task: seconds, or dicts of `runtime_s`, `lo` and `hi`."""
        for row, answer in zip(rows, answers, strict=True):
            predicted, true = max(_median(answer), 1e-3), row["runtime_s"]
            self.error.append(abs(predicted - true) / true)
            self.bias.append(math.log(predicted / true))
            if isinstance(answer, dict):
                self._add_range(math.log(answer["lo"]), math.log(answer["hi"]), math.log(true))
        for chosen, usual, latest in _choices(rows, answers):
            hourly = [row["n"] * specs[row["type"]]["price_usd_h"] for row in chosen]
            cost = [price * row["runtime_s"] for price, row in zip(hourly, chosen, strict=True)]
            self.regret.append(cost[min(range(len(cost)), key=lambda i: hourly[i] * usual[i])] / min(cost))
            self._add_deadlines(chosen, latest, hourly=hourly, cost=cost)

    def _add_range(self, low: float, high: float, true: float) -> None:
        self.held_by_range.append(low <= true <= high)
        self.log_width.append(high - low)
        self.interval.append(high - low + 2 / MISSES * (max(low - true, 0) + max(true - high, 0)))

    @property
    def loss(self) -> float:
        """What constants are chosen by: the mean error of log time, an eighth of the interval score, and the regret's
        excess over 1.
        """
        excess = mean(self.regret) - 1 if self.regret else 0.0
        return mean([abs(bias) for bias in self.bias]) + mean(self.interval) / 8 + excess

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


def scored(
    predictor: Any, suite: str, protocol: str, *, seeds: int, disguise: int | None = None, stretch_sd: float = 0.0
) -> tuple[Score, float]:
    """Return a predictor's score in one protocol and the mean processor milliseconds of a task.

    With `stretch_sd`, all times of a task are multiplied by one factor, drawn with that deviation of its logarithm.
    """
    specs, rows, score = specifications(), read(suite), Score()
    mask, tasks = Disguise(specs, disguise, rows), list(deal(protocol, rows, seeds=seeds))
    if protocol == "no_runs":
        tasks = [] if predictor.needs_runs else tasks * (UNRUN_DRAWS if stretch_sd else 1)
    started = time.process_time()
    for number, task in enumerate(tasks):
        factor = math.exp(random.Random(f"{suite} {protocol} {number}").gauss(0, stretch_sd))
        train = [mask.row(row, factor * second) for row, second in zip(task.train, task.train_s, strict=True)]
        seen = {"suite": suite, "specs": mask.specs, "train": train, "query": [mask.row(row) for row in task.query]}
        truth = [{**row, "runtime_s": factor * row["runtime_s"]} for row in task.query]
        score.add(truth, [mask.undo(answer) for answer in predictor.run(seen)], specs)
    return score, 1000 * (time.process_time() - started) / max(len(tasks), 1)


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

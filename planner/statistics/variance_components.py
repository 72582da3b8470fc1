"""Variation across instances, across time and within a run, separated.

A rate that differs from node to node but stays with its node is worth screening for; one that fluctuates is not, and
spares chosen by yesterday's rate do not help. Repeated runs separate the two: ln rate = mean + node + run, both random,
with variances by the method of moments for groups of unequal size (one-way analysis of variance). Within a run, the
variation from interval to interval counts: it averages out over a phase of many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.errors import BadInputError


@dataclass(frozen=True, kw_only=True)
class Variation:
    """Standard deviations of ln rate: `across_nodes` is constant for a node, `across_runs` varies between runs.

    `percentiles` are the 5th, 25th, 50th, 75th and 95th of all runs' rates.
    """

    nodes: int
    runs: int
    across_nodes: float
    across_runs: float
    percentiles: tuple[float, float, float, float, float]

    @property
    def lasting_share(self) -> float:
        """The share of the variance that stays with a node: how well one run predicts the next (0 without variance)."""
        total = self.across_nodes**2 + self.across_runs**2
        return self.across_nodes**2 / total if total > 0 else 0.0

    @property
    def text(self) -> str:
        """Both in words."""
        return (
            f"varies {self.across_nodes:.1%} from node to node and {self.across_runs:.1%} from run to run of one node: "
            f"{self.lasting_share:.0%} of it stays with the node"
        )


def log_sigma(rates: Sequence[float]) -> float | None:
    """Return the standard deviation of ln rate; None without two rates above zero."""
    logs = np.log([rate for rate in rates if rate > 0])
    return float(logs.std(ddof=1)) if len(logs) > 1 else None


def within_runs(series: Sequence[Sequence[float]]) -> float | None:
    """Return the standard deviation of ln rate from interval to interval of a run, over several runs, each about its
    own mean. An interval at zero counts as a hundredth of the run's mean, since its logarithm is infinite. None without
    a run of two intervals.
    """
    logs = [np.log(np.maximum(run, np.mean(run) / 100)) for run in series if sum(run) > 0]
    freedom = sum(len(run) - 1 for run in logs)
    squares = sum(float(((run - run.mean()) ** 2).sum()) for run in logs)
    return math.sqrt(squares / freedom) if freedom else None


def variation(runs: Mapping[str, Sequence[float]]) -> Variation | None:
    """Return the variation of rates by node, each a sequence of runs; None without two nodes and one repeat.

    Unknown and zero rates are left out: a node that does nothing does not vary. Raises BadInputError for negative or
    infinite rates.
    """
    groups = [np.array([rate for rate in rates if not math.isnan(rate) and rate != 0]) for rates in runs.values()]
    groups = [group for group in groups if len(group)]
    if any((group < 0).any() or np.isinf(group).any() for group in groups):
        raise BadInputError("a rate must be finite and not negative", code="not-a-rate")
    sizes = np.array([len(group) for group in groups])
    if len(groups) < 2 or sizes.sum() == len(groups):
        return None
    logs = [np.log(group) for group in groups]
    means = np.array([group.mean() for group in logs])
    total, count = sizes.sum(), len(groups)
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in logs) / (total - count)
    overall = float(np.concatenate(logs).mean())
    between = float((sizes * (means - overall) ** 2).sum()) / (count - 1)
    usual_size = (total - (sizes**2).sum() / total) / (count - 1)
    low, quarter, middle, upper, high = np.percentile(np.concatenate(groups), (5, 25, 50, 75, 95)).tolist()
    return Variation(
        nodes=count,
        runs=int(total),
        across_nodes=math.sqrt(max(0.0, (between - within) / usual_size)),
        across_runs=math.sqrt(within),
        percentiles=(low, quarter, middle, upper, high),
    )

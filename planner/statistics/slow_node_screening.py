"""Bad apples: selection of the nodes to drop from a cluster before the work starts.

Scalyr (2013), "Bad Apples": of 45 instances most wrote about 7 blocks of 4 MB a second, five 0.8 or less, so one bad
node in nine would have set the pace of a barrier. Small reads spread over 1.5 to 1 and had none: dropping the slowest
there gains nothing. The rule has to separate the two cases, and a reader must be able to check it with a calculator.

A node is dropped when its rate is below
    limit = median x exp(-z x spread), but between LEAST and MOST of the median,
    spread = 1.4826 x median(|ln(rate / median)|),
where z = (1 + 6/N) x the normal quantile of 1 - FALSE_ALARMS/N: a healthy lognormal cluster of N nodes loses a node in
one cluster of 1 / FALSE_ALARMS. A node above MOST is not worth a replacement; one below LEAST would double the job's
time, whatever is usual. A minority of bad nodes hardly moves a median; a majority does, and then counts as usual. Fewer
than MIN_NODES nodes have no majority.

For a metric where less is better, such as a latency, the limit is as far above the median: the same with rate and limit
inverted. If half of the nodes have a value of zero, as for errors, the limit is z events.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from planner.errors import BadInputError

MOST: Final = 0.9
LEAST: Final = 0.5
FALSE_ALARMS: Final = 0.05
MIN_NODES: Final = 3
_NORMAL_MAD: Final = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The lowest rate allowed in this cluster, and its derivation; `spread` is relative, `z` counts spreads. With
    `lower_is_better`, rates are times and the limit is the longest time allowed.
    """

    metric: str
    nodes: int
    median_per_s: float
    spread: float
    z: float
    limit_per_s: float
    lower_is_better: bool = False

    @property
    def text(self) -> str:
        """The rule with its numbers."""
        nodes = f"{self.nodes} node{'s' * (self.nodes != 1)}"  # units are a folder of the same floor
        if self.median_per_s == 0:
            return f"{self.metric} (less is better): limit {self.limit_per_s:.3g}; half of {nodes} have 0"
        if self.nodes < MIN_NODES:
            return f"{self.metric}: {nodes} cannot say which of them is slow"
        sign, least, most = ("", 1 / MOST, 1 / LEAST) if self.lower_is_better else ("-", LEAST, MOST)
        expected = math.exp((1 if self.lower_is_better else -1) * self.z * self.spread)
        less = " (less is better)" if self.lower_is_better else ""
        return (
            f"{self.metric}{less}: limit {self.limit_per_s:.4g} = median {self.median_per_s:.4g} x {expected:.3g} "
            f"(exp({sign}{self.z:.3g} x {self.spread:.3g})), but between {least:.3g} and {most:.3g} of it; "
            f"{nodes}"
        )


@dataclass(frozen=True, kw_only=True)
class DroppedNode:
    """A node to drop, and why; `rate_per_s` is NaN without a figure."""

    node: str
    metric: str
    rate_per_s: float
    limit_per_s: float
    reason: str
    lower_is_better: bool = False

    @property
    def share(self) -> float:
        """Rate over limit, for times limit over time; 0 without a figure."""
        share = self.rate_per_s / self.limit_per_s if self.rate_per_s > 0 else 0.0
        return 1 / share if self.lower_is_better and share else share


@dataclass(frozen=True, kw_only=True)
class Screening:
    """Nodes to keep, fastest first by their worst metric relative to its median, and those to drop with reasons."""

    kept: tuple[str, ...]
    dropped: tuple[DroppedNode, ...]
    limits: tuple[Limit, ...]


def screen(rates: Mapping[str, Mapping[str, float]], *, lower_is_better: Collection[str] = ()) -> Screening:
    """Return the nodes to keep, given each metric's rate by node; for those in `lower_is_better` less is better.

    A node is dropped if it lacks a figure that half of all have, or if it is at zero; the worst of several reasons is
    reported. Raises BadInputError for no figures, or rates that are negative or infinite.
    """
    nodes = list(dict.fromkeys(node for figures in rates.values() for node in figures))
    if not nodes:
        raise BadInputError("nothing to screen: no node has a figure", code="no-figures")
    limits = {
        metric: limit_of(metric, list(figures.values()), lower_is_better=metric in lower_is_better)
        for metric, figures in rates.items()
    }
    drops: dict[str, DroppedNode] = {}
    counts = {metric: _measured_of(figures) for metric, figures in rates.items()}
    judging = {node: [m for m, of in counts.items() if node in of or 2 * len(of) >= len(nodes)] for node in nodes}
    for node in nodes:
        reasons = [_drop_if_bad(node, rates[metric].get(node, math.nan), limits[metric]) for metric in judging[node]]
        if node_drops := [drop for drop in reasons if drop is not None]:
            drops[node] = min(node_drops, key=lambda drop: drop.share)
    fraction = {
        n: min(_of_median(rates[m][n], limits[m]) for m in judging[n] if n in counts[m])
        for n in nodes
        if n not in drops
    }
    return Screening(
        kept=tuple(sorted(fraction, key=lambda node: -fraction[node])),
        dropped=tuple(drops.values()),
        limits=tuple(limits.values()),
    )


def _measured_of(figures: Mapping[str, float]) -> set[str]:
    """Return the nodes with a figure."""
    return {node for node, rate in figures.items() if not math.isnan(rate)}


def bad_nodes(metric: str, figures: Mapping[str, float], *, lower_is_better: bool = False) -> frozenset[str]:
    """Return the nodes that one metric alone would drop."""
    limit = limit_of(metric, list(figures.values()), lower_is_better=lower_is_better)
    return frozenset(node for node, rate in figures.items() if _drop_if_bad(node, rate, limit))


def limit_of(metric: str, rates: Sequence[float], *, lower_is_better: bool = False) -> Limit:
    """Return the limit from the rates of a cluster's nodes; unknown rates (NaN) are left out, zeros count as slow, and
    as good where less is better.

    Raises BadInputError for negative or infinite rates, or if no rate is above zero.
    """
    measured = np.array([rate for rate in rates if not math.isnan(rate)])
    if (measured < 0).any() or np.isinf(measured).any():
        raise BadInputError(f"{metric}: a rate must be finite and not negative", code="not-a-rate")
    median = float(np.median(measured)) if len(measured) else 0.0
    if median <= 0 and not (lower_is_better and len(measured)):
        raise BadInputError(
            f"{metric}: half of the nodes or more have no rate above zero; nothing to compare with", code="mostly-zero"
        )
    with np.errstate(divide="ignore"):
        spread = _NORMAL_MAD * float(np.median(np.abs(np.log(measured / median)))) if median else 0.0
    count = len(measured)
    z = NormalDist().inv_cdf(1 - FALSE_ALARMS / count) * _few(count)
    share = min(MOST, max(LEAST, math.exp(-z * spread)))
    if count < MIN_NODES:
        limit = math.inf if lower_is_better else 0.0
    else:
        limit = (median / share if median else z) if lower_is_better else median * share
    return Limit(
        metric=metric,
        nodes=count,
        median_per_s=median,
        spread=spread,
        z=z,
        limit_per_s=limit,
        lower_is_better=lower_is_better,
    )


def _few(count: int) -> float:
    """Return the factor on z for small clusters, whose spread is itself uncertain; 6 keeps FALSE_ALARMS within a third
    at every size (benchmarks/measure/bench_screening.py).
    """
    return 1.0 + 6.0 / count


def _drop_if_bad(node: str, rate: float, limit: Limit) -> DroppedNode | None:
    too_slow = rate > limit.limit_per_s if limit.lower_is_better else rate < limit.limit_per_s
    if math.isnan(rate):
        reason = "gave no figure"
    elif rate == 0 and not limit.lower_is_better:
        reason = "does nothing"
    elif too_slow:
        reason = f"at {rate / limit.median_per_s:.0%} of the median" if limit.median_per_s else "where half have none"
    else:
        return None
    return DroppedNode(
        node=node,
        metric=limit.metric,
        rate_per_s=rate,
        limit_per_s=limit.limit_per_s,
        reason=reason,
        lower_is_better=limit.lower_is_better,
    )


def _of_median(rate: float, limit: Limit) -> float:
    """Return a node's rate relative to the median, above 1 for a better one."""
    if not limit.lower_is_better:
        return rate / limit.median_per_s
    return limit.median_per_s / rate if rate and limit.median_per_s else 1.0


_CHANCE: Final = 0.05
"""Probability below which a result is not attributed to chance: one in twenty such studies."""


@dataclass(frozen=True, kw_only=True)
class Persistence:
    """Pairs of consecutive runs of a node: bad before, of them bad again, good before, of them turned bad.

    `chance` is the probability of at least this many bad again if consecutive runs were independent.
    """

    metric: str
    bad: int
    bad_again: int
    good: int
    turned_bad: int
    chance: float

    @property
    def is_persistent(self) -> bool:
        """True if bad apples stay bad, beyond chance."""
        return self.bad > 0 and self.chance < _CHANCE

    @property
    def text(self) -> str:
        """The result with its counts."""
        if not self.bad:
            return f"{self.metric}: no node was bad in a run that another followed"
        again = f"{self.bad_again} of {self.bad} bad runs were followed by a bad one"
        others = f"{self.turned_bad} of {self.good} good ones" if self.good else "there were no good ones"
        verdict = "bad apples stay bad" if self.is_persistent else "no sign that bad apples stay bad"
        return f"{self.metric}: {verdict}: {again}, {others} (by chance {self.chance:.2g})"


def persistence(
    metric: str, runs: Mapping[str, Sequence[float]], *, lower_is_better: bool = False
) -> Persistence | None:
    """Return the result for one metric, given each node's runs in order; None without two runs of MIN_NODES nodes."""
    rounds = [
        {node: values[number] for node, values in runs.items() if len(values) > number}
        for number in range(max(map(len, runs.values()), default=0))
    ]
    rounds = [figures for figures in rounds if len(figures) >= MIN_NODES]
    if len(rounds) < 2:
        return None
    bad = [bad_nodes(metric, figures, lower_is_better=lower_is_better) for figures in rounds]
    pairs = [
        (node in bad[number], node in bad[number + 1])
        for number in range(len(rounds) - 1)
        for node in rounds[number]
        if node in rounds[number + 1]
    ]
    before = [after for was_bad, after in pairs if was_bad]
    others = [after for was_bad, after in pairs if not was_bad]
    return Persistence(
        metric=metric,
        bad=len(before),
        bad_again=sum(before),
        good=len(others),
        turned_bad=sum(others),
        chance=_chance(drawn=len(before), hits=sum(before), total=len(pairs), marked=sum(before) + sum(others)),
    )


def _chance(*, drawn: int, hits: int, total: int, marked: int) -> float:
    """Return the probability that at least `hits` of `drawn` out of `total` are among the `marked` ones."""
    ways = sum(math.comb(marked, k) * math.comb(total - marked, drawn - k) for k in range(hits, min(drawn, marked) + 1))
    return ways / math.comb(total, drawn)

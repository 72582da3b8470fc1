"""Pairs the advice of `planner plan-log --out` with later logged runs of the same job.

A run belongs to the newest advice made from an earlier run of a job of that name (names that differ only in numbers are
one). The times are those in the logs: dates of files do not matter. What differs by 10% in the bytes read or shuffled
did other work: it is paired, and not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from planner.schemas.json_values import from_jsonable, read_versioned
from planner.schemas.receipt import ReceiptRow
from planner.spark.fleet.trends import job_name

_SAME_SIZE: Final = 1.1
_RANGE_SHARE: Final = 0.9


@dataclass(frozen=True, kw_only=True)
class LoggedRun:
    """A logged run: its work and time. None is unknown."""

    name: str
    started_at_s: float | None
    duration_s: float
    input_bytes: float | None
    shuffle_write_bytes: float | None

    def did_as_much(self, other: LoggedRun) -> bool:
        """Return whether both read and shuffled as much, within 10%, as far as that is known."""
        pairs = ((self.input_bytes, other.input_bytes), (self.shuffle_write_bytes, other.shuffle_write_bytes))
        return all(a is None or b is None or max(a, b) <= _SAME_SIZE * min(a, b) for a, b in pairs)


@dataclass(frozen=True, kw_only=True)
class ClusterChoice:
    """A cluster of the advice, with its predicted time and cost."""

    instance_type: str
    nodes: int
    time_s: float
    time_low_s: float
    time_high_s: float
    cost_usd: float | None

    @property
    def name(self) -> str:
        """Return `4 x m5.4xlarge`."""
        return f"{self.nodes} x {self.instance_type}"


@dataclass(frozen=True, kw_only=True)
class SparkAdvice:
    """What `planner plan-log --out` wrote, as far as a receipt needs it."""

    app_id: str
    run: LoggedRun
    logged: ClusterChoice
    best: ClusterChoice | None
    fastest: ClusterChoice
    slower: ClusterChoice | None
    choices: tuple[ClusterChoice, ...]
    curve: tuple[ClusterChoice, ...]

    @property
    def clusters(self) -> dict[str, ClusterChoice]:
        """All clusters with a prediction, by name."""
        named = (self.logged, self.best, self.fastest, self.slower, *self.choices, *self.curve)
        return {choice.name: choice for choice in named if choice is not None}


@dataclass(frozen=True, kw_only=True)
class GivenAdvice:
    """The advice in a file, and the day of the file."""

    file: str
    day: str
    advice: SparkAdvice


@dataclass(frozen=True, kw_only=True)
class SparkRun:
    """A run found in a log: its machines, and their price in the catalog. '' and None are unknown, with the reason."""

    file: str
    app_id: str
    run: LoggedRun
    instance_type: str = ""
    nodes: int = 0
    usd_per_node_hour: float | None = None
    machines_unknown: str = ""

    @property
    def cluster(self) -> str:
        """Return `4 x m5.4xlarge`; '' if unknown."""
        return f"{self.nodes} x {self.instance_type}" if self.instance_type else ""


def parse_advice(text: str) -> SparkAdvice:
    """Return the advice in the text of a file. Raises BadInputError for other texts."""
    advice: SparkAdvice = from_jsonable(SparkAdvice, read_versioned(text, what="advice"), where="advice")
    return advice


def rows_of_logs(given: Sequence[GivenAdvice], runs: Sequence[SparkRun]) -> Iterator[ReceiptRow]:
    """Yield a row for each run, and one for each piece of advice without a later run of its own."""
    prices = _prices(given)
    made_from = {each.advice.app_id: each for each in given}
    used = set()
    for run in runs:
        followed = _advice_on(run, given)
        used |= {followed.file} if followed else set()
        yield _row(run, followed, made_from.get(run.app_id), prices, _best_usd(run, runs, given, prices))
    yield from (_unfollowed(each, given) for each in given if each.file not in used)


def _best_usd(
    of: SparkRun, runs: Sequence[SparkRun], given: Sequence[GivenAdvice], prices: Mapping[str, float]
) -> float | None:
    """Return the cost of the cheapest known run of a job on as much data; None if no other run's cost is known."""
    known = {(each.app_id, each.run.started_at_s): (each.run, _usd(each, prices)) for each in runs}
    for each in given:
        advice = each.advice
        known.setdefault((advice.app_id, advice.run.started_at_s), (advice.run, _before_usd(advice, prices)))
    costs = [
        usd
        for run, usd in known.values()
        if usd is not None and job_name(run.name) == job_name(of.run.name) and run.did_as_much(of.run)
    ]
    return min(costs) if len(costs) > 1 else None


def _advice_on(run: SparkRun, given: Sequence[GivenAdvice]) -> GivenAdvice | None:
    earlier = [
        each
        for each in given
        if job_name(each.advice.run.name) == job_name(run.run.name)
        and each.advice.app_id != run.app_id
        and _started(each.advice.run) < _started(run.run)
    ]
    return max(earlier, key=lambda each: (_started(each.advice.run), each.day, each.file), default=None)


def _started(run: LoggedRun) -> float:
    return run.started_at_s or 0.0


def _row(
    run: SparkRun,
    followed: GivenAdvice | None,
    made_from: GivenAdvice | None,
    prices: Mapping[str, float],
    best_usd: float | None,
) -> ReceiptRow:
    found: dict[str, Any] = {
        "kind": "run",
        "file": run.file,
        "day": _day(run.run),
        "job": job_name(run.run.name),
        "ran_on": run.cluster,
        "measured_s": run.run.duration_s,
        "measured_usd": _usd(run, prices),
        "best_usd": best_usd,
    }
    if followed is None:
        reason = f"no earlier advice on it; {made_from.file} was made from it" if made_from else "no advice on it"
        return ReceiptRow(**found, reason="; ".join(filter(None, [reason, run.machines_unknown])))
    advice = followed.advice
    chosen = advice.best or advice.fastest
    found |= {"advice": followed.file, "advised": chosen.name, "before": advice.logged.name}
    choice = advice.clusters.get(run.cluster)
    reason = f"follows the advice on {advice.app_id}, an earlier run of that name"
    if run.machines_unknown:
        return ReceiptRow(**found, reason=f"{reason}; {run.machines_unknown}")
    if not advice.run.did_as_much(run.run):
        return ReceiptRow(**found, reason=f"{reason}; not compared: it read or shuffled 10% more or less")
    if choice is None:
        return ReceiptRow(**found, reason=f"{reason}; the advice has no prediction for its cluster")
    return ReceiptRow(
        **found,
        **_predicted(choice),
        before_usd=_before_usd(advice, prices),
        reason=reason if choice.name == chosen.name else f"{reason}; it ran on another cluster, compared as predicted",
    )


def _unfollowed(given: GivenAdvice, others: Sequence[GivenAdvice]) -> ReceiptRow:
    advice = given.advice
    chosen = advice.best or advice.fastest
    job = job_name(advice.run.name)
    newer = any(job_name(o.advice.run.name) == job and _order(o) > _order(given) for o in others)
    return ReceiptRow(
        kind="advice",
        file=given.file,
        reason="no later run before newer advice on the job" if newer else "no later run of that name",
        day=given.day,
        job=job,
        advice=given.file,
        advised=chosen.name,
        before=advice.logged.name,
        **_predicted(chosen),
    )


def _order(given: GivenAdvice) -> tuple[float, str, str]:
    return _started(given.advice.run), given.day, given.file


def _predicted(choice: ClusterChoice) -> dict[str, Any]:
    return {
        "predicted_s": choice.time_s,
        "low_s": choice.time_low_s,
        "high_s": choice.time_high_s,
        "range_share": _RANGE_SHARE,
        "predicted_usd": choice.cost_usd,
    }


def _prices(given: Sequence[GivenAdvice]) -> dict[str, float]:
    """Return the prices of a node's hour, by type, of the newest advice that has the type."""
    return {
        choice.instance_type: choice.cost_usd * 3600 / choice.time_s / choice.nodes
        for each in sorted(given, key=_order)
        for choice in each.advice.clusters.values()
        if choice.cost_usd is not None and choice.time_s > 0
    }


def _usd(run: SparkRun, prices: Mapping[str, float]) -> float | None:
    price = prices.get(run.instance_type, run.usd_per_node_hour)
    return None if price is None or not run.instance_type else price * run.nodes * run.run.duration_s / 3600


def _before_usd(advice: SparkAdvice, prices: Mapping[str, float]) -> float | None:
    price = prices.get(advice.logged.instance_type)
    return None if price is None else price * advice.logged.nodes * advice.run.duration_s / 3600


def _day(run: LoggedRun) -> str:
    return "" if run.started_at_s is None else f"{datetime.fromtimestamp(run.started_at_s, UTC):%Y-%m-%d}"

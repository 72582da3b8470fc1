"""Pairs the advice of `planner plan-log --out` with later logged runs of the same job.

A run belongs to the newest advice made from an earlier run of a job of that name (names that differ only in numbers are
one). The times are those in the logs; dates of files only tell pieces of advice on one run apart. A run that read or
shuffled 10% more or less did other work: it is paired, and not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.schemas.json_values import from_jsonable, read_versioned
from planner.schemas.receipt import ReceiptRow
from planner.spark.fleet.trends import job_name

_SAME_SIZE: Final = 1.1
_RANGE_SHARE: Final = 0.9
_MOST: Final = 1e12
"""Seconds and US dollars that no run takes."""


@dataclass(frozen=True, kw_only=True)
class LoggedRun:
    """A logged run: its work and time. None is unknown."""

    name: str
    started_at_s: float | None
    duration_s: float
    input_bytes: float | None
    shuffle_write_bytes: float | None

    @cached_property
    def job(self) -> str:
        """The common part of the names of a job's runs; '' without a name, which is no job."""
        return job_name(self.name)

    @property
    def start_s(self) -> float:
        """The start, 0 if unknown."""
        return self.started_at_s or 0.0

    def did_as_much(self, other: LoggedRun) -> bool:
        """Return whether both read and shuffled as much, within 10%, as far as that is known."""
        pairs = ((self.input_bytes, other.input_bytes), (self.shuffle_write_bytes, other.shuffle_write_bytes))
        return all(a is None or b is None or max(a, b) <= _SAME_SIZE * min(a, b) for a, b in pairs)


@dataclass(frozen=True, kw_only=True)
class FoundRun(LoggedRun):
    """A run found in a log: its machines, and their price in the catalog; '' and None with the reason if unknown."""

    file: str
    app_id: str
    instance_type: str = ""
    nodes: int = 0
    usd_per_node_hour: float | None = None
    machines_unknown: str = ""


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
    """What `planner plan-log --out` wrote, as far as a receipt needs it; its file, and when that was written."""

    app_id: str
    run: LoggedRun
    logged: ClusterChoice
    best: ClusterChoice | None
    fastest: ClusterChoice
    slower: ClusterChoice | None
    choices: tuple[ClusterChoice, ...]
    curve: tuple[ClusterChoice, ...]
    file: str = ""
    made_at: datetime = datetime.min

    @property
    def advised(self) -> ClusterChoice:
        """The best cluster; if none ends in time, the fastest, which is shown instead."""
        return self.best or self.fastest

    @property
    def clusters(self) -> dict[str, ClusterChoice]:
        """All clusters with a prediction, by name."""
        return {choice.name: choice for choice in self.every}

    @property
    def every(self) -> list[ClusterChoice]:
        """All clusters, some twice."""
        named = (self.logged, self.best, self.fastest, self.slower, *self.choices, *self.curve)
        return [choice for choice in named if choice is not None]

    @property
    def order(self) -> tuple[float, datetime, str]:
        """Sorts advice, the newest last."""
        return self.run.start_s, self.made_at, self.file

    @property
    def day(self) -> str:
        """The day on which its file was written."""
        return f"{self.made_at:%Y-%m-%d}"


def parse_advice(text: str, *, file: str, made_at: datetime) -> SparkAdvice:
    """Return the advice in the text of a file. Raises BadInputError for other texts, and impossible clusters."""
    found: SparkAdvice = from_jsonable(SparkAdvice, read_versioned(text, what="advice"), where="advice")
    for of in found.every:
        if of.nodes < 1 or not 0 < of.time_s < _MOST or not 0 <= (of.cost_usd or 0.0) < _MOST:
            raise BadInputError(f"it was changed or damaged: {of.name} in {of.time_s:g} s", code="self-contradiction")
    return replace(found, file=file, made_at=made_at)


def rows_of_logs(given: Sequence[SparkAdvice], runs: Sequence[FoundRun]) -> Iterator[ReceiptRow]:
    """Yield a row for each run, and one for each piece of advice without a later run of its own."""
    prices = _prices(given)
    costs = _costs(given, runs, prices)
    used = set()
    for run in runs:
        advice = _advice_on(run, given)
        used |= {advice.file} if advice else set()
        comparable = [usd for other, usd in costs.get(run.job, ()) if other.did_as_much(run)]
        row = ReceiptRow(
            kind="run",
            file=run.file,
            reason="; ".join(filter(None, [_pairing(run, advice, given), run.machines_unknown])),
            day="" if run.started_at_s is None else f"{datetime.fromtimestamp(run.started_at_s, UTC):%Y-%m-%d}",
            job=run.job or run.app_id,
            ran_on=f"{run.nodes} x {run.instance_type}" if run.instance_type else "",
            measured_s=run.duration_s,
            measured_usd=_usd(run, run.instance_type, run.nodes, prices, listed=run.usd_per_node_hour),
            best_usd=min(comparable) if len(comparable) > 1 else None,
        )
        yield _with_advice(row, run, advice, prices) if advice else row
    yield from (_unfollowed(each, given) for each in given if each.file not in used)


def _pairing(run: FoundRun, advice: SparkAdvice | None, given: Sequence[SparkAdvice]) -> str:
    """Return the rule that gave a run its advice, or why it has none."""
    if advice:
        return f"follows the advice on {advice.app_id}, an earlier run of that name"
    made = next((Path(each.file).name for each in given if each.app_id == run.app_id), "")
    if made:
        return f"no earlier advice on it; {made} was made from it"
    undated = [
        Path(each.file).name for each in given if each.run.started_at_s is None and each.run.job == run.job != ""
    ]
    return f"no earlier advice on it; {undated[0]} lacks the start of its run" if undated else "no earlier advice on it"


def _with_advice(row: ReceiptRow, run: FoundRun, advice: SparkAdvice, prices: Mapping[str, float]) -> ReceiptRow:
    """Return the row of a run with its advice, and the prediction for its cluster if it did the same work."""
    row = replace(row, advice=advice.file, advised=advice.advised.name, before=advice.logged.name)
    choice = advice.clusters.get(row.ran_on)
    if not advice.run.did_as_much(run):
        return replace(row, reason=f"{row.reason}; not compared: it read or shuffled 10% more or less")
    if choice is None:
        unknown = "" if run.machines_unknown else "; the advice has no prediction for its cluster"
        return replace(row, reason=row.reason + unknown)
    other = "" if row.taken else "; it ran on another cluster, compared as predicted"
    before_usd = _usd(advice.run, advice.logged.instance_type, advice.logged.nodes, prices)
    return replace(row, **_predicted(choice), before_usd=before_usd, reason=row.reason + other)


def _unfollowed(advice: SparkAdvice, given: Sequence[SparkAdvice]) -> ReceiptRow:
    newer = any(each.run.job == advice.run.job and each.order > advice.order for each in given)
    why = "no later run before newer advice on the job" if newer else "no later run of that name"
    return ReceiptRow(
        kind="advice",
        file=advice.file,
        reason=why if advice.run.started_at_s is not None else "it lacks the start of its run, so no run is later",
        day=advice.day,
        job=advice.run.job or advice.app_id,
        advice=advice.file,
        advised=advice.advised.name,
        before=advice.logged.name,
        **_predicted(advice.advised),
    )


def _predicted(choice: ClusterChoice) -> dict[str, Any]:
    times = {"predicted_s": choice.time_s, "low_s": choice.time_low_s, "high_s": choice.time_high_s}
    return {**times, "range_share": _RANGE_SHARE, "predicted_usd": choice.cost_usd}


def _advice_on(run: FoundRun, given: Sequence[SparkAdvice]) -> SparkAdvice | None:
    """Return the newest advice made from an earlier run of a run's job."""
    of_job = [each for each in given if each.run.job == run.job != "" and each.app_id != run.app_id]
    dated = [each for each in of_job if each.run.started_at_s is not None]
    return max((each for each in dated if each.run.start_s < run.start_s), key=lambda each: each.order, default=None)


def _prices(given: Sequence[SparkAdvice]) -> dict[str, float]:
    """Return the prices of a node's hour, by type, of the newest advice that has the type."""
    return {
        choice.instance_type: choice.cost_usd * 3600 / choice.time_s / choice.nodes
        for each in sorted(given, key=lambda each: each.order)
        for choice in each.clusters.values()
        if choice.cost_usd is not None and choice.time_s > 0 and choice.nodes > 0
    }


def _costs(
    given: Sequence[SparkAdvice], runs: Sequence[FoundRun], prices: Mapping[str, float]
) -> dict[str, list[tuple[LoggedRun, float]]]:
    """Return the runs of known cost of each job, also those that advice alone names, each once."""
    known: dict[object, tuple[LoggedRun, float | None]] = {}
    for each in given:
        usd = _usd(each.run, each.logged.instance_type, each.logged.nodes, prices)
        known[each.app_id, each.run.started_at_s] = each.run, usd
    for run in runs:
        usd = _usd(run, run.instance_type, run.nodes, prices, listed=run.usd_per_node_hour)
        known[run.app_id, run.started_at_s] = run, usd
    costs: dict[str, list[tuple[LoggedRun, float]]] = {}
    for of, usd in known.values():
        if of.job and usd is not None:
            costs.setdefault(of.job, []).append((of, usd))
    return costs


def _usd(
    run: LoggedRun, instance_type: str, nodes: int, prices: Mapping[str, float], *, listed: float | None = None
) -> float | None:
    """Return the measured time at the price of the advice, else at the `listed` one."""
    price = prices.get(instance_type, listed)
    return None if price is None else price * nodes * run.duration_s / 3600

"""Report on trials of `bench_predictions.py`: errors, ranges, and the costs of picked clusters."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean, median
from typing import Any

from spark_nodes import Shape

from planner.spark import log as spark_log
from planner.spark.model.choices import select_cluster, work_of
from planner.spark.model.prediction import Work

_ANY_TIME_S = 1e9


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run with its prediction, None for the runs whose log predicts the others."""

    job: str
    shape: Shape
    measured_s: float
    log: Path
    slowdown: float
    expected_s: float | None = None
    low_s: float = 0.0
    high_s: float = 0.0

    @property
    def cost(self) -> float:
        """Cost of the nodes while it ran."""
        return self.shape.described().usd_per_hour * self.measured_s


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A prediction and its measurement."""

    expected_s: float
    measured_s: float
    holds: bool

    @property
    def error(self) -> float:
        """Excess of the expected over the measured time, as a share of the latter."""
        return self.expected_s / self.measured_s - 1


def trials_of(path: Path) -> list[Trial]:
    """Return the last run of each job on each shape, none if there is no such file."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    trials = [Trial(**{**row, "shape": Shape(**row["shape"]), "log": Path(row["log"])}) for row in rows]
    return list({(trial.job, trial.shape): trial for trial in trials}.values())


@lru_cache(maxsize=1000)
def logged_work(log: Path, ran_on: Shape) -> Work:
    """Return the work of a log that was written on a shape."""
    return work_of(spark_log.read(str(log)).only(), ran_on.described())


def predicted(work: Work, shape: Shape) -> dict[str, float]:
    """Return the expected seconds on a shape, and their 90% range."""
    prediction = work.predict(shape.described())
    return {"expected_s": prediction.duration_s, "low_s": prediction.low_s, "high_s": prediction.high_s}


def report(trials: Sequence[Trial]) -> None:
    """Print the predictions made before the runs. Then, by the current model, the predictions of every log for the
    other shapes, and the shape that it picks.
    """
    print("foreseen from one log before the run:")
    foretold = [trial for trial in trials if trial.expected_s is not None]
    for trial in foretold:
        _print_trial(trial)
    _print_scores(foretold, [_checked(trial, vars(trial)) for trial in foretold])
    print("every log in turn:")
    pairs = [(a, b) for a in trials for b in trials if a.job == b.job and a.shape != b.shape]
    _print_scores(
        [b for _, b in pairs], [_checked(b, predicted(logged_work(a.log, a.shape), b.shape)) for a, b in pairs]
    )
    _print_picks("as fast as the logged one", trials, lambda work: work.timeline.duration_s)
    _print_picks("at any time", trials, lambda _: _ANY_TIME_S)


def _checked(trial: Trial, foretold: dict[str, Any]) -> Checked:
    return Checked(
        expected_s=foretold["expected_s"],
        measured_s=trial.measured_s,
        holds=foretold["low_s"] <= trial.measured_s <= foretold["high_s"],
    )


def _print_trial(trial: Trial) -> None:
    checked = _checked(trial, vars(trial))
    print(
        f"  {trial.job:10} {trial.shape.name:46} {checked.expected_s:6.1f} s ({trial.low_s:.1f} to {trial.high_s:.1f})"
        f", {trial.measured_s:6.1f} s: {checked.error:+6.1%} {'' if checked.holds else 'OUTSIDE'}"
    )


def _print_scores(trials: Sequence[Trial], checked: Sequence[Checked]) -> None:
    for job in [*dict.fromkeys(trial.job for trial in trials), "all"]:
        _score(job, [c for c, trial in zip(checked, trials, strict=True) if job in (trial.job, "all")])


def _score(name: str, checked: Sequence[Checked]) -> None:
    if not checked:
        return
    errors = [c.error for c in checked]
    sizes, held = [abs(error) for error in errors], sum(c.holds for c in checked)
    print(
        f"  {name:10} {len(checked):3} runs: mean error {fmean(sizes):.1%} (bias {fmean(errors):+.1%}, worst "
        f"{max(sizes):.1%}), 90% range holds {held} = {held / len(checked):.0%}"
    )


def _print_picks(words: str, trials: Sequence[Trial], deadline_s: Callable[[Work], float]) -> None:
    """Print how often the cluster picked from a log was cheaper than the logged one when it ran."""
    picks = [
        (pick.cost / trial.cost, pick.measured_s / trial.measured_s)
        for trial in trials
        for pick in [_picked(trial, [t for t in trials if t.job == trial.job], deadline_s)]
        if pick is not None
    ]
    if not picks:
        return
    cheaper, as_fast = sum(cost < 1 for cost, _ in picks), sum(time <= 1.05 for _, time in picks)
    print(
        f"the cheapest {words}: another cluster was picked from {len(picks)} of {len(trials)} logs; it was cheaper in "
        f"{cheaper} = {cheaper / len(picks):.0%} (median cost {median(cost for cost, _ in picks):.2f} of the logged "
        f"one's) and took at most 1.05 times as long in {as_fast}"
    )


def _picked(logged: Trial, trials: Sequence[Trial], deadline_s: Callable[[Work], float]) -> Trial | None:
    """Return the run on the cluster picked among those that ran, None if the logged one is kept."""
    work = logged_work(logged.log, logged.shape)
    plans = [
        (select_cluster(work, [t.shape.described().machine], nodes=t.shape.nodes, deadline_s=deadline_s(work)), t)
        for t in trials
        if t.shape != logged.shape
    ]
    moves = [(plan.best.cost_usd, trial.job, trial) for plan, trial in plans if plan.best and not plan.keep]
    return min(moves, key=lambda move: move[0])[-1] if moves else None

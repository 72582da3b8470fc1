"""Policies for spot machines, replayed on traces of their availability.

python benchmarks/spot/bench_replay.py --traces DIRECTORY [--starts 100] [--doubt 0.1]

A trace is a CSV file with columns start_s, end_s and instances_available; the job needs as many machines as the trace
has at most. Each job begins at a random moment of a trace, with every policy. Costs are shares of the cost of the
policy that knows the future. `--doubt` makes the work lognormal: policies know its 95% quantile and may be late once in
20.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from policies import Greedy, OnDemand, Planner, Policy, UniformProgress, least_cost

from planner.clusters.spot.availability import SpotRates
from planner.clusters.spot.policy import Action, Moment, SpotJob

HOURS: Final = (1.0, 4.0, 16.0)
DEADLINES: Final = (1.15, 1.3, 1.6, 2.0)
POLICIES: Final[dict[str, Callable[[SpotJob], Policy]]] = {
    "on demand": OnDemand,
    "greedy": Greedy,
    "uniform": UniformProgress,
    "planner": lambda job: Planner(job, SpotRates()),
}


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Steps at which all machines of a job were available."""

    name: str
    step_s: float
    available: NDArray[np.bool_]


def read_trace(path: Path, *, step_s: float) -> Trace:
    """Read a trace, sampled every `step_s` seconds."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            (float(row["start_s"]), int(row["instances_available"]), float(row["end_s"]))
            for row in csv.DictReader(file)
        ]
    starts, counts = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    moments = np.arange(starts[0], rows[-1][2], step_s)
    whole = counts[np.searchsorted(starts, moments, side="right") - 1] == counts.max()
    return Trace(name=path.stem, step_s=step_s, available=whole)


def replay(job: SpotJob, policy: Policy, available: NDArray[np.bool_], *, work_s: float) -> tuple[float, float]:
    """Return cost and duration in seconds of a job whose true work is `work_s`; the cost is that of on-demand
    seconds.
    """
    on: Action = "wait"
    restart_s, done_s, cost_s, step_s = 0.0, 0.0, 0.0, job.decide_every_s
    for number, has_spot in enumerate(available):
        left_s = max(job.work_s - done_s, step_s)
        moment = Moment(
            on=on,
            spot_available=bool(has_spot),
            work_left_s=left_s,
            time_left_s=job.deadline_s
            - number * step_s
            - restart_s * (on == "on-demand" or (on == "spot" and has_spot)),
        )
        action = policy(moment)
        if action == "spot" and not has_spot:
            raise ValueError("there are no spot machines")
        if action != on or (on == "spot" and not (has_spot)):
            restart_s = job.restart_s if action != "wait" else 0.0
        price = {"wait": 0.0, "spot": job.spot_share, "on-demand": 1.0}[action]
        works_s = 0.0 if action == "wait" else max(0.0, step_s - restart_s)
        taken_s = step_s - max(0.0, done_s + works_s - work_s)
        done_s, restart_s, on = done_s + works_s, max(0.0, restart_s - step_s), action
        cost_s += price * taken_s
        if done_s >= work_s:
            return cost_s, number * step_s + taken_s
    return cost_s, np.inf


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The mean cost of each policy as a share of the least, and the share of jobs that were late."""

    cost: dict[str, float]
    late: dict[str, float]


def outcome_of(job: SpotJob, trace: Trace, *, starts: int, doubt: float, rng: np.random.Generator) -> Outcome | None:
    """Replay jobs from random moments; None for a trace that is too short."""
    steps = int(np.ceil(1.5 * job.deadline_s / trace.step_s))
    if len(trace.available) <= steps:
        return None
    costs: dict[str, list[float]] = {name: [] for name in ("least", *POLICIES)}
    late: dict[str, list[bool]] = {name: [] for name in POLICIES}
    for start in rng.integers(0, len(trace.available) - steps, starts):
        work_s = job.work_s * np.exp(doubt * rng.standard_normal())
        told = replace(job, work_s=job.work_s * np.exp(1.6449 * doubt)) if doubt else job
        available = trace.available[start : start + steps]
        costs["least"].append(least_cost(replace(job, work_s=work_s), available))
        for name, made in POLICIES.items():
            cost_s, took_s = replay(told, made(told), available, work_s=work_s)
            costs[name].append(cost_s)
            late[name].append(took_s > job.deadline_s + 1e-6)
    feasible = np.isfinite(costs["least"])
    least = np.sum(np.array(costs["least"])[feasible])
    return Outcome(
        cost={name: float(np.sum(np.array(costs[name])[feasible]) / least) for name in POLICIES},
        late={name: float(np.mean(late[name])) for name in POLICIES},
    )


def main() -> None:
    """Print a table for each length of job and deadline, and the means of all."""
    arguments = _arguments()
    rng = np.random.default_rng(arguments.seed)
    traces = [read_trace(path, step_s=arguments.step_s) for path in sorted(arguments.traces.glob("*_*node_*.csv"))]
    print(f"{'job':>5} {'deadline':>8} {'traces':>6} " + " ".join(f"{name:>10}" for name in POLICIES) + "   late")
    outcomes = []
    for hours in arguments.hours:
        for factor in arguments.deadlines:
            job = SpotJob(
                work_s=3600 * hours,
                deadline_s=3600 * hours * factor,
                restart_s=arguments.restart_s,
                spot_share=arguments.spot_share,
                decide_every_s=arguments.step_s,
            )
            some = [outcome_of(job, trace, starts=arguments.starts, doubt=arguments.doubt, rng=rng) for trace in traces]
            usable = [outcome for outcome in some if outcome is not None]
            if arguments.each:
                for trace, outcome in zip(traces, some, strict=True):
                    if outcome is not None:
                        _print(f"  {trace.name:45}", [outcome])
            _print(f"{hours:4g}h {factor:8.2f} {len(usable):6}", usable)
            outcomes += usable
    _print(f"{'all':>5} {'':8} {len(outcomes):6}", outcomes)


def _print(title: str, outcomes: list[Outcome]) -> None:
    cost = " ".join(f"{np.mean([o.cost[name] for o in outcomes]):10.3f}" for name in POLICIES)
    late = ", ".join(f"{np.mean([o.late[name] for o in outcomes]):.2%}" for name in POLICIES)
    print(f"{title} {cost}   {late}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step-s", type=float, default=60.0)
    parser.add_argument("--restart-s", type=float, default=180.0)
    parser.add_argument("--spot-share", type=float, default=0.35)
    parser.add_argument("--doubt", type=float, default=0.0)
    parser.add_argument("--hours", type=float, nargs="+", default=HOURS)
    parser.add_argument("--deadlines", type=float, nargs="+", default=DEADLINES)
    parser.add_argument("--each", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()

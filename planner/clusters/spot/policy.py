"""A policy for spot machines that keeps a deadline: which machines a job works on next, so that it costs least.

On-demand machines are always available, spot ones at times, and both need `restart_s` before they work. So the deadline
is safe as long as the time left is enough for a restart on demand and for all the work left. The policy never goes
below that: the safety net of Uniform Progress (Wu et al., "Can't Be Late", NSDI 2024), which keeps two restarts.

Within the net it takes the action with the least expected cost instead of following a line of even progress.
Availability is a Markov chain of two states with the observed rates; the least expected cost follows by dynamic
programming over the remaining work and time (Bellman), on a grid of at most `_STEPS` steps of time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Floats
from planner.clusters.spot.availability import SpotRates

Action = Literal["spot", "on-demand", "wait"]
_STEPS: Final = 300
_RATE_STEP: Final = math.log(1.25)
"""Rates are rounded to powers of 1.25, so that similar rates share a table."""


@dataclass(frozen=True, kw_only=True)
class SpotJob:
    """Work for a deadline: seconds of each at the start, seconds until new machines work (boot, and the work of a lost
    machine to repeat), the price of spot machines as a share of the others', and seconds between two decisions.

    `work_s` is the basis of the promise: for a job that may be late once in 20 times, its 95% quantile.
    """

    work_s: float
    deadline_s: float
    restart_s: float
    spot_share: float
    decide_every_s: float


@dataclass(frozen=True, kw_only=True)
class Moment:
    """State of a job: the machines it works on, the availability of spot ones, and seconds of work and time left. The
    time left excludes the time until starting machines work.
    """

    on: Action
    spot_available: bool
    work_left_s: float
    time_left_s: float


def decide(job: SpotJob, moment: Moment, rates: SpotRates) -> Action:
    """Return the action until the next decision: work on spot machines, on demand, or wait for spot ones."""
    slack_s = moment.time_left_s - moment.work_left_s
    is_on_spot = moment.on == "spot" and moment.spot_available
    if moment.on != "on-demand" and slack_s < job.restart_s + job.decide_every_s * (not is_on_spot):
        return "on-demand"
    grid = _Grid.of(job, rates)
    work = min(max(1, round(moment.work_left_s / grid.step_s)), grid.works)
    time = min(max(1, work + math.floor(slack_s / grid.step_s)), grid.times)
    row = _SPOT if is_on_spot else _ROWS[moment.on] + moment.spot_available
    return _ACTIONS[int(_choices(grid)[time, row, work])]


@dataclass(frozen=True, kw_only=True)
class _Grid:
    """The steps of a job's table: numbers of steps of time, of work, of a restart; and the chances of a change in one
    step.
    """

    step_s: float
    times: int
    works: int
    restart: int
    spot_share: float
    loss: float
    gain: float

    @classmethod
    def of(cls, job: SpotJob, rates: SpotRates) -> _Grid:
        step_s = max(job.decide_every_s, job.deadline_s / _STEPS)
        return cls(
            step_s=step_s,
            times=math.ceil(job.deadline_s / step_s),
            works=math.ceil(job.work_s / step_s),
            restart=max(1, round(job.restart_s / step_s)),
            spot_share=job.spot_share,
            loss=-math.expm1(-_round_rate(rates.losses_per_s) * step_s),
            gain=-math.expm1(-_round_rate(rates.returns_per_s) * step_s),
        )

    def chances(self, steps: int) -> Floats:
        """Return the chances of no spot machines and some after `steps`, without and with some before: (2, 2)."""
        once = np.array([[1 - self.gain, self.gain], [self.loss, 1 - self.loss]])
        return np.asarray(np.linalg.matrix_power(once, steps))


def _round_rate(rate: float) -> float:
    return math.exp(_RATE_STEP * round(math.log(rate) / _RATE_STEP))


_ACTIONS: Final[tuple[Action, ...]] = ("on-demand", "spot", "wait")
_ROUNDING: Final = 1e-9
"""Relative saving of cost that still counts as none; among equal actions the first is taken, so the job never waits for
no gain.
"""
_ROWS: Final[dict[Action, int]] = {"wait": 0, "spot": 0, "on-demand": 2}
_IDLE, _ON_DEMAND, _SPOT = slice(0, 2), slice(2, 4), 4
"""Rows of the tables: without machines and on demand, each without and with available spot machines; and on spot
machines.
"""


@lru_cache(maxsize=128)
def _choices(grid: _Grid) -> NDArray[np.int8]:
    """Return the index in `_ACTIONS` of the action with the least expected cost; shape (time left, row, work left)."""
    costs = np.full((grid.times + 1, 5, grid.works + 1), np.inf)
    costs[:, :, 0] = 0.0
    choices = np.zeros(costs.shape, np.int8)
    once, restart = grid.chances(1), grid.chances(grid.restart)
    for time in range(1, grid.times + 1):
        options = _options(grid, costs, time, once=once, restart=restart)
        choices[time] = (options <= options.min(axis=0) * (1 + _ROUNDING)).argmax(axis=0)
        costs[time, :, 1:] = options.min(axis=0)[:, 1:]
    return choices


def _options(grid: _Grid, costs: Floats, time: int, *, once: Floats, restart: Floats) -> Floats:
    """Return the expected cost of each action, in steps of on-demand machines; shape (action, row, work left). An
    action that is impossible, or not sure to be in time, costs infinity.
    """
    demand, spot, wait = np.full((3, 5, grid.works + 1), np.inf)
    before = costs[time - 1]
    demand[_ON_DEMAND, 1:] = 1 + _expected_costs(once, before[_ON_DEMAND, :-1])
    spot[_SPOT, 1:] = grid.spot_share + (1 - grid.loss) * before[_SPOT, :-1] + grid.loss * before[0, :-1]
    wait[_IDLE] = wait[_ON_DEMAND] = _expected_costs(once, before[_IDLE])
    if time >= grid.restart:
        later = costs[time - grid.restart]
        demand[_IDLE] = grid.restart + _expected_costs(restart, later[_ON_DEMAND])
        demand[_SPOT] = demand[1]
        stays = (1 - grid.loss) ** grid.restart
        spot[1] = spot[3] = grid.restart * grid.spot_share + stays * later[_SPOT] + (1 - stays) * later[0]
    return np.stack([demand, spot, wait])


def _expected_costs(chances: Floats, costs: Floats) -> Floats:
    """Return expected costs; costs may be infinite, and no chance is 0."""
    return np.stack([row[0] * costs[0] + row[1] * costs[1] for row in chances])

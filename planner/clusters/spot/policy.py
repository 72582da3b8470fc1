"""Spot machines without being late: which machines a job works on next, so that it costs least and keeps its deadline.

On-demand machines can always be had, spot ones at times, and both need `restart_s` before they work. So the deadline
is safe as long as the time left is enough for a restart on demand and for all the work left. The policy never goes
below that: the safety net of Uniform Progress (Wu et al., "Can't Be Late", NSDI 2024), which keeps two restarts.

Within the net it does not follow a line of even progress but what is expected to cost least. Availability is a Markov
chain of two states with the rates that were seen; the least expected cost follows by dynamic programming over the work
and the time that are left (Bellman), on a grid of at most `_STEPS` steps of time.
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
"""Rates are rounded to powers of 1.25: tables are made once for all that are alike."""


@dataclass(frozen=True, kw_only=True)
class SpotJob:
    """Work for a deadline: seconds of each at the start, seconds until new machines work (boot, and what a lost machine
    had done), the price of spot machines as a share of the others', and seconds between two decisions.

    `work_s` is what the promise rests on: a job that is to be late once in 20 times gives its 95% quantile.
    """

    work_s: float
    deadline_s: float
    restart_s: float
    spot_share: float
    look_s: float


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Where a job stands: on which machines it works, whether spot ones can be had, seconds of work and time left. Of
    machines that do not work yet, the time until they do is not counted as left.
    """

    on: Action
    spot_available: bool
    work_left_s: float
    time_left_s: float


def decide(job: SpotJob, moment: Moment, rates: SpotRates) -> Action:
    """Return what to do until the next decision: work on spot machines, on demand, or wait for spot ones."""
    slack_s = moment.time_left_s - moment.work_left_s
    is_on_spot = moment.on == "spot" and moment.spot_available
    if moment.on != "on-demand" and slack_s < job.restart_s + job.look_s * (not is_on_spot):
        return "on-demand"
    grid = _Grid.of(job, rates)
    work = min(max(1, round(moment.work_left_s / grid.step_s)), grid.works)
    time = min(max(1, work + math.floor(slack_s / grid.step_s)), grid.times)
    row = _SPOT if is_on_spot else _ROWS[moment.on] + moment.spot_available
    return _ACTIONS[int(_choices(grid)[time, row, work])]


@dataclass(frozen=True, kw_only=True)
class _Grid:
    """The steps of a job's table: how many of time, of work, of a restart; and the chances of a change in one step."""

    step_s: float
    times: int
    works: int
    restart: int
    spot_share: float
    loss: float
    gain: float

    @classmethod
    def of(cls, job: SpotJob, rates: SpotRates) -> _Grid:
        step_s = max(job.look_s, job.deadline_s / _STEPS)
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
        """Return the chances of no spot machines and some after so many steps, without and with some before: (2, 2)."""
        once = np.array([[1 - self.gain, self.gain], [self.loss, 1 - self.loss]])
        return np.asarray(np.linalg.matrix_power(once, steps))


def _round_rate(rate: float) -> float:
    return math.exp(_RATE_STEP * round(math.log(rate) / _RATE_STEP))


_ACTIONS: Final[tuple[Action, ...]] = ("on-demand", "spot", "wait")
_ROUNDING: Final = 1e-9
"""Of a cost: a smaller saving counts as none, and of such actions the first is taken, so nothing waits for no gain."""
_ROWS: Final[dict[Action, int]] = {"wait": 0, "spot": 0, "on-demand": 2}
_IDLE, _ON_DEMAND, _SPOT = slice(0, 2), slice(2, 4), 4
"""Rows of the tables: without machines and on demand, each while no spot machine can be had and while some can; and on
spot machines.
"""


@lru_cache(maxsize=128)
def _choices(grid: _Grid) -> NDArray[np.int8]:
    """Return the place in `_ACTIONS` of what is expected to cost least; shape (time left, row, work left)."""
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
    """Return the expected cost of each action, in steps of on-demand machines; shape (action, row, work left). What
    cannot be done, or is not sure to be in time, costs infinitely much.
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

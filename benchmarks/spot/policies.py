"""Policies for comparison with the planner's: always on demand, greedy, Uniform Progress, one that knows the future."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.clusters.spot.availability import SpotHistory, SpotRates
from planner.clusters.spot.policy import Action, Moment, SpotJob, decide


class Policy(Protocol):
    """Step-by-step decisions for one job."""

    def __call__(self, moment: Moment) -> Action:
        """Return the action until the next step."""


class OnDemand:
    """Always on demand."""

    def __init__(self, job: SpotJob) -> None:
        self.job = job

    def __call__(self, moment: Moment) -> Action:
        return "on-demand"


class Greedy:
    """Spot while there is any, waiting otherwise, until the time left is just enough: then on demand to the end."""

    def __init__(self, job: SpotJob) -> None:
        self.job = job

    def __call__(self, moment: Moment) -> Action:
        if moment.on == "on-demand" or is_at_the_net(self.job, moment):
            return "on-demand"
        return "spot" if moment.spot_available else "wait"


class UniformProgress:
    """The four rules of Wu et al. (NSDI 2024): even progress, risks, hysteresis and the safety net."""

    def __init__(self, job: SpotJob) -> None:
        self.job = job
        self.is_final = False

    def __call__(self, moment: Moment) -> Action:
        has_spot = moment.on == "spot" and moment.spot_available
        self.is_final |= not has_spot and moment.on != "on-demand" and is_at_the_net(self.job, moment)
        if self.is_final:
            return "on-demand"
        if moment.on == "on-demand" and self._behind(moment, ahead_s=2 * self.job.restart_s):
            return "on-demand"
        if moment.spot_available:
            return "spot" if has_spot or not is_at_the_net(self.job, moment) else "on-demand"
        return "on-demand" if self._behind(moment, ahead_s=0) else "wait"

    def _behind(self, moment: Moment, *, ahead_s: float) -> bool:
        """Return whether less is done than even progress would have done in `ahead_s` seconds."""
        elapsed_s = self.job.deadline_s - moment.time_left_s + ahead_s
        return self.job.work_s - moment.work_left_s < elapsed_s * self.job.work_s / self.job.deadline_s


def is_at_the_net(job: SpotJob, moment: Moment) -> bool:
    """Return whether the time left is less than the work and two restarts: Uniform Progress's safety net."""
    return moment.time_left_s < moment.work_left_s + 2 * job.restart_s


class Planner:
    """The planner's own policy, which begins with `rates` and learns from the availability during this job."""

    def __init__(self, job: SpotJob, rates: SpotRates) -> None:
        self.job, self.prior, self.seen = job, rates, SpotHistory()
        self.was_up: bool | None = None

    def __call__(self, moment: Moment) -> Action:
        is_up = moment.spot_available
        if self.was_up is not None:
            self.seen = self.seen.extend(was_up=self.was_up, for_s=self.job.decide_every_s, is_up=is_up)
        self.was_up = is_up
        return decide(self.job, moment, self.prior.update(self.seen))


def least_cost(job: SpotJob, available: NDArray[np.bool_]) -> float:
    """Return the least cost, in seconds of on-demand machines, given full knowledge of the steps at which spot machines
    are available.

    Steps are whole: work and restart are rounded down and time up, so that no policy can cost less.
    """
    step_s, share = job.decide_every_s, job.spot_share
    works, restart = int(job.work_s // step_s), int(job.restart_s // step_s)
    times = min(len(available), int(np.ceil(job.deadline_s / step_s)))
    held = np.lib.stride_tricks.sliding_window_view(np.append(available, [False] * restart), restart + 1).all(axis=1)
    costs = np.full((times + 1, 3, works + 1), np.inf)  # without machines, on demand, on spot ones
    costs[:, :, 0] = 0.0
    for time in reversed(range(times)):
        stay = 1 + costs[time + 1, 1, :-1]
        on_spot = share + costs[time + 1, 2, :-1] if available[time] else np.full(works, np.inf)
        begin = np.full(works, np.inf)
        after = time + restart
        if after < times:
            begin = restart + 1 + costs[after + 1, 1, :-1]
            if held[time]:
                begin = np.minimum(begin, (restart + 1) * share + costs[after + 1, 2, :-1])
        idle = np.minimum(costs[time + 1, 0, 1:], begin)
        costs[time, 0, 1:] = idle
        costs[time, 1, 1:] = np.minimum(stay, idle)
        costs[time, 2, 1:] = np.minimum(on_spot, idle)
    return float(costs[0, 0, works]) * step_s

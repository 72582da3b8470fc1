"""A job's decisions: work on spot machines, work on demand, or wait."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.clusters.spot.availability import SpotRates
from planner.clusters.spot.policy import Action, Moment, SpotJob, decide

JOB = SpotJob(work_s=3600, deadline_s=7200, restart_s=180, spot_share=0.3, decide_every_s=60)
STEADY = SpotRates(losses_per_s=1 / 36000, returns_per_s=1 / 36000)
FLEETING = SpotRates(losses_per_s=1 / 60, returns_per_s=1 / 36000)


def moment(on: Action = "wait", *, available: bool = True, work_s: float = 3600, time_s: float = 7200) -> Moment:
    return Moment(on=on, spot_available=available, work_left_s=work_s, time_left_s=time_s)


def test_spot_machines_that_last_are_taken_whenever_there_are_any() -> None:
    assert decide(JOB, moment(), STEADY) == "spot"
    assert decide(JOB, moment("spot"), STEADY) == "spot"
    assert decide(JOB, moment("on-demand"), STEADY) == "spot"


def test_spot_machines_that_are_lost_before_they_work_are_not_taken() -> None:
    """They live for a minute and need three to start: their cost is lost."""
    assert decide(JOB, moment("on-demand"), FLEETING) == "on-demand"


def test_without_spot_machines_it_waits_only_where_they_are_likely_to_come_back_in_time() -> None:
    soon = SpotRates(losses_per_s=1 / 36000, returns_per_s=1 / 300)
    never = SpotRates(losses_per_s=1 / 36000, returns_per_s=1e-7)
    assert decide(JOB, moment(available=False), soon) == "wait"
    assert decide(JOB, moment(available=False), replace(never, losses_per_s=1 / 60)) != "spot"


def test_it_does_not_wait_where_no_restart_on_spot_machines_would_be_in_time() -> None:
    """Observed: one of 20 durations made it wait for nothing, because rounding lowered the cost of waiting by a bit."""
    job = SpotJob(work_s=600, deadline_s=750, restart_s=120, spot_share=1 / 3, decide_every_s=0.3)
    for hundredths in range(73_500, 75_000, 37):
        left_s = hundredths / 100
        now = moment(available=False, work_s=599.8, time_s=left_s)
        assert decide(replace(job, deadline_s=left_s), now, SpotRates()) == "on-demand", left_s


def test_the_net() -> None:
    """3,600 s of work and a restart of 180 s need 3,780 s, and a look of 60 s may pass before the loss is noticed."""
    assert decide(JOB, moment(available=False, time_s=3839), STEADY) == "on-demand"
    assert decide(JOB, moment(available=True, time_s=3839), STEADY) == "on-demand"
    assert decide(JOB, moment("spot", time_s=3779), STEADY) == "on-demand"
    assert decide(JOB, moment("spot", time_s=3900), STEADY) == "spot", "a loss still leaves the net"


def test_at_the_net_it_stays_on_demand_whatever_there_is() -> None:
    assert decide(JOB, moment("on-demand", time_s=3700), STEADY) == "on-demand"


@settings(max_examples=30, deadline=None)
@given(
    up=st.lists(st.booleans(), min_size=40, max_size=40),
    slack=st.sampled_from([0.0, 45.0, 300.0, 900.0]),
    losses=st.sampled_from([1e-5, 1e-2]),
    returns=st.sampled_from([1e-5, 1e-2]),
)
def test_it_is_never_late_whatever_happens(up: list[bool], slack: float, losses: float, returns: float) -> None:
    """20 minutes of work, a restart of 120 s and two looks fit; machines come and go at any step of 60 s."""
    job = SpotJob(work_s=1200, deadline_s=1200 + 120 + 60 + slack, restart_s=120, spot_share=0.3, decide_every_s=60)
    on: Action = "wait"
    done_s = restart_s = at_s = 0.0
    for available in up:
        is_working = on == "on-demand" or (on == "spot" and available)
        state = Moment(
            on=on,
            spot_available=available,
            work_left_s=job.work_s - done_s,
            time_left_s=job.deadline_s - at_s - restart_s * is_working,
        )
        action = decide(job, state, SpotRates(losses_per_s=losses, returns_per_s=returns))
        assert action != "spot" or available
        if action != on or not is_working:
            restart_s = job.restart_s
        worked_s = max(0.0, 60 - restart_s) if action != "wait" else 0.0
        on, done_s, restart_s, at_s = action, done_s + worked_s, max(0.0, restart_s - 60), at_s + 60
        if done_s >= job.work_s:
            break
    assert done_s >= job.work_s
    assert at_s - (done_s - job.work_s) <= job.deadline_s + 1e-6

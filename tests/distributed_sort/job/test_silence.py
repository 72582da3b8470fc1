"""A silent node is named within ten seconds, and an idle one is distinguished from a slow one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from approvals import Approve

from planner.distributed_sort.job.waiting import Pulse, Pulses, Silence, patience_s


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def watched(*, every_s: float, until_s: float, ends: dict[str, float], took_s: float = 1.0) -> tuple[list[Any], str]:
    """Return the reports and the stuck node: tasks of each node in `ends` end every second until that time."""
    clock, events = Clock(), list[Any]()
    silence = Silence(clock)
    for node in ends:
        silence.begin(node)
    while clock.s < until_s:
        clock.s += every_s
        for node, end_s in ends.items():
            if clock.s <= end_s:
                silence.hear(node, took_s=took_s)
        if stuck := silence.check(ends, events.append):
            return events, stuck
    return events, ""


def test_who_is_silent_is_named_again_and_again() -> None:
    events, stuck = watched(every_s=0.5, until_s=35, ends={"a": 100, "b": 2})
    assert events == [{"event": "waiting", "nodes": ["b"], "since_s": at, "reason": ""} for at in (8, 16, 24, 32)]
    assert stuck == ""


def test_who_holds_up_the_others_is_stuck() -> None:
    events, stuck = watched(every_s=0.5, until_s=1000, ends={"a": 1000, "b": 2})
    assert (stuck, len(events)) == ("b", 7)


def test_of_several_the_one_that_was_silent_first_is_stuck() -> None:
    assert watched(every_s=0.5, until_s=1000, ends={"a": 30, "b": 2, "c": 30})[1] == "b"


def test_long_tasks_get_their_time() -> None:
    assert watched(every_s=1, until_s=290, ends={"a": 300, "b": 2}, took_s=30)[1] == ""
    assert watched(every_s=1, until_s=310, ends={"a": 400, "b": 2}, took_s=30)[1] == "b"


def test_while_no_task_has_ended_the_largest_one_says_how_long_it_may_take() -> None:
    clock, events = Clock(), list[Any]()
    silence = Silence(clock, limit_s=patience_s(1e9))
    silence.begin("a")
    stuck_at_s = next(at for at in range(1000) if silence.check(("a",), events.append) or setattr(clock, "s", at))
    assert 250 <= stuck_at_s <= 270
    assert events[0]["nodes"] == ["a"]


def test_a_node_without_tasks_is_not_waited_for() -> None:
    clock, events = Clock(), list[Any]()
    silence = Silence(clock)
    silence.begin("a")
    clock.s = 50
    assert silence.check((), events.append) == "" and events == []
    silence.begin("a")
    clock.s = 55
    assert silence.check(("a",), events.append) == "" and events == []


class Services:
    """A Ray, and services of nodes by name; `stopped` ones never answer, `gone` ones fail."""

    exceptions = SimpleNamespace(RayError=ZeroDivisionError)

    def __init__(self, answers: dict[str, Pulse]) -> None:
        self.answers, self.asked = answers, list[str]()
        self.stopped, self.gone = set[str](), set[str]()
        self.by_name = {name: SimpleNamespace(pulse=SimpleNamespace(remote=self._asking(name))) for name in answers}

    def _asking(self, name: str) -> Any:
        def ask() -> str:
            self.asked.append(name)
            return name

        return ask

    def wait(self, asked: list[str], *, num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        assert (num_returns, timeout) == (len(asked), 0)
        return [name for name in asked if name not in self.stopped], []

    def get(self, name: str) -> Pulse:
        if name in self.gone:
            raise ZeroDivisionError
        return self.answers[name]


def pulses_after(services: Services, *, seconds: float) -> tuple[Pulses, list[Any], list[str]]:
    """Return the pulses, the reports, and the nodes that have stopped at the end."""
    clock, events, stopped = Clock(), list[Any](), list[str]()
    pulses = Pulses(services, clock)
    while clock.s < seconds:
        clock.s += 0.5
        stopped = pulses.check(services.by_name, events.append)
    return pulses, events, stopped


def test_a_stopped_service_is_named_and_its_node_lost(approve: Approve) -> None:
    services = Services({"a": Pulse(), "b": Pulse(awaits="the store")})
    services.stopped = {"b"}
    _, events, stopped = pulses_after(services, seconds=20)
    assert stopped == []
    approve({(*event["nodes"], event["reason"]) for event in events})
    assert events[0]["since_s"] <= 6
    assert pulses_after(services, seconds=40)[2] == ["b"]
    assert services.asked.count("b") == 2, "once by each of these clocks"


def test_a_service_that_restarts_has_not_stopped() -> None:
    services = Services({"a": Pulse(), "b": Pulse(idle_s=5)})
    services.gone = {"b"}
    pulses, events, stopped = pulses_after(services, seconds=100)
    assert (events, stopped, pulses.of("b")) == ([], [], Pulse())


def test_what_tasks_wait_for_is_said_every_ten_seconds() -> None:
    _, events, stopped = pulses_after(
        Services({"a": Pulse(awaits="the store", awaits_s=12.4), "b": Pulse()}), seconds=30
    )
    expected = {"event": "waiting", "nodes": ["a"], "since_s": 12, "reason": "the store"}
    assert (events, stopped) == ([expected] * 4, [])


def test_a_tasks_time_begins_when_it_runs() -> None:
    clock, events = Clock(), list[Any]()
    silence = Silence(clock)
    silence.begin("a")
    while clock.s < 500:  # Ray queues it
        clock.s += 1
        silence.queue("a")
        assert silence.check(("a",), events.append) == ""
    clock.s += 3
    silence.hear("a", took_s=clock.s)
    silence.begin("a")
    stuck_at_s = next(at for at in range(504, 2000) if setattr(clock, "s", at) or silence.check(("a",), events.append))
    assert 560 <= stuck_at_s <= 566, "ten times three seconds are less than a minute"
    assert all(event["since_s"] < 60 for event in events)

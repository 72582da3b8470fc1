"""A node that is silent is named within ten seconds, and one that holds up the others is told apart from a slow one."""

from __future__ import annotations

from typing import Any

from planner.distributed_sort.job.silence import Silence


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def watched(*, every_s: float, until_s: float, ends: dict[str, float], took_s: float = 1.0) -> tuple[list[Any], str]:
    """Return what was said, and who was stuck: tasks of each node in `ends` end every second until then."""
    clock, said = Clock(), list[Any]()
    silence = Silence(clock)
    for node in ends:
        silence.begin(node)
    while clock.s < until_s:
        clock.s += every_s
        for node, end_s in ends.items():
            if clock.s <= end_s:
                silence.hear(node, took_s=took_s)
        if stuck := silence.look(ends, said.append):
            return said, stuck
    return said, ""


def test_who_is_silent_is_named_every_ten_seconds() -> None:
    said, stuck = watched(every_s=0.5, until_s=35, ends={"a": 100, "b": 2})
    assert said == [{"event": "waiting", "nodes": ["b"], "since_s": at} for at in (10, 20, 30)]
    assert stuck == ""


def test_who_holds_up_the_others_is_stuck() -> None:
    said, stuck = watched(every_s=0.5, until_s=1000, ends={"a": 1000, "b": 2})
    assert (stuck, len(said)) == ("b", 9)


def test_of_several_the_one_that_was_silent_first_is_stuck() -> None:
    assert watched(every_s=0.5, until_s=1000, ends={"a": 30, "b": 2, "c": 30})[1] == "b"


def test_long_tasks_get_their_time() -> None:
    assert watched(every_s=1, until_s=290, ends={"a": 300, "b": 2}, took_s=30)[1] == ""
    assert watched(every_s=1, until_s=310, ends={"a": 400, "b": 2}, took_s=30)[1] == "b"


def test_while_no_task_has_ended_nobody_is_stuck() -> None:
    said, stuck = watched(every_s=0.5, until_s=500, ends={"a": 0, "b": 0})
    assert (stuck, said[0]["nodes"]) == ("", ["a", "b"])


def test_a_node_without_tasks_is_not_waited_for() -> None:
    clock, said = Clock(), list[Any]()
    silence = Silence(clock)
    silence.begin("a")
    clock.s = 50
    assert silence.look((), said.append) == "" and said == []
    silence.begin("a")
    clock.s = 55
    assert silence.look(("a",), said.append) == "" and said == []

"""Tasks under way land when they end, and at once when their node, or one whose data they wait for, is lost."""

from __future__ import annotations

from typing import Any, cast

import pytest

from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.job.pending_tasks import PendingTasks
from planner.distributed_sort.job.waiting import Silence
from planner.distributed_sort.node_files.run_files import DiskFullError
from planner.errors import IoFailureError


class Silent:
    """A Ray that has not heard of any task's end yet."""

    def __init__(self) -> None:
        self.cancelled: list[tuple[str, bool]] = []

    def wait(self, in_progress: list[str], **_: Any) -> tuple[list[str], list[str]]:
        assert in_progress
        return [], in_progress

    def cancel(self, reference: str, *, force: bool) -> None:
        self.cancelled.append((reference, force))


class LostNodes:
    """The lost nodes; `given_up` counts how often services were ordered to give everything up."""

    lost = frozenset[str]()
    given_up = 0

    def report_silent_nodes(self, silence: Silence, busy: set[str], *, ordered: set[str]) -> None:
        del ordered
        silence.check(busy, lambda _: None)

    def give_up(self) -> None:
        self.given_up += 1


def test_tasks_of_a_lost_node_are_given_up_at_once() -> None:
    ray, nodes, ended = Silent(), LostNodes(), list[tuple[str, Any]]()
    tasks = PendingTasks(ray, cast("Nodes", nodes))
    for reference, node in (("one", "a"), ("two", "b"), ("three", "a")):
        tasks.add(reference, lambda outcome, reference=reference: ended.append((reference, outcome)), node=node)
    tasks.wait()
    assert ended == []
    nodes.lost = frozenset({"a"})
    tasks.wait()
    assert ended == [("one", LOST), ("three", LOST)]
    assert ray.cancelled == [("one", True), ("three", True)]
    assert len(tasks) == 1
    nodes.lost = frozenset({"a", "b"})
    tasks.wait()
    assert len(tasks) == 0


def test_what_waits_for_a_lost_node_is_given_up_and_its_own_node_left_in_peace() -> None:
    ray, nodes, ended = Silent(), LostNodes(), list[Any]()
    tasks = PendingTasks(ray, cast("Nodes", nodes))
    tasks.add("one", ended.append, node="a", sources=["c", "b"])
    tasks.add("two", ended.append, node="a", sources=["c"])
    nodes.lost = frozenset({"b"})
    tasks.wait()
    assert (ended, ray.cancelled, len(tasks)) == ([LOST], [("one", False)], 1)


def test_what_is_ordered_of_a_node_that_was_lost_before_is_given_up_too() -> None:
    ray, nodes, ended = Silent(), LostNodes(), list[Any]()
    tasks = PendingTasks(ray, cast("Nodes", nodes))
    nodes.lost = frozenset({"b"})
    tasks.add("one", ended.append, node="a")
    tasks.wait()
    tasks.add("two", ended.append, node="b")
    tasks.add("three", ended.append, node="a", sources=["b"])
    tasks.wait()
    assert (ended, len(tasks)) == ([LOST, LOST], 1)


def test_of_many_tasks_several_are_waited_for_at_once_and_all_that_ended_are_reported() -> None:
    class Quick(Silent):
        """A Ray whose first 30 tasks have ended."""

        def __init__(self) -> None:
            super().__init__()
            self.waited_for = list[int]()

        def wait(self, in_progress: list[str], *, num_returns: int, **_: Any) -> tuple[list[str], list[str]]:
            self.waited_for.append(num_returns)
            ended = min(30, num_returns)
            return in_progress[:ended], in_progress[ended:]

    class Done(LostNodes):
        def outcome(self, reference: int) -> int:
            return reference

    ray, ended = Quick(), list[int]()
    tasks = PendingTasks(ray, cast("Nodes", Done()))
    for number in range(1000):
        tasks.add(number, ended.append, node="a")
    tasks.wait()
    assert ray.waited_for == [20, 1000]
    assert ended == list(range(30))


def test_a_full_disk_is_handed_on_once_and_its_tasks_are_lost() -> None:
    class Ended(Silent):
        def wait(self, in_progress: list[str], **_: Any) -> tuple[list[str], list[str]]:
            return in_progress, []

    class Full(LostNodes):
        def outcome(self, _: str) -> Any:
            raise DiskFullError("a: cannot write /x: No space left on device")

    nodes, ended = Full(), list[Any]()

    def leave_out(node: str, error: IoFailureError) -> None:
        assert "/x" in str(error)
        nodes.lost |= {node}

    tasks = PendingTasks(Ended(), cast("Nodes", nodes), on_full_disk=leave_out)
    for reference in ("one", "two"):
        tasks.add(reference, ended.append, node="a")
    tasks.wait()
    assert (ended, nodes.lost) == ([LOST, LOST], {"a"})
    nodes.lost = frozenset()
    tasks = PendingTasks(Ended(), cast("Nodes", nodes))
    tasks.add("one", ended.append, node="a")
    with pytest.raises(DiskFullError):
        tasks.wait()


def test_cancelling_waits_for_the_processes_so_that_nothing_is_written_afterwards() -> None:
    class Ending(Silent):
        """A Ray whose tasks end while the caller waits, once they were cancelled."""

        writing = frozenset({"one", "two"})

        def wait(self, in_progress: list[str], **limits: Any) -> tuple[list[str], list[str]]:
            assert limits["num_returns"] == len(in_progress)
            assert limits["timeout"] > 0
            self.writing = self.writing - {reference for reference, force in self.cancelled if force}
            running = [reference for reference in in_progress if reference in self.writing]
            return [reference for reference in in_progress if reference not in running], running

    ray = Ending()
    tasks = PendingTasks(ray, cast("Nodes", LostNodes()))
    for reference in sorted(ray.writing):
        tasks.add(reference, lambda _: None, node="a")
    tasks.cancel_all()
    assert ray.writing == set()
    assert len(tasks) == 0


@pytest.mark.parametrize(("uploads", "longest_s"), [(True, 30.0), (False, 1.0)])
def test_tasks_have_time_to_end_by_themselves(uploads: bool, longest_s: float) -> None:
    class Ending(Silent):
        """A Ray of which one task ends while the caller waits, and the other does not."""

        def wait(self, in_progress: list[str], **limits: Any) -> tuple[list[str], list[str]]:
            if not self.cancelled:
                assert limits["timeout"] == longest_s
                return in_progress[:1], in_progress[1:]
            return in_progress, []

    ray = Ending()
    tasks = PendingTasks(ray, cast("Nodes", LostNodes()), uploads=uploads)
    tasks.add("one", lambda _: None, node="a")
    tasks.add("two", lambda _: None, node="a")
    tasks.cancel_all()
    assert ray.cancelled == [("two", True)]


def test_calls_of_services_are_told_to_give_up_since_they_cannot_be_cancelled() -> None:
    ray, nodes, ended = Silent(), LostNodes(), list[Any]()
    tasks = PendingTasks(ray, cast("Nodes", nodes))
    tasks.add("one", ended.append, node="a", sources=["b"], is_call=True)
    tasks.add("two", ended.append, node="a", is_call=True)
    nodes.lost = frozenset({"b"})
    tasks.wait()
    assert (ended, nodes.given_up) == ([LOST], 0), "the nodes did that when they noticed the loss"
    tasks.cancel_all()
    assert (ray.cancelled, nodes.given_up, len(tasks)) == ([], 1, 0)

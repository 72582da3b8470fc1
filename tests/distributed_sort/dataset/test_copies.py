"""Work on partitions uses any copy that serves, and no failure is passed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from refusals import refused

from planner.distributed_sort.dataset import copies
from planner.distributed_sort.dataset.copies import (
    Outcomes,
    drop_changed_copies,
    keep_intact_copies,
    retry_on_nodes,
    run_on_any,
    run_on_each_copy,
)
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition
from planner.distributed_sort.job.nodes import LOST
from planner.errors import IoFailureError
from planner.native import core
from tests.distributed_sort.inline_nodes import InlineNodes

Task = Callable[[str], str]


class Machines:
    """The part of `Nodes` needed to try copies: a task runs when awaited; tasks on `lost` nodes never run."""

    def __init__(self, names: Sequence[str], *, lost: Sequence[str] = ()) -> None:
        self.names = list(names)
        self.going = set(lost)

    def run(self, node: str, task: Callable[..., Any], *arguments: Any) -> Any:
        return lambda: f"{node}: {task(*arguments)}"

    def wait_for(self, reference: Any, *, nodes: Sequence[str]) -> Any:
        return LOST if self.going & set(nodes) else reference()

    def detect_losses(self, *, at_once: bool) -> None:
        self.names = [name for name in self.names if name not in self.going]


def two_copies(count: int) -> Dataset:
    """Partition n lies on node-0 and node-1."""
    both = tuple(Copy(uri=f"/disk/{node}", node=node) for node in ("node-0", "node-1"))
    return Dataset(partitions=tuple(Partition(records=1, copies=both) for _ in range(count)))


def tried(nodes: Machines, dataset: Dataset, task: Callable[[str, int], str]) -> Outcomes:
    have = {number: partition.copies for number, partition in enumerate(dataset.partitions)}
    return run_on_each_copy(
        nodes,  # type: ignore[arg-type]
        have,
        dataset,
        lambda node, alone, number: lambda: task(f"{node}:{alone.uri}", number),
    )


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "PAUSES_S", (0.0,) * 4)


def test_a_copy_that_cannot_be_read_is_replaced_by_the_next() -> None:
    def task(where: str, number: int) -> str:
        if number == 1 and "node-0" in where:
            raise IoFailureError("a bad sector")
        return where

    outcomes = tried(Machines(["node-0", "node-1"]), two_copies(3), task)
    expected = ["node-0:/disk/node-0", "node-1:/disk/node-1", "node-0:/disk/node-0"]
    assert outcomes.complete(doing="trying") == expected


def test_what_was_on_a_lost_node_is_done_on_the_other() -> None:
    nodes = Machines(["node-0", "node-1"], lost=["node-0"])
    outcomes = tried(nodes, two_copies(2), lambda where, _: where)
    assert outcomes.complete(doing="trying") == ["node-1:/disk/node-1"] * 2


def test_a_fault_that_passes_is_waited_out_with_one_copy() -> None:
    calls: list[int] = []

    def task(where: str, number: int) -> str:
        calls.append(number)
        if len(calls) < 3:
            raise IoFailureError("the store is away")
        return where

    alone = Dataset(partitions=(Partition(records=1, copies=(Copy(uri="/disk", node="node-0"),)),))
    assert tried(Machines(["node-0"]), alone, task).complete(doing="trying") == ["node-0:/disk"]
    assert calls == [0, 0, 0]


def test_what_fails_everywhere_is_named() -> None:
    def task(where: str, number: int) -> str:
        if number == 1:
            raise IoFailureError("refused for good")
        return where

    with refused("partitions-failed", "1 of 2", kind=IoFailureError) as caught:
        tried(Machines(["node-0", "node-1"]), two_copies(2), task).complete(doing="trying")
    assert caught.value.details == ("partition 1: refused for good",)


def test_what_any_node_can_do_is_done_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, vain = InlineNodes(["a", "b"], monkeypatch), [1, 2, 3, 4, 5]

    def task(content: str) -> str:
        if len(vain) > 4:
            raise IoFailureError(f"refused, {vain.pop()}")
        return content

    assert retry_on_nodes(nodes, task, "manifest", doing="writing") == "manifest"  # type: ignore[arg-type]
    assert nodes.begun == ["a", "b"]
    vain[:] = range(9)
    with refused("attempts-failed", "4 attempts", kind=IoFailureError) as caught:
        retry_on_nodes(nodes, task, "manifest", doing="writing")  # type: ignore[arg-type]
    assert caught.value.details == ("refused, 5",)


def summary(record: bytes) -> bytes:
    return bytes(core.validate_records(record).serialize())


def test_the_sound_copies_of_all_partitions_make_the_output() -> None:
    """Copy 0 lacks one partition, copy 1 the other: together they are whole, in order, and nothing else is left."""
    low, high = b"a" * 100, b"b" * 100
    first, second = Outcomes(done={0: summary(low)}, failed={1: "bad"}), Outcomes(done={1: summary(high)})
    dataset, whole = keep_intact_copies(two_copies(2), [first, second])
    assert [[copy.node for copy in partition.copies] for partition in dataset.partitions] == [["node-0"], ["node-1"]]
    assert (whole.records, whole.sorted, whole.lost) == (2, True, 0)


def test_a_partition_without_a_sound_copy_is_an_error() -> None:
    with refused("partitions-failed", "1 of 2", kind=IoFailureError) as caught:
        keep_intact_copies(two_copies(2), [Outcomes(done={0: summary(b"a" * 100)}, failed={1: "torn"}), Outcomes()])
    assert caught.value.details == ("partition 1: torn",)


def test_a_copy_that_is_not_what_was_written_counts_as_lost_where_the_other_is() -> None:
    """Nothing is left out where both copies differ from the data written: the output is wrong."""
    low, high, other = (summary(letter * 100) for letter in (b"a", b"b", b"c"))
    sums = [f"{core.validate_records(letter * 100).checksum:x}" for letter in (b"a", b"b")]
    whole = two_copies(2)
    parts = tuple(replace(part, checksum=own) for part, own in zip(whole.partitions, sums, strict=True))
    dataset = replace(whole, partitions=parts)
    first, second = drop_changed_copies(
        [Outcomes(done={0: other, 1: other}), Outcomes(done={0: low, 1: other})], dataset
    )
    assert first.done == {1: other} and "has the checksum" in first.failed[0]
    assert second.done == {0: low, 1: other} and not second.failed
    read = [Outcomes(done={0: low, 1: other}), Outcomes(done={0: low, 1: high})]
    intact, _ = keep_intact_copies(dataset, drop_changed_copies(read, dataset))
    assert [[copy.node for copy in part.copies] for part in intact.partitions] == [["node-0", "node-1"], ["node-1"]]


def test_what_any_node_can_do_is_done_by_another_where_one_is_lost() -> None:
    """A link cut while the output's place was tried used to end the whole run."""
    nodes = Machines(["a", "b", "c"], lost=["a"])
    assert run_on_any(nodes, str, 7, doing="something was tried") == "c: 7"  # type: ignore[arg-type]


def test_a_node_that_loses_its_process_again_and_again_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Machines(["a"], lost=["a"])
    monkeypatch.setattr(nodes, "detect_losses", lambda *, at_once: at_once)
    with refused("nodes-lost", "5 times", kind=IoFailureError):
        run_on_any(nodes, str, 7, doing="something was tried")  # type: ignore[arg-type]


def test_what_is_refused_is_not_tried_again() -> None:
    def refused() -> str:
        tries.append(1)
        raise IoFailureError("not writable")

    tries = list[int]()
    with pytest.raises(IoFailureError, match="not writable"):
        run_on_any(Machines(["a", "b"]), refused, doing="something was tried")  # type: ignore[arg-type]
    assert len(tries) == 1

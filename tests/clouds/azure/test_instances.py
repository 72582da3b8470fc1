"""Waiting until Azure has made machines."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from planner.clouds.azure.instances import _failures
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_errors import NoCapacityError, NotFoundError

NAMES = ["node-0-0000", "node-0-0001"]


class Subscription:
    """Two machines in creation. The first is gone from look `from_look` on, or only missing from that listing."""

    def __init__(self, *, is_gone: bool, from_look: int) -> None:
        self.is_gone = is_gone
        self.from_look = from_look
        self.looks = 0

    def items(self, kind: str, group: str) -> Iterator[dict[str, Any]]:
        self.looks += 1
        shown = NAMES[1:] if self.looks == self.from_look or (self.is_gone and self.looks > self.from_look) else NAMES
        state = "Succeeded" if self.looks > 3 else "Creating"
        yield from ({"name": name, "properties": {"provisioningState": state}} for name in shown)

    def get(self, kind: str, group: str, name: str) -> dict[str, Any]:
        if self.is_gone:
            raise NotFoundError(f"{name} was not found", cloud_code="ResourceNotFound")
        return {"name": name}


def failures(arm: Subscription) -> list[Any]:
    network: Any = SimpleNamespace(arm=arm, group="planner-r-eastus-1")
    return _failures(network, RetryPolicy(poll_s=0.0, join_s=5.0), NAMES)


@pytest.mark.parametrize("from_look", [1, 2])
def test_a_spot_machine_that_is_taken_back_while_it_is_created_is_not_waited_for(from_look: int) -> None:
    """Azure deletes it, and the others were paid for in vain (scylladb/scylla-cluster-tests pull request 15183)."""
    arm = Subscription(is_gone=True, from_look=from_look)
    (refusal,) = failures(arm)
    assert isinstance(refusal, NoCapacityError) and NAMES[0] in refusal.message and arm.looks == from_look + 1


def test_a_machine_that_one_listing_leaves_out_is_waited_for() -> None:
    arm = Subscription(is_gone=False, from_look=2)
    assert failures(arm) == [] and arm.looks == 4

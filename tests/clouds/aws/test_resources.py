"""Ending instances by the thousand, with some that are gone already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planner.clouds.aws import resources
from planner.clouds.cloud_errors import NotFoundError


class Account:
    """TerminateInstances as EC2 documents it: at most 1,000 ids, all of them known, or nothing happens."""

    region = "us-east-1"

    def __init__(self, existing: set[str]) -> None:
        self.existing = existing
        self.ended: set[str] = set()

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        ids = request["InstanceIds"]
        assert operation == "terminate_instances" and 1 <= len(ids) <= 1000
        if not self.existing.issuperset(ids):
            raise NotFoundError("no such instance", code="InvalidInstanceID.NotFound")
        self.ended.update(ids)
        return {}

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        raise NotImplementedError


@given(count=st.integers(0, 2500), missing=st.sets(st.integers(0, 2500), max_size=5))
def test_all_that_exist_are_ended(count: int, missing: set[int]) -> None:
    names = [f"i-{n}" for n in range(count)]
    account = Account({name for n, name in enumerate(names) if n not in missing})
    resources.terminate(account, names)
    assert account.ended == account.existing

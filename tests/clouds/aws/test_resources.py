"""Ending instances by the thousand, some of them already gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.clouds.aws import resources
from planner.clouds.cloud_errors import NotFoundError, StillInUseError
from planner.clouds.protocol import Resource


class Account:
    """TerminateInstances as documented by EC2: at most 1,000 ids, all of them known and none protected, or nothing
    happens in the zone.
    """

    region = "us-east-1"

    def __init__(self, existing: set[str], *, protected: frozenset[str] = frozenset()) -> None:
        self.existing = existing
        self.protected = protected
        self.ended: set[str] = set()

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        ids = request["InstanceIds"]
        assert operation == "terminate_instances" and 1 <= len(ids) <= 1000
        if not self.existing.issuperset(ids):
            raise NotFoundError("no such instance", cloud_code="InvalidInstanceID.NotFound")
        if held := self.protected.intersection(ids):
            raise StillInUseError(f"the instance {min(held)} may not be terminated (OperationNotPermitted)")
        self.ended.update(ids)
        return {}

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """Describe volumes as EC2 does: a filter has at most 200 values."""
        assert (operation, key) == ("describe_volumes", "Volumes")
        (chosen,) = request["Filters"]
        assert chosen["Name"] == "volume-id" and 1 <= len(chosen["Values"]) <= 200
        yield from ({"VolumeId": id_, "State": "available"} for id_ in chosen["Values"] if id_ in self.existing)


@given(count=st.integers(1, 700), missing=st.sets(st.integers(0, 700), max_size=5))
def test_all_that_exist_are_found_by_their_ids(count: int, missing: set[int]) -> None:
    named = [Resource(kind="volume", id=f"vol-{n}", region="us-east-1", run="r1") for n in range(count)]
    account = Account({item.id for n, item in enumerate(named) if n not in missing})
    assert {item.id for item in resources.look_up(account, named)} == account.existing


@given(count=st.integers(0, 2500), missing=st.sets(st.integers(0, 2500), max_size=5))
def test_all_that_exist_are_ended(count: int, missing: set[int]) -> None:
    names = [f"i-{n}" for n in range(count)]
    account = Account({name for n, name in enumerate(names) if n not in missing})
    resources.terminate(account, names)
    assert account.ended == account.existing


@given(count=st.integers(1, 2500), protected=st.sets(st.integers(0, 2499), min_size=1, max_size=5))
def test_one_that_is_protected_keeps_no_other_running(count: int, protected: set[int]) -> None:
    """EC2 then ends none of the call: jenkinsci/ec2-fleet-plugin issue 327."""
    names = [f"i-{n}" for n in range(count)]
    account = Account(set(names), protected=frozenset(f"i-{n % count}" for n in protected))
    with refused("still-in-use", kind=StillInUseError):
        resources.terminate(account, names)
    assert account.ended == account.existing - account.protected

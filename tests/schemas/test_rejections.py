"""Excluded types are stored by reason, the nearest first, and read back one by one."""

from __future__ import annotations

from planner.schemas.rejections import Rejection, by_reason, one_by_one

FAR = Rejection(instance_type="far", reason="too slow", detail="needs 9 nodes", nearness=9.0)
NEAR = Rejection(instance_type="near", reason="too slow", detail="needs 2 nodes", nearness=2.0)
NO_DISKS = [Rejection(instance_type=f"m{number}", reason="no disks", detail="it has none") for number in range(5)]


def test_a_group_has_its_count_and_its_nearest_first() -> None:
    none, slow = by_reason([FAR, *reversed(NO_DISKS), NEAR])
    assert (slow.reason, slow.types, slow.examples) == ("too slow", 2, ("near", "far"))
    assert [(alike.detail, alike.nearness) for alike in slow.which] == [("needs 2 nodes", 2.0), ("needs 9 nodes", 9.0)]
    assert (none.types, none.examples, len(none.which)) == (5, ("m0", "m1", "m2"), 1)


def test_every_type_comes_back_with_its_detail() -> None:
    assert one_by_one(by_reason([FAR, *NO_DISKS, NEAR])) == (*NO_DISKS, NEAR, FAR)

"""Deleting resources of which some are gone and others still in use."""

from __future__ import annotations

import pytest

from planner.clouds.cloud_errors import NotFoundError, StillInUseError
from planner.clouds.deletion import delete_each
from planner.clouds.protocol import Resource


def resource(name: str, *, ending: bool = False) -> Resource:
    return Resource(kind="volume", id=name, region="r", run="x", ending=ending)


@pytest.mark.parametrize("at_once", [1, 3])
def test_all_are_asked_for_and_those_that_wait_are_named(at_once: int) -> None:
    asked: list[str] = []

    def delete(doomed: Resource) -> None:
        asked.append(doomed.id)
        if doomed.id == "gone":
            raise NotFoundError("no such volume", code="InvalidVolume.NotFound")
        if doomed.id == "used":
            raise StillInUseError("used by i-1")

    resources = [resource("used"), resource("gone"), resource("ending", ending=True), resource("free")]
    with pytest.raises(StillInUseError, match="1 of 4 still in use") as raised:
        delete_each(resources, delete, at_once=at_once)
    assert sorted(asked) == ["free", "gone", "used"]
    assert raised.value.details == ("used by i-1",)

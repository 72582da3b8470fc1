"""Filters of types, and requests that contradict themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from planner.api.recommend import recommend
from planner.cli.app import build
from planner.errors import BadInputError, InfeasibleError
from planner.planning.recommendation import require_best
from planner.schemas.plan import Plan

DISKS = {"read": 2e9, "write": 1e9}


@pytest.fixture
def cloud(make_catalog: Callable[..., str]) -> str:
    return make_catalog(
        {"a.1": {**DISKS, "arch": "arm64"}, "a.2": {**DISKS, "arch": "x86_64"}, "b.1": {**DISKS, "arch": "x86_64"}}
    )


def planned(cloud: str, **options: Any) -> Plan:
    return recommend(**{"data": "1TB", "model": "indy", "catalogs": [cloud], **options}).plan


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, ["a.1", "a.2", "b.1"]),
        ({"instances": ["a.*"]}, ["a.1", "a.2"]),
        ({"exclude": ["a.*"]}, ["b.1"]),
        ({"arch": "arm64"}, ["a.1"]),
        ({"instances": ["a.*"], "arch": "x86_64"}, ["a.2"]),
    ],
    ids=str,
)
def test_types_that_pass(cloud: str, options: dict[str, Any], left: list[str]) -> None:
    plan = planned(cloud, **options)
    assert {entry.instance_type for entry in plan.candidates} == {*left}
    assert {entry.instance_type for entry in plan.rejected} == {"a.1", "a.2", "b.1"} - {*left}


@pytest.mark.parametrize(
    ("options", "conflict"),
    [
        ({"instances": ["a.*"], "exclude": ["a.*"]}, "--instance a.* and --exclude a.* clash: no type passes both"),
        ({"instances": ["b.1"], "arch": "arm64"}, "--instance b.1 and --arch arm64 clash: no type passes both"),
        ({"exclude": ["*"]}, "--exclude * lets no type through"),
        ({"exclude": ["a.1"], "arch": "arm64"}, "--exclude a.1 and --arch arm64 clash: no type passes both"),
    ],
)
def test_filters_that_clash_are_named(cloud: str, options: dict[str, Any], conflict: str) -> None:
    plan = planned(cloud, **options)
    assert plan.best is None
    assert plan.conflicts == (conflict,)
    with pytest.raises(InfeasibleError) as caught:
        require_best(plan)
    assert conflict in caught.value.message


def test_the_nearest_rejections_are_those_that_were_asked_for(cloud: str) -> None:
    with pytest.raises(InfeasibleError) as caught:
        require_best(planned(cloud, instances=["b.1"], arch="arm64"))
    assert caught.value.details[0].startswith("b.1: not known to be arm64")


def test_numbers_of_nodes_that_contradict(cloud: str) -> None:
    with pytest.raises(BadInputError, match="--nodes 50 and --max-nodes 10 contradict"):
        planned(cloud, nodes=50, max_nodes=10)
    assert planned(cloud, nodes=1500).best


def test_places_to_look_that_contradict() -> None:
    asked = ["plan", "--data", "1TB", "--model", "indy", "--cloud", "aws", "--catalog", "gcp"]
    outcome = CliRunner().invoke(build(), asked)
    assert isinstance(outcome.exception, BadInputError)
    assert "--cloud and --catalog contradict" in str(outcome.exception)


def test_the_papers_leave_aside_what_they_do_not_know(cloud: str) -> None:
    plan = planned(cloud, paper=True, zones=2, confidence=0.9, deadline="10h")
    assert plan.warnings[0].startswith("--paper leaves aside --zones, --confidence")
    assert not planned(cloud, paper=True).warnings


@pytest.mark.parametrize("arguments", [{"regions": ["eu-west-1"]}, {"pricing": "spot", "catalogs": ["azure"]}])
def test_prices_that_are_missing_can_be_refreshed(arguments: dict[str, Any]) -> None:
    with pytest.raises(BadInputError, match=r"planner catalog refresh --cloud a\w+ .*--public reads them"):
        recommend(data="1TB", model="indy", **arguments)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, ["new"]),
        ({"previous_generations": True}, ["new", "old"]),
        ({"instances": ["old"]}, ["old"]),
        ({"paper": True}, ["new", "old"]),
    ],
    ids=str,
)
def test_previous_generations_are_left_out_unless_asked_for(
    make_catalog: Callable[..., str], options: dict[str, Any], left: list[str]
) -> None:
    cloud = make_catalog({"new": {**DISKS, "current_generation": "yes"}, "old": {**DISKS, "current_generation": "no"}})
    plan = planned(cloud, **options)
    assert sorted(entry.instance_type for entry in plan.candidates) == left
    if not options:
        (rejection,) = plan.rejected
        assert (rejection.instance_type, rejection.reason) == ("old", "of a previous generation")


def test_where_nothing_is_current_all_may_be_taken(make_catalog: Callable[..., str]) -> None:
    plan = planned(make_catalog({"a": {**DISKS, "current_generation": "no"}}))
    assert [entry.instance_type for entry in plan.candidates] == ["a"]

"""Each region applies to the clouds that have it."""

from __future__ import annotations

import shlex

import pytest
from approvals import Approve
from refusals import refused

from planner import recommend
from planner.catalog import load_catalog
from planner.catalog.cloud_regions import region_named, regions_of
from planner.errors import BadInputError

AWS, AZURE, GCP, OCI = (load_catalog(name) for name in ("aws", "azure", "gcp", "oci"))


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ((), [("us-east-1",), ("eastus",)]),
        (("us-east-1", "eastus"), [("us-east-1",), ("eastus",)]),
        (("eastus", "us-east-1", "westus2"), [("us-east-1",), ("eastus", "westus2")]),
        (("aws=us-east-1", "azure=westeurope"), [("us-east-1",), ("westeurope",)]),
        (("US East (Ohio)", "West Europe", "us-east-2"), [("us-east-2",), ("westeurope",)]),
    ],
)
def test_each_region_is_for_the_clouds_that_have_it(asked: tuple[str, ...], chosen: list[tuple[str, ...]]) -> None:
    assert regions_of(asked, [AWS, AZURE]) == chosen


def test_all_and_patterns_are_the_regions_with_prices() -> None:
    assert regions_of(["all"], [GCP]) == [tuple(GCP.regions())]
    (european,) = regions_of(["Europe-*"], [GCP])
    assert european and all(name.startswith("europe-") for name in european)
    assert set(european) == {name for name in GCP.regions() if name.startswith("europe-")}
    with pytest.raises(BadInputError, match="none of this name"):
        regions_of(["mars-*"], [GCP])


def test_a_cloud_without_regions_of_its_own_needs_none() -> None:
    assert regions_of(["us-east-1"], [AWS, OCI]) == [("us-east-1",), ("all",)]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("mars-1", "none of this name in aws, azure"),
        ("us-est-1", "Did you mean .*us-east-1"),
        ("frankfurt", "Did you mean eu-central-1"),
        ("europe-west3", "is of gcp.*say --cloud gcp, too"),
        ("gcp=us-east1", "'gcp' is none of the clouds asked for"),
        ("us-east-1", "a region of azure\n  add one, such as --region us-east-1,eastus, or leave azure out"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_say(asked: str, sentence: str) -> None:
    with pytest.raises(BadInputError, match=sentence):
        regions_of([asked], [AWS, AZURE])


def test_each_cloud_without_a_region_of_this_name_gets_its_own(approve: Approve) -> None:
    """What is suggested is accepted, and a region without prices comes with the command that reads them."""
    with pytest.raises(BadInputError) as refusal:
        regions_of(["frankfurt"], [AWS, GCP, AZURE])
    approve(str(refusal.value))
    named = refusal.value.details[0].partition("--region ")[2].partition(", or")[0].split(",")
    assert regions_of(named, [AWS, GCP, AZURE]) == [("eu-central-1",), ("europe-west3",), ("eastus",)]
    command = refusal.value.details[1].partition("planner ")[2].removesuffix(" reads them")
    assert shlex.split(command) == ["catalog", "refresh", "--cloud", "aws", "--region", "eu-central-1", "--public"]


def test_names_of_one_cloud_are_not_those_of_another() -> None:
    assert region_named("us-east1", GCP) == "us-east1"
    assert region_named("us-east1", AWS) is None  # AWS writes us-east-1


def test_a_region_without_prices_names_a_command_that_a_shell_takes() -> None:
    with refused("no-price", "catalog aws", field="own_price") as refusal:
        recommend("1TB", cloud="aws", regions="Europe (Frankfurt)")
    command = refusal.value.message.partition("planner ")[2].partition(" reads them")[0]
    assert shlex.split(command) == ["catalog", "refresh", "--cloud", "aws", "--region", "eu-central-1", "--public"]
    assert refusal.value.message.endswith("or state one: `own_price` 'TYPE=0.95'")
    with pytest.raises(BadInputError, match="--region 'of mine'"):
        AWS.prices("of mine")


def test_a_price_of_ones_own_needs_no_list() -> None:
    best = recommend("1TB", region="eu-central-1", own_price={"i4i.4xlarge": 1.5}, nodes=4).best
    assert best is not None
    assert (best.region, best.instance_type, best.price_usd_per_hour) == ("eu-central-1", "i4i.4xlarge", 1.5)
    with pytest.raises(BadInputError, match="no on-demand prices"):
        recommend("1TB", region="eu-central-1", discount="10%")  # a discount off a list that does not exist


def test_clouds_are_planned_together_each_in_its_region() -> None:
    answer = recommend(
        "1TB", cloud="AWS,azure", regions=["us-east-1", "westus2"], instance=["i4i.*", "Standard_L8s_v3"], nodes=4
    )
    assert {(c.cloud, c.region) for c in answer.candidates} == {("aws", "us-east-1"), ("azure", "westus2")}

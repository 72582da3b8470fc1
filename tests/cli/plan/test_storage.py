"""`planner storage`, called in-process."""

from __future__ import annotations

import json

import pytest
from approvals import Approve
from command_line import call
from refusals import refused

from planner.errors import BadInputError, InfeasibleError


def test_the_table_has_sizes_prices_and_what_sets_them() -> None:
    shown = call("storage", "--iops", "16k", "--catalog", "aws-2019,oci-2019")
    assert "5,334 GiB" in shown and "267 GiB" in shown and "3 IOPS per GiB" in shown
    assert "left out: aws-2019 local disks" in shown


def test_json_has_options_and_what_is_left_out() -> None:
    plain = json.loads(
        call("storage", "--iops", "16000", "--throughput", "1.5GB/s", "--data", "10TB", "--cloud", "aws", "--json")
    )
    assert {row["catalog"] for row in plain["options"]} == {"aws"} and plain["excluded"][0]["reason"]


def test_a_type_is_looked_for_in_all_clouds() -> None:
    plain = json.loads(call("storage", "--data", "1TB", "--instance", "Standard_D8s_v5", "--json"))
    assert {(row["catalog"], row["instance_type"]) for row in plain["options"]} == {("azure", "Standard_D8s_v5")}


def test_what_cannot_be_asked_says_why() -> None:
    with refused("missing-argument"):
        call("storage")
    with refused("unknown-type", "m5.4xlarge", field="--instance"):
        call("storage", "--iops", "1k", "--instance", "m5.4xlage", "--catalog", "aws")
    for count in ("0", "-5"):
        with pytest.raises(BadInputError, match="must be above 0"):
            call("storage", "--iops", count, "--catalog", "aws")


def test_the_reason_is_that_of_the_largest_stripe_and_names_the_limit_of_the_type(approve: Approve) -> None:
    """32 volumes of 16,000 operations each are 512,000; an m5.4xlarge's volumes do 593.75 MB/s together."""
    with pytest.raises(InfeasibleError) as caught:
        call("storage", "--iops", "10M", "--catalog", "aws")
    approve(caught.value.details)
    with pytest.raises(InfeasibleError) as caught:
        call("storage", "--throughput", "1.5GB/s", "--instance", "m5.4xlarge", "--catalog", "aws")
    assert "aws gp3: m5.4xlarge's limit is 594 MB/s of volumes" in caught.value.details
    assert "aws local disks: it has none" in caught.value.details


def test_clouds_are_named_as_plan_names_them_and_disks_that_are_too_small_say_so() -> None:
    """An i4i.4xlarge has one disk of 3,750 GB."""
    assert "they have 3,750 GB" in call("storage", "--data", "10TB", "--instance", "i4i.4xlarge", "--cloud", "AWS")
    assert {"aws", "azure", "gcp", "oci"} <= set(call("storage", "--data", "1TB", "--cloud", "all").split())

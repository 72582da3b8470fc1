"""What `planner scale` compares: a family, or any list of shapes."""

from __future__ import annotations

import pytest

from planner.catalog import load_catalog
from planner.cli.plan.scale import sizes_of
from planner.errors import BadInputError


def test_a_family_a_type_and_a_pattern_are_compared() -> None:
    aws = [load_catalog("aws")]
    assert sizes_of(aws, "i4i.4xlarge,i3en.2?large, i4i.8xlarge") == {
        "i4i.4xlarge": 16,
        "i3en.2xlarge": 8,
        "i4i.8xlarge": 32,
    }
    whole = sizes_of(aws, "i4i")
    assert whole["i4i.32xlarge"] == 128 and set(sizes_of(aws, "i4i,i4i.4xlarge")) == set(whole)


def test_of_a_family_disks_that_are_added_are_no_sizes_but_can_be_asked_for() -> None:
    gcp = [load_catalog("gcp")]
    assert not any("+" in name for name in sizes_of(gcp, "n2"))
    assert sizes_of(gcp, "n2-standard-32+4x375GB") == {"n2-standard-32+4x375GB": 32}


def test_what_names_nothing_is_refused_with_what_is_near() -> None:
    with pytest.raises(BadInputError, match=r"'i4i\.4xlage' in aws\. Did you mean i4i\.4xlarge"):
        sizes_of([load_catalog("aws")], "m5,i4i.4xlage")

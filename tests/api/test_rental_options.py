"""Options for rented machines."""

from __future__ import annotations

from typing import Any

import pytest

from planner import BadInputError, RentalOptions


def test_a_tag_is_a_key_and_a_value_that_all_clouds_take() -> None:
    for tag in (["cost-center=lab-7", "team="], {"cost-center": "lab-7", "team": ""}):
        assert RentalOptions(cloud="aws", tag=tag).tags == (("cost-center", "lab-7"), ("team", ""))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        *(({"tag": [wrong]}, "tag") for wrong in ("Team=a", "team=A b", "7=a", "=a", f"{'k' * 64}=a", "planner-run=r")),
        ({"reservation": "cr-1", "pricing": "spot"}, "reservation"),
        ({"no_public_address": True, "subnet": "s"}, "no_public_address"),
        ({"jump": "host"}, "jump"),
        ({"jump": "-oProxyCommand=x", "no_public_address": True, "subnet": "s", "ssh_from": "10.0.0.0/8"}, "jump"),
        ({"max_hours": "9999h"}, "max_hours"),
        ({"image": ""}, "image"),
        ({"or_next": -1}, "or_next"),
        ({"pricing": "spott"}, "pricing"),
        ({"max_cost": -1}, "max_cost"),
    ],
)
def test_what_no_cloud_can_do_is_refused_by_name(options: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInputError) as refused:
        RentalOptions(cloud="aws", **options)
    assert refused.value.field == field


def test_a_region_is_one_of_the_cloud() -> None:
    assert RentalOptions(cloud="aws", region="us-west-2,eu-west-1").regions == ("us-west-2", "eu-west-1")
    with pytest.raises(BadInputError, match="mars"):
        RentalOptions(cloud="aws", region=["mars"])

"""Options for rented machines."""

from __future__ import annotations

from typing import Any

import pytest

from planner import BadInputError, RentalOptions


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_a_tag_is_a_key_and_a_value(cloud: str) -> None:
    for tag in (["cost-center=lab-7", "team="], {"cost-center": "lab-7", "team": ""}):
        assert RentalOptions(cloud=cloud, tag=tag).tags == (("cost-center", "lab-7"), ("team", ""))  # type: ignore[arg-type]


TAGS: list[tuple[str, set[str]]] = [
    # A tag, and the clouds that take it.
    ("CostCenter=lab-7", {"aws", "azure"}),
    ("Cost Center=Lab 7", {"aws", "azure"}),
    ("a/b=c", {"aws"}),
    ("a=b?c", {"azure"}),
    ("7=a", {"aws", "azure"}),
    ("k=é", {"aws", "azure"}),
    ("Name=x", {"azure"}),
    ("aws:x=1", {"azure"}),
    ("microsoft-x=1", {"aws", "gcp"}),
    ("goog-x=1", {"aws", "azure"}),
    ("planner-run=r", set()),
    ("Planner-Run=r", set()),
    ("=a", set()),
    ("k=\x1b[31m", set()),
    (f"{'k' * 63}={'v' * 63}", {"aws", "gcp", "azure"}),
    (f"{'k' * 64}=v", {"aws", "azure"}),
    (f"{'k' * 128}={'v' * 256}", {"aws", "azure"}),
    (f"{'k' * 129}=v", {"azure"}),
    (f"k={'v' * 257}", set()),
]


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
@pytest.mark.parametrize(("tag", "clouds"), TAGS)
def test_each_cloud_takes_tags_by_its_own_rules(cloud: str, tag: str, clouds: set[str]) -> None:
    if cloud in clouds:
        assert RentalOptions(cloud=cloud, tag=[tag]).tags  # type: ignore[arg-type]
        return
    with pytest.raises(BadInputError) as refused:
        RentalOptions(cloud=cloud, tag=[tag])  # type: ignore[arg-type]
    assert refused.value.field == "tag"


@pytest.mark.parametrize(("cloud", "most"), [("aws", 44), ("gcp", 58), ("azure", 44)])
def test_a_resource_has_room_for_so_many_tags(cloud: str, most: int) -> None:
    tags = {f"k{number}": "" for number in range(most)}
    assert len(RentalOptions(cloud=cloud, tag=tags).tags) == most  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="takes"):
        RentalOptions(cloud=cloud, tag=tags | {"more": ""})  # type: ignore[arg-type]


def test_azure_has_one_tag_of_a_name_in_any_case() -> None:
    with pytest.raises(BadInputError, match="any case"):
        RentalOptions(cloud="azure", tag={"team": "a", "Team": "b"})


@pytest.mark.parametrize(
    ("options", "field"),
    [
        *(({"tag": [wrong]}, "tag") for wrong in ("team", "=a", f"{'k' * 129}=a", "planner-run=r")),
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

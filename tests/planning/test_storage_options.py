"""The cheapest storage of a catalog, on one type or any."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.catalog import load_catalog
from planner.planning.region import offer_of
from planner.planning.storage_options import Need, StorageAnswer, StorageOption, is_asked, storage_options


def answered(*names: str, instance_type: str | None = None, **need: float) -> StorageAnswer:
    catalogs = [load_catalog(name) for name in names]
    offers = [(c, offer_of(c, c.default_region, pricing="on-demand")) for c in catalogs]
    return storage_options(offers, Need(**need), instance_type=instance_type)


def by_storage(answer: StorageAnswer) -> dict[tuple[str, int], StorageOption]:
    return {(option.storage, option.count): option for option in answer.options}


def test_lee_and_foxs_comparison_comes_out() -> None:
    options = by_storage(answered("aws-2019", "oci-2019", iops=16_000))
    assert (options["gp2", 1].size_gib_each, options["block", 1].size_gib_each) == (5334, 267)
    # The node and a month of 720 or 730 hours of the volume.
    assert options["gp2", 1].usd_per_hour == pytest.approx(6.048 + 533.4 / load_catalog("aws-2019").hours_per_month)


def test_a_stripe_has_the_free_operations_of_every_volume() -> None:
    """16,000 IOPS of gp3: six volumes have 18,000 free. One must buy 13,000 at $0.005."""
    options = by_storage(answered("aws", instance_type="m5.4xlarge", iops=16_000, data_bytes=1e12))
    assert options["gp3", 1].bought_iops_each == 13_000 and options["gp3", 1].size_gib_each == 932
    assert options["gp3", 6].bought_iops_each == 0 and options["gp3", 6].size_gib_each == 156
    assert options["gp3", 6].storage_usd_per_month == pytest.approx(6 * 156 * 0.08)
    assert {option.instance_type for option in options.values()} == {"m5.4xlarge"}


def test_the_types_own_limit_leaves_it_out() -> None:
    """The volumes of m5.4xlarge do 18,750 IOPS and 593.75 MB/s together."""
    assert not answered("aws", instance_type="m5.4xlarge", iops=18_751).options
    assert not answered("aws", instance_type="m5.4xlarge", bytes_per_s=6e8).options
    assert answered("aws", instance_type="m5.4xlarge", bytes_per_s=5.9e8).options


def test_local_disks_are_an_option_where_their_rates_are_known() -> None:
    options = by_storage(answered("aws", instance_type="i4i.4xlarge", bytes_per_s=1e9, data_bytes=2e12))
    assert options["local disks", 1].storage_usd_per_month == 0
    answer = answered("aws", instance_type="i4i.4xlarge", data_bytes=50e12)
    assert [row.reason for row in answer.excluded if row.storage == "local disks"] == ["they have 3,750 GB"]


def test_the_cheapest_type_that_carries_it_is_taken_and_the_cheapest_storage_comes_first() -> None:
    answer = answered("aws", "oci", iops=16_000, bytes_per_s=1.5e9, data_bytes=1e13)
    costs = [option.usd_per_hour for option in answer.options]
    assert costs == sorted(costs) and {option.catalog for option in answer.options} == {"aws", "oci"}
    aws = load_catalog("aws")
    for option in answer.options:
        if option.catalog == "aws" and option.storage != "local disks":
            row = aws.instances.index(option.instance_type)
            assert aws.instances.volume_bytes_per_s[row] >= 1.5e9 and aws.instances.volume_iops[row] >= 16_000


def test_what_is_not_known_of_a_type_is_said() -> None:
    options = [option for option in answered("oci", iops=16_000).options if option.storage != "local disks"]
    assert options and all("limit of volume operations" in option.unknown[0] for option in options)
    assert all(not option.unknown for option in answered("aws", iops=16_000).options)


def test_nothing_asked_is_nothing() -> None:
    assert not is_asked(Need()) and is_asked(Need(iops=1))


@pytest.mark.parametrize("count", [2, 32])
def test_a_stripe_has_two_volumes_at_least_and_thirty_two_at_most(make_catalog: Callable[..., str], count: int) -> None:
    """A volume does 100 MB/s and no more: so many carry so many times that, and 33 are not striped."""
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_min": 2**30, "size_bytes_max": 2**44,
              "bytes_per_s_per_gib": 1e8, "read_bytes_per_s_max": 1e8, "write_bytes_per_s_max": 1e8,
              "price_evidence": "spec", "limit_evidence": "spec"}  # fmt: skip
    cloud = make_catalog({"a": {"volume_bytes_per_s": 10**10, "volumes_max": 64}}, volumes=[volume])
    (striped,) = answered(cloud, bytes_per_s=count * 1e8).options
    assert (striped.storage, striped.count) == ("v", count)
    assert not answered(cloud, bytes_per_s=33e8).options


VOLUME = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_min": 2**30, "size_bytes_max": 2**44,
          "bytes_per_s_per_gib": 1e8, "read_bytes_per_s_max": 1e8, "write_bytes_per_s_max": 1e8, "iops_max": 1000,
          "iops_per_gib": 1000, "price_evidence": "spec", "limit_evidence": "spec"}  # fmt: skip


@pytest.mark.parametrize(
    ("types", "asked", "reason"),
    [
        ({"a": {"volumes_max": 3}, "b": {}}, {"bytes_per_s": 9e8}, "no type does more than 8 volumes"),
        ({"a": {"volumes_max": 3}}, {"bytes_per_s": 4e8}, "a's limit is 3 volumes"),
        ({"a": {"volume_bytes_per_s": 2e8}}, {"bytes_per_s": 2.5e8}, "a's limit is 200 MB/s of volumes"),
        ({"a": {"volume_iops": 1500}}, {"iops": 2000}, "a's limit is 1,500 operations of volumes"),
        ({"a": {"volume_bytes_per_s": None}}, {"bytes_per_s": 5e7}, "how fast the volumes of a are is unknown"),
        ({"a": {"volume_bytes_per_s": None}, "b": {"volume_bytes_per_s": None}}, {"bytes_per_s": 5e7},
         "how fast the volumes of any type are is unknown"),
        ({"a": {"volumes_max": None}}, {"iops": 1500}, "whether 2 volumes can be attached is unknown"),
        ({"a": {"volumes_max": None}}, {"bytes_per_s": 1.5e8}, "whether 2 volumes can be attached is unknown"),
        ({"a": {"volumes_max": 1}, "b": {"volume_bytes_per_s": 1e8}}, {"bytes_per_s": 2e8},
         "no type is known to carry 2 of them at that rate"),
    ],
)  # fmt: skip
def test_why_no_type_carries_the_volumes_is_said(
    make_catalog: Callable[..., str], types: dict[str, dict[str, float]], asked: dict[str, float], reason: str
) -> None:
    """A volume does 100 MB/s and 1,000 operations a second; a type carries 8 of them, and 500 MB/s, unless stated."""
    answer = answered(make_catalog(types, volumes=[VOLUME]), **asked)
    assert {row.storage: row.reason for row in answer.excluded}["v"] == reason

"""The cheapest storage of a catalog, on one type or any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from approvals import Approve

from planner.catalog import load_catalog
from planner.planning.catalog_questions.storage_options import (
    Need,
    StorageAnswer,
    StorageOption,
    has_requirements,
    storage_options,
)
from planner.planning.request.region import offer_of


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
    """16,000 IOPS of gp3: six volumes include 18,000 free. A single one must buy 13,000 at $0.005."""
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
    assert not has_requirements(Need()) and has_requirements(Need(iops=1))
    assert has_requirements(Need(iops=1, bytes_per_s=1)) and has_requirements(Need(bytes_per_s=1, data_bytes=1))


@pytest.mark.parametrize("count", [2, 32])
def test_a_stripe_has_two_volumes_at_least_and_thirty_two_at_most(make_catalog: Callable[..., str], count: int) -> None:
    """A volume does at most 100 MB/s, so n volumes carry n times that; 33 are not striped."""
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
        ({"a": {"volumes_max": 1}, "b": {"volume_bytes_per_s": 1e8}}, {"bytes_per_s": 2.9e8},
         "no type is known to carry 3 of them at that rate"),
    ],
)  # fmt: skip
def test_why_no_type_carries_the_volumes_is_said(
    make_catalog: Callable[..., str], types: dict[str, dict[str, float]], asked: dict[str, float], reason: str
) -> None:
    """A volume does 100 MB/s and 1,000 operations a second; a type attaches 8 and carries 500 MB/s, unless stated."""
    answer = answered(make_catalog(types, volumes=[VOLUME]), **asked)
    assert {row.storage: row.reason for row in answer.excluded}["v"] == reason


@pytest.fixture
def on_disks(make_catalog: Callable[..., str]) -> Callable[..., StorageOption | str]:
    """Return the local disks that meet the need, or the reason why none do. The type has four disks of 1 TB that read 2
    GB/s and 30,000 blocks a second, and write 1 GB/s and 20,000.
    """

    def answer(shape: dict[str, Any] | None = None, *, rated: bool = True, **need: float) -> StorageOption | str:
        rates = [
            {"instance_type": "a", "mode": mode, "bytes_per_s": rate, "operations_per_s": iops,
             "aggregate": "mean", "method": "made"}
            for mode, rate, iops in (("read_only", 2e9, 30_000), ("write_only", 1e9, 20_000))
        ]  # fmt: skip
        cloud = make_catalog({"a": {"evidence": "spec"} | (shape or {})}, disks=rates if rated else [])
        answer = answered(cloud, instance_type="a", **need)
        return answer.options[0] if answer.options else answer.excluded[0].reason

    return answer


@pytest.mark.parametrize(
    ("need", "binds", "evidence"),
    [
        ({"data_bytes": 4e12}, "data", "spec"),
        ({"bytes_per_s": 1e9}, "throughput", "spec"),
        ({"iops": 20_000}, "IOPS", "spec"),
        ({"data_bytes": 1e12, "bytes_per_s": 9e8}, "throughput", "spec"),
        ({"data_bytes": 3.9e12, "bytes_per_s": 1e8, "iops": 1000}, "data", "spec"),
    ],
    ids=str,
)
def test_local_disks_do_what_they_have_and_the_scarcest_of_it_binds(
    on_disks: Callable[..., Any], need: dict[str, float], binds: str, evidence: str
) -> None:
    option = on_disks(**need)
    assert isinstance(option, StorageOption)
    assert (option.storage, option.count, option.size_set_by, option.evidence) == ("local disks", 4, binds, evidence)


@pytest.mark.parametrize(
    ("more", "need", "reason"),
    [
        ({}, {"data_bytes": 4.1e12}, "they have 4,000 GB"),
        ({}, {"bytes_per_s": 1.1e9}, "they have 1,000 MB/s"),
        ({}, {"iops": 20_001}, "they have 20,000 IOPS"),
        ({}, {"data_bytes": 4e12, "iops": 20_001}, "they have 20,000 IOPS"),
        ({"rated": False}, {"bytes_per_s": 1e9}, "their throughput is unknown"),
        ({"rated": False}, {"iops": 1.0}, "their IOPS is unknown"),
        ({"shape": {"local_disks": 0, "local_disk_bytes": None, "local_disk_kind": None}, "rated": False},
         {"data_bytes": 1.0}, "it has none"),
        ({"shape": {"local_disks": None, "local_disk_bytes": None, "local_disk_kind": None}, "rated": False},
         {"data_bytes": 1.0}, "how many disks it has is unknown"),
    ],
    ids=str,
)  # fmt: skip
def test_why_the_disks_of_a_type_do_not_do_it_is_said(
    on_disks: Callable[..., Any], more: dict[str, Any], need: dict[str, float], reason: str
) -> None:
    assert on_disks(**more, **need) == reason


def test_a_stripe_is_offered_where_it_is_cheaper_or_nothing_else_does_it(
    make_catalog: Callable[..., str], approve: Approve
) -> None:
    """50 MB/s take half a GiB, so one volume of 1 GiB; two volumes would have 1 GiB each. 1,500 operations a second
    take two volumes, which the type can just carry.
    """
    cloud = make_catalog({"a": {"volumes_max": 2, "volume_iops": 1500}}, volumes=[VOLUME])
    (single,) = answered(cloud, bytes_per_s=5e7).options
    assert (single.count, single.size_gib_each, single.unknown) == (1, 1, ())
    assert single.usd_per_hour == pytest.approx(1 + 0.1 / 720)
    (striped,) = answered(cloud, iops=1500).options
    assert (striped.count, striped.size_gib_each, striped.unknown) == (2, 1, ())
    unlimited = make_catalog({"a": {}}, volumes=[VOLUME])
    (option,) = answered(unlimited, bytes_per_s=5e7).options
    assert option.unknown == ()
    (option,) = answered(unlimited, iops=500).options
    approve(option.unknown)


def test_what_volumes_cannot_do_names_the_largest_stripe_that_was_tried(make_catalog: Callable[..., str]) -> None:
    cloud = make_catalog({"a": {"volumes_max": 64}}, volumes=[VOLUME])
    (reason,) = (row.reason for row in answered(cloud, iops=40_000).excluded if row.storage == "v")
    assert reason.endswith(", also of 32 striped")
    unknown = VOLUME | {"iops_max": None, "iops_per_gib": None}
    cloud = make_catalog({"a": {"volumes_max": 64}}, volumes=[unknown])
    (reason,) = (row.reason for row in answered(cloud, iops=40_000).excluded if row.storage == "v")
    assert "unknown" in reason and "striped" not in reason


def test_a_volume_that_the_family_cannot_have_is_left_out_and_named(approve: Approve) -> None:
    answer = answered("gcp", instance_type="e2-standard-32", data_bytes=1e12)
    assert {option.storage for option in answer.options} == {"pd-ssd", "pd-balanced", "pd-standard"}
    reasons = {row.storage: row.reason for row in answer.excluded}
    approve(reasons["hyperdisk-balanced"])

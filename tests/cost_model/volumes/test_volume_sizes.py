"""Sizes and prices of single volumes, by hand."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import VolumeType, load_catalog
from planner.cost_model.volumes.volume_sizes import SizedVolume, Unsuitable, sized

GIB, MIB = 2**30, 2**20


def of(catalog: str, name: str) -> VolumeType:
    return load_catalog(catalog).volume_types[name]


def size(volume: VolumeType, *, iops: float = 0, mib_per_s: float = 0, gib: float = 0) -> SizedVolume:
    answer = sized(volume, iops=iops, bytes_per_s=mib_per_s * MIB, data_bytes=gib * GIB)
    assert isinstance(answer, SizedVolume)
    return answer


@pytest.mark.parametrize(
    ("catalog", "name", "gib", "usd"),
    [
        ("aws-2019", "gp2", 5334, 533.4),  # 16000 / 3 = 5333.3; x $0.10
        ("oci-2019", "block", 267, 267 * 0.0425),  # 16000 / 60 = 266.7
        ("gcp-2019", "pd-ssd", 534, 534 * 0.17),  # 16000 / 30 = 533.3
        ("aws-2019", "io1", 320, 320 * 0.125 + 16000 * 0.065),  # 16000 / 50, and all are bought
    ],
)
def test_lee_and_foxs_16000_operations(catalog: str, name: str, gib: int, usd: float) -> None:
    answer = size(of(catalog, name), iops=16_000)
    assert (
        answer.size_gib == gib and answer.usd_per_month == pytest.approx(usd) and "IOPS per GiB" in answer.size_set_by
    )


def test_what_a_volume_has_free_is_not_bought() -> None:
    """gp3: 3,000 IOPS and 125 MiB/s are free; 5,000 and 500 cost 2,000 x $0.005 + 375 x $0.04, 100 GiB cost $8."""
    answer = size(of("aws", "gp3"), iops=5000, mib_per_s=500, gib=100)
    assert (answer.bought_iops, answer.bought_mibps, answer.size_gib, answer.size_set_by) == (2000, 375, 100, "data")
    assert answer.usd_per_month == pytest.approx(8 + 10 + 15)
    assert size(of("aws", "gp3"), iops=3000, mib_per_s=125, gib=1).usd_per_month == pytest.approx(0.08)


def test_throughput_may_ask_for_operations() -> None:
    """gp3: 1,000 MiB/s take 4,000 IOPS at 0.25 MiB/s each: 1,000 are bought, and 4,000 / 500 = 8 GiB."""
    answer = size(of("aws", "gp3"), mib_per_s=1000)
    assert (answer.bought_iops, answer.size_gib) == (1000, 8)


def test_throughput_comes_with_size() -> None:
    """gp2: 3 IOPS of 256 KiB a GiB are 0.75 MiB/s; 200 MiB/s take 266.7 GiB."""
    assert size(of("aws", "gp2"), mib_per_s=200).size_gib == 267


def test_sizes_sold_as_they_are() -> None:
    answer = size(of("azure", "premium-ssd-p30"), iops=5000, mib_per_s=100)
    assert answer.size_gib == 1024 and answer.usd_per_month == pytest.approx(122.88)


@pytest.mark.parametrize(
    ("catalog", "name", "ask", "reason"),
    [
        ("aws", "gp2", {"iops": 16001.0}, "at most 16,000 IOPS"),
        ("aws", "gp2", {"bytes_per_s": 3e8}, "at most 262 MB/s"),
        ("aws", "gp2", {"data_bytes": 17e12 + 1e12}, "data needs 16,764 GiB, above its 16,384"),
        ("aws", "io1", {"bytes_per_s": 1e8}, "comes with is unknown"),
        ("azure", "standard-ssd", {"data_bytes": 1e12}, "price is unknown"),
        ("gcp", "pd-standard", {"iops": 100.0}, "is unknown"),
    ],
)
def test_what_cannot_be_says_why(catalog: str, name: str, ask: dict[str, float], reason: str) -> None:
    answer = sized(of(catalog, name), **{"iops": 0.0, "bytes_per_s": 0.0, "data_bytes": 0.0, **ask})
    assert isinstance(answer, Unsuitable) and reason in answer.reason


def test_a_ratio_that_nobody_states_is_said_to_be_unknown() -> None:
    assert "may have" in size(of("azure-2019", "ultra-ssd-preview"), iops=16_000).unknown
    assert size(of("azure", "ultra-disk"), iops=16_000).unknown == ""


@given(iops=st.floats(0, 15_000), mib_per_s=st.floats(0, 240), gib=st.floats(0, 10_000))
def test_more_never_costs_less_and_what_is_sized_suffices(iops: float, mib_per_s: float, gib: float) -> None:
    volume = of("aws", "gp2")
    less, more = (size(volume, iops=iops * f, mib_per_s=mib_per_s * f, gib=gib * f) for f in (0.5, 1.0))
    assert less.usd_per_month <= more.usd_per_month
    assert more.size_gib >= max(ceil(iops / 3 - 1e-6), gib - 1e-6) and more.size_gib * 0.75 >= mib_per_s - 1e-6


def test_a_smallest_size_counts() -> None:
    volume = replace(of("aws", "gp2"), size_bytes_min=4.0 * GIB)
    answer = size(volume, iops=3)
    assert (answer.size_gib, answer.size_set_by) == (4, "its smallest size")


POSITIVE = (
    "iops_per_gib",
    "bytes_per_s_per_gib",
    "bytes_per_s_per_iops",
    "price_usd_per_iops_month",
    "price_usd_per_mibps_month",
)


@pytest.mark.parametrize("column", POSITIVE)
@pytest.mark.parametrize("name", ["gp2", "gp3", "io1", "st1"])
def test_a_rate_or_price_of_zero_says_as_little_as_none(name: str, column: str) -> None:
    for ask in ((4000.0, 0.0), (0.0, 1e8), (4000.0, 1e8), (0.0, 0.0)):
        zero, unknown = (
            sized(replace(of("aws", name), **{column: value}), iops=ask[0], bytes_per_s=ask[1], data_bytes=1e11)
            for value in (0.0, nan)
        )
        assert zero == unknown


@pytest.mark.parametrize(("per_gib_mib", "gib"), [(0.5, 400), (1.0, 267), (nan, 267)])
def test_of_two_rules_that_bring_throughput_the_lower_counts(per_gib_mib: float, gib: int) -> None:
    """gp2: 3 IOPS of 256 KiB a GiB are 0.75 MiB/s; 200 MiB/s take 266.7 GiB, and 400 at half a MiB/s."""
    assert size(replace(of("aws", "gp2"), bytes_per_s_per_gib=per_gib_mib * MIB), mib_per_s=200).size_gib == gib


def test_a_volume_is_as_fast_as_its_slower_direction() -> None:
    gp2 = of("aws", "gp2")
    for read, write in ((3e8, 2e8), (2e8, 3e8)):
        answer = sized(
            replace(gp2, read_bytes_per_s_max=read, write_bytes_per_s_max=write),
            iops=0,
            bytes_per_s=2.5e8,
            data_bytes=0,
        )
        assert answer == Unsuitable(reason="a volume does at most 200 MB/s")


def test_without_a_largest_rate_what_comes_with_size_says_it() -> None:
    endless = replace(of("aws", "gp2"), read_bytes_per_s_max=nan, write_bytes_per_s_max=nan)
    assert sized(endless, iops=0, bytes_per_s=1e8, data_bytes=0) == Unsuitable(reason="how fast a volume is is unknown")
    assert size(replace(endless, bytes_per_s_per_gib=0.5 * MIB), mib_per_s=200).size_gib == 400


def test_throughput_may_be_sold_where_operations_are_not() -> None:
    """gp3: 125 MiB/s of 500 are free."""
    only = replace(of("aws", "gp3"), price_usd_per_iops_month=nan)
    assert size(only, mib_per_s=500).bought_mibps == 375
    other = replace(of("aws", "gp3"), price_usd_per_mibps_month=nan)
    assert size(other, mib_per_s=1000).bought_iops == 1000, "4,000 of 0.25 MiB/s, of which 3,000 are free"


def test_throughput_of_which_a_gib_may_have_so_much_only_needs_size() -> None:
    """Hyperdisk Throughput: 90 MiB/s at most for each TiB, 2 TiB at least."""
    volume = of("gcp", "hyperdisk-throughput")
    assert (size(volume, mib_per_s=900).size_gib, size(volume, mib_per_s=900).size_set_by) == (
        10240,
        "throughput per GiB",
    )
    assert size(volume, mib_per_s=20).size_gib == 2048

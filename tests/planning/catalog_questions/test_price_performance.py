"""Performance per dollar: Lee & Fox's and SoCC 2015's figures, and sums done by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.catalog import load_catalog
from planner.cost_model.model_reader import load_model
from planner.cost_model.run_overheads import shipped
from planner.errors import BadInputError
from planner.planning.catalog_questions.price_performance import Ranking, coverage, rank
from planner.planning.request.region import offer_of
from planner.schemas.plan import OwnPrice


def ranked(
    *names: str, by: str, mode: str = "read_only", own: tuple[OwnPrice, ...] = (), operation: str | None = None
) -> Ranking:
    catalogs = [load_catalog(name) for name in names]
    offers = [(c, offer_of(c, c.default_region, pricing="on-demand", own_prices=own)) for c in catalogs]
    return rank(offers, by=by, mode=mode, operation=operation)


def values(ranking: Ranking) -> dict[tuple[str, str], float]:
    return {(row.instance_type, row.storage): row.value for row in ranking.rows}


def test_dollars_per_teraflops_are_those_of_lee_and_fox() -> None:
    """Figure 8: prices of Table V over the GFLOPS of Figure 3."""
    ranking = ranked("aws-2019", "azure-2019", "gcp-2019", "oci-2019", by="usd_per_GFLOPS")
    assert {row.instance_type: round(row.value * 1000, 2) for row in ranking.rows} == {
        "BM.Standard2.52": 4.02,
        "Standard_E64s_v3": 5.15,
        "r5.24xlarge": 6.59,
        "n1-highmem-96": 7.05,
    }
    assert [row.catalog for row in ranking.rows] == ["oci-2019", "azure-2019", "aws-2019", "gcp-2019"]


def test_oci_is_45_percent_cheaper_than_aws_as_lee_and_fox_say() -> None:
    row_of = {row.instance_type: row for row in ranked("aws-2019", "oci-2019", by="usd_per_GFLOPS").rows}
    ratio = row_of["BM.Standard2.52"].price_usd_per_hour / row_of["r5.24xlarge"].price_usd_per_hour
    assert round(1 - ratio, 2) == 0.45


@pytest.mark.parametrize(("name", "usd"), [("i2.8xlarge", 218), ("i2.4xlarge", 211), ("hs1.8xlarge", 248)])
def test_dollars_per_bandwidth_are_those_of_socc_2015(name: str, usd: float) -> None:
    """Table 2: sorting 100 TB takes 2 x 10^8 MB/s-seconds of simultaneous bandwidth."""
    usd_of = values(ranked("aws-2014", by="usd_per_MBps", mode="simultaneous"))
    assert usd_of[name, "local"] * 2e8 / 3600 == pytest.approx(usd, rel=0.004)


DISKS = {"operations_per_s": 36000, "aggregate": "mean", "method": "made"}


@pytest.fixture
def cloud(make_catalog: Callable[..., str]) -> str:
    rows: list[dict[str, Any]] = [
        {"instance_type": "big", "mode": "read_only", "bytes_per_s": 2e9, **DISKS},
        {"instance_type": "small", "mode": "read_only", "bytes_per_s": 5e8, **DISKS, "operations_per_s": 3600},
        {"instance_type": "unpriced", "mode": "read_only", "bytes_per_s": 5e8, **DISKS},
    ]
    types = {"big": {"price": 4}, "small": {"price": 0.5}, "unpriced": {"price": None}, "silent": {}}
    volume = {
        "volume_type": "gp", "price_usd_per_gib_month": 0.072, "read_bytes_per_s_max": 250e6,
        "write_bytes_per_s_max": 250e6, "bytes_per_s_per_gib": 1e6, "size_bytes_min": 2**30, "size_bytes_max": 2**44,
        "price_evidence": "spec", "limit_evidence": "spec",
    }  # fmt: skip
    return make_catalog(types, disks=rows, volumes=[volume])


def test_operations_for_a_dollar(cloud: str) -> None:
    """3600 s of 36,000 operations/s for $4; 3600 s of 3,600 for half a dollar."""
    ranking = ranked(cloud, by="usd_per_op")
    assert values(ranking) == {
        ("big", "local"): pytest.approx(4 / 3600 / 36000),
        ("small", "local"): pytest.approx(0.5 / 3600 / 3600),
    }
    assert ranking.rows[0].instance_type == "big"


def test_local_disks_beside_volumes(cloud: str) -> None:
    usd_of = values(ranked(cloud, by="usd_per_MBps"))
    assert usd_of["big", "local"] == pytest.approx(4 / 2000)
    # A 500 MB/s link takes 500 GiB at 1 MB/s each; 500 GiB x $0.072 / 720 h.
    assert usd_of["big", "2 x gp"] == pytest.approx((4 + 500 * 0.072 / 720) / 500, rel=1e-3)


def test_types_without_price_or_rate_are_counted(cloud: str) -> None:
    ranking = ranked(cloud, by="usd_per_op")
    assert sum(ranking.left_out.values()) == 2
    assert {reason.split(": ")[1]: count for reason, count in ranking.left_out.items()} == {
        "price unknown": 1,
        "rate unknown": 1,
    }


def test_own_prices_count(cloud: str) -> None:
    plain, half = (values(ranked(cloud, by="usd_per_op", own=own)) for own in ((), (OwnPrice(discount=0.5),)))
    assert half["big", "local"] == pytest.approx(plain["big", "local"] / 2)


@pytest.fixture
def measured(make_catalog: Callable[..., str]) -> str:
    """Small operations on the disks of one type, and on one volume and four volumes of another."""
    common = {"aggregate": "mean", "method": "smallio", "threads": 8}
    rows: list[dict[str, Any]] = [
        {"instance_type": "big", "volume_type": "", "volumes": "", "operation": name, "bytes_per_s": rate, **common}
        for name, rate in (("read4K", 4096 * 9000), ("write4K", 4096 * 1000), ("read4M", 2**22 * 100))
    ]
    on_volumes = {"instance_type": "small", "volume_type": "gp", "operation": "read4K", **common}
    rows += [{**on_volumes, "volumes": count, "bytes_per_s": 4096 * 900 * count} for count in (1, 4)]
    volume = {"volume_type": "gp", "price_usd_per_gib_month": 0.1, "price_evidence": "spec", "limit_evidence": "spec"}
    return make_catalog({"big": {"price": 2}, "small": {"price": 1}}, small_io=rows, volumes=[volume])


def test_small_operations_for_a_dollar_on_disks_volumes_and_striped_volumes(measured: str) -> None:
    """3600 s x 9,000/s for $2; x 900/s and x 3,600/s for $1: without monthly fees, as Scalyr counts."""
    ranking = ranked(measured, by="usd_per_op", operation="read4K")
    assert [(r.instance_type, r.storage, round(1 / r.value)) for r in ranking.rows] == [
        ("big", "local", 16_200_000), ("small", "4 x gp", 12_960_000), ("small", "1 x gp", 3_240_000),
    ]  # fmt: skip


def test_all_operations_are_a_row_each(measured: str) -> None:
    ranking = ranked(measured, by="usd_per_op", operation="all")
    assert sorted((r.instance_type, r.operation) for r in ranking.rows) == [
        ("big", "read4K"), ("big", "read4M"), ("big", "write4K"), ("small", "read4K"), ("small", "read4K"),
    ]  # fmt: skip
    assert next(r.rate for r in ranking.rows if r.operation == "read4M") == 100


def test_measured_small_reads_count_where_no_operations_are_stated(measured: str, cloud: str) -> None:
    assert {r.instance_type for r in ranked(measured, by="usd_per_op").rows} == {"big", "small"}
    assert not ranked(measured, by="usd_per_op", mode="write_only").rows
    assert {r.storage for r in ranked(cloud, by="usd_per_op").rows} == {"local"}


def test_an_operation_that_is_none(measured: str) -> None:
    for by, operation in (("usd_per_op", "read8K"), ("usd_per_MBps", "read4K")):
        with pytest.raises(BadInputError, match="with --by usd_per_op, one of read4K"):
            ranked(measured, by=by, operation=operation)


@pytest.mark.parametrize(
    ("by", "mode", "text"),
    [
        ("usd_per_MBs", "read_only", "Did you mean usd_per_MBps"),
        ("usd_per_op", "simultaneous", "usd_per_op is ranked by read_only, write_only$"),
        ("usd_per_MBps", "random", "usd_per_MBps is ranked by read_only, write_only, simultaneous$"),
    ],
)
def test_no_measure(cloud: str, by: str, mode: str, text: str) -> None:
    with pytest.raises(BadInputError, match=text):
        ranked(cloud, by=by, mode=mode)


@pytest.mark.parametrize(
    ("operation", "moves"),
    [("read4K", 4096), ("read4M", 4194304), ("write4K", 4096), ("write4M", 4194304), ("write4K/64", 4096)],
)
def test_an_operation_moves_what_its_name_says(make_catalog: Callable[..., str], operation: str, moves: int) -> None:
    """4 KiB are 4,096 bytes and 4 MiB 4,194,304: a type that moves 50 of them a second does 50 operations a second."""
    row = {"instance_type": "a", "volume_type": "", "volumes": "", "operation": operation, "threads": 8}
    row |= {"bytes_per_s": 50 * moves, "aggregate": "mean", "method": "smallio"}
    (worth,) = ranked(make_catalog({"a": {"price": 1}}, small_io=[row]), by="usd_per_op", operation=operation).rows
    assert worth.rate == 50


VOLUME = {
    "volume_type": "gp", "price_usd_per_gib_month": 0.072, "read_bytes_per_s_max": 250e6, "size_bytes_max": 2**44,
    "write_bytes_per_s_max": 250e6, "bytes_per_s_per_gib": 1e6, "price_evidence": "spec", "limit_evidence": "spec",
}  # fmt: skip
FEE = {"instance_type": "a", "region": "here", "surcharge": "volume_optimized", "price_usd_per_hour": 0.5}


def test_volumes_hold_the_usual_amount_at_least_and_cost_the_fee_for_the_link(make_catalog: Callable[..., str]) -> None:
    """A 100 MB/s link takes 100 GiB; 500 GB are stored, at $0.072 / 720 a GiB, on top of $4 and the fee of $0.50."""
    cloud = make_catalog({"a": {"price": 4, "volume_bytes_per_s": 1e8}}, volumes=[VOLUME], surcharges=[FEE])
    (row,) = ranked(cloud, by="usd_per_MBps").rows
    assert (row.storage, row.evidence) == ("1 x gp", "spec")
    assert row.value == pytest.approx((4 + 0.5 + 5e11 / 2**30 * 0.072 / 720) / 100)


def test_volumes_are_ranked_by_the_direction_that_is_asked(make_catalog: Callable[..., str]) -> None:
    """Measured: 200 MB/s read, 100 written."""
    rates = [
        {"instance_type": "a", "volume_type": "gp", "mode": mode, "bytes_per_s": rate, "operations_per_s": 900,
         "aggregate": "mean", "method": "made"}
        for mode, rate in (("read_only", 2e8), ("write_only", 1e8))
    ]  # fmt: skip
    cloud = make_catalog({"a": {"price": 4}}, volumes=[VOLUME], volume_rates=rates, surcharges=[FEE])
    for mode, rate in (("read_only", 200), ("write_only", 100)):
        assert [row.rate for row in ranked(cloud, by="usd_per_MBps", mode=mode).rows] == [rate]
    (row,) = ranked(cloud, by="usd_per_op").rows
    assert (row.storage, row.value) == ("gp", pytest.approx((4 + 0.5) / 900 / 3600))


@pytest.mark.parametrize(
    ("price", "rate", "weaker"),
    [("spec", "measured", "measured"), ("recalled", "measured", "recalled"), ("spec", "recalled", "recalled")],
)
def test_a_row_is_as_sure_as_price_and_rate(
    make_catalog: Callable[..., str], price: str, rate: str, weaker: str
) -> None:
    """A price that the cloud states has the best possible evidence."""
    rows = [{"instance_type": "a", "mode": "read_only", "bytes_per_s": 2e9, **DISKS, "evidence": rate}]
    path = make_catalog({"a": {}}, disks=rows)
    prices = Path(path) / "prices.csv"
    prices.write_text(prices.read_text().replace("measured", price))
    assert [row.evidence for row in ranked(path, by="usd_per_op").rows] == [weaker]
    assert ranked(path, by="usd_per_op", mode="write_only").left_out == {f"{load_catalog(path).name}: rate unknown": 1}


def test_types_that_have_all_facts_are_counted_and_what_others_lack(make_catalog: Callable[..., str]) -> None:
    """Two of five types can be planned; two have disks of unknown rate, and one has no price."""
    disks = {"read": 2e9, "write": 1e9}
    catalog = load_catalog(
        make_catalog({"a": disks, "b": disks | {"price": None}, "c": disks, "d": {}, "e": {"read": 2e9}})
    )
    first, second = coverage(catalog, [load_model("indy"), load_model("object-store")], overheads=shipped())
    assert (first.catalog, first.model, first.types, first.usable) == (catalog.name, "indy", 5, 2)
    assert list(first.reasons.values()) == [2, 1] and sum(first.reasons.values()) + first.usable == first.types
    assert (second.model, second.usable) == ("object-store", 0)


@pytest.mark.parametrize(
    ("link", "column"), [("network", "network_baseline_bytes_per_s"), ("volume rate", "volume_bytes_per_s")]
)
def test_types_that_sustain_less_than_asked_are_left_out_and_counted(link: str, column: str) -> None:
    catalog, asked = load_catalog("aws"), 1.25e9
    offers = [(catalog, offer_of(catalog, catalog.default_region, pricing="on-demand"))]
    everything = rank(offers, by="usd_per_MBps", mode="read_only")
    ranking = rank(offers, by="usd_per_MBps", mode="read_only", least={link: asked})
    sustained = dict(zip(catalog.instances.instance_type.tolist(), getattr(catalog.instances, column), strict=True))
    kept = {row.instance_type for row in ranking.rows}
    left = {row.instance_type for row in everything.rows} - kept
    assert kept and all(sustained[name] >= asked for name in kept)
    assert left and not any(sustained[name] >= asked for name in left)
    assert sum(n for reason, n in ranking.left_out.items() if f"sustained {link}" in reason) == len(left)

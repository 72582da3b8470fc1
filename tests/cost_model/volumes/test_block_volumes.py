"""Sizing of block volumes, by hand and against SoCC 2015."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from approvals import Approve

from planner import recommend as recommend_by
from planner.catalog import load_catalog
from planner.cost_model.rates import evidence_name
from planner.cost_model.volumes.block_volumes import VolumeChoice, choose_volumes, has_credit

recommend = partial(recommend_by, engine="ideal")
"""The sums here use the equations alone."""

Make = Callable[..., str]

GIB = 2**30
SPEC = {"price_evidence": "spec", "limit_evidence": "spec"}


def node(catalog: str) -> tuple[float, float, float, float]:
    """Return count, rate, least GiB and fixed dollars a month of a catalog's only type."""
    loaded = load_catalog(catalog)
    volumes = choose_volumes(loaded, region="here", price_usd_per_hour=loaded.prices().price_usd_per_hour)
    return (
        float(volumes.count[0]),
        float(volumes.read[0]),
        float(volumes.bytes_min[0]) / GIB,
        float(volumes.fixed_usd_per_hour[0]) * loaded.hours_per_month,
    )


def test_the_papers_eight_volumes_fill_the_link_and_three_do_for_less() -> None:
    """r3.4xlarge, section 5.3: 8 x 135 GiB at $0.10/GiB-month; the link gives 250 MB/s, measured as 243 and 226."""
    catalog = load_catalog("aws-2014")
    gp2, link = catalog.volume_types["gp2"], 250e6
    per_gib = gp2.iops_per_gib * gp2.bytes_per_s_per_iops
    assert per_gib == 3 * 262144
    assert 8 * 135 * per_gib > link
    best = recommend(
        data="100TB", model="cloudsort", catalogs=("aws-2014",), instances=("r3.4xlarge",), nodes=330,
        assume={"network": 1e12, "local_read": 1e12, "local_write": 1e12}, paper=True,
    ).best  # fmt: skip
    assert best is not None
    assert best.time_s.equation == pytest.approx(2587.88, abs=0.01)
    assert best.storage == "1 local ssd + 3 x gp2 of 188 GiB"
    assert 3 * 188 * per_gib > link
    papers = 1.40 + 0.10 + 8 * 135 * 0.10 / 720
    assert best.usd_per_hour / 330 < papers


def test_throughput_is_bought_where_it_does_not_come_free(make_catalog: Make) -> None:
    """A link of 500 MB/s, volumes with 100 free and 500 at most: one with 400 MB/s bought costs 400 x 0.04 / 1.048576 a
    month, five cost nothing; operations bought above 300 cost $0.01.
    """
    free = {"volume_type": "v", "price_usd_per_gib_month": 0.08, "price_usd_per_mibps_month": 0.04,
            "free_bytes_per_s": 1e8, "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8,
            "size_bytes_max": 1e13, **SPEC}  # fmt: skip
    count, rate, _, monthly = node(make_catalog({"a": {}}, volumes=[free]))
    assert (count, rate, monthly) == (5, 5e8, 0)
    count, rate, _, monthly = node(make_catalog({"a": {"volumes_max": 1}}, volumes=[free]))
    assert (count, rate) == (1, 5e8)
    assert monthly == pytest.approx(400e6 / 2**20 * 0.04)


def test_a_rate_that_comes_with_size_asks_for_size(make_catalog: Make) -> None:
    """500 MB/s at 0.5 MB/s per GiB: 1000 GiB, however little is held."""
    sized = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "bytes_per_s_per_gib": 5e5,
             "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8, "size_bytes_max": 1e14, **SPEC}  # fmt: skip
    catalog = make_catalog({"a": {"price": 100, "read": 1e10, "write": 1e10}}, volumes=[sized])
    count, rate, least, monthly = node(catalog)
    assert (count, rate, monthly) == (1, 5e8, 0)
    assert least == pytest.approx(1000)
    best = recommend(data="100GB", model="cloudsort", catalogs=(catalog,), nodes=10).best
    assert best is not None
    assert best.usd_per_hour == pytest.approx(10 * 100 + 10 * 1000 * 0.1 / 720)


def test_operations_are_bought_with_the_size_that_may_have_them(make_catalog: Make) -> None:
    """500 MB/s in operations of 250 kB: 2000 a second at $0.06, on at least 2000 / 50 = 40 GiB."""
    provisioned = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "price_usd_per_iops_month": 0.06,
                   "iops_per_gib": 50, "bytes_per_s_per_iops": 250_000, "iops_max": 10_000,
                   "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8,
                   "size_bytes_max": 1e13, **SPEC}  # fmt: skip
    count, rate, least, monthly = node(make_catalog({"a": {"price": 100}}, volumes=[provisioned]))
    assert (count, rate) == (1, 5e8)
    assert least == pytest.approx(40)
    assert monthly == pytest.approx(2000 * 0.06)


def test_without_a_known_link_a_rate_must_be_given(make_catalog: Make, approve: Approve) -> None:
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "bytes_per_s_per_gib": 5e5,
              "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8, "size_bytes_max": 1e14, **SPEC}  # fmt: skip
    shape = {"read": 1e10, "write": 1e10, "volume_bytes_per_s": "", "volumes_max": ""}
    catalog = make_catalog({"a": shape}, volumes=[volume])
    asked = {"data": "1TB", "model": "cloudsort", "catalogs": (catalog,), "nodes": 10}
    approve([r.reason for r in recommend(**asked).rejected])
    best = recommend(**asked, assume={"volume_read": 3e8, "volume_write": 3e8}).best
    assert best is not None
    assert best.storage == "4 local nvme + 1 x v of 600 GiB"  # 3e8 bytes/s at 5e5 for each GiB


@pytest.mark.parametrize(
    ("assumed", "count", "rate"),
    [
        (1e9, 4, 1e9),  # four volumes of 250 MB/s
        (6e9, 8, 2e9),  # the link carries 2 GB/s
    ],
)
def test_an_assumed_rate_takes_volumes_and_ends_at_the_link(
    make_catalog: Make, assumed: float, count: int, rate: float
) -> None:
    limits = {"free_bytes_per_s": 2.5e8, "read_bytes_per_s_max": 2.5e8, "write_bytes_per_s_max": 2.5e8}
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e14, **limits, **SPEC}
    catalog = make_catalog({"a": DISKS | {"volume_bytes_per_s": 2e9, "volumes_max": 20}}, volumes=[volume])
    asked = {"data": "10TB", "model": "cloudsort", "catalogs": (catalog,), "nodes": 10}
    answer = recommend(**asked, assume=dict.fromkeys(BOTH, assumed))
    assert answer.best is not None and answer.best.volumes is not None
    assert (answer.best.volumes.count, answer.best.phases[0].resources["volumes"].bytes_per_s) == (count, rate)
    capped = [f"{name}: planned with 2 GB/s, what a and its volumes do, not 6 GB/s" for name in BOTH]
    assert [text for text in answer.plan.warnings if "planned with" in text] == (capped if rate < assumed else [])


BOTH = ("volume_read", "volume_write")
BURSTING = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "bytes_per_s_per_gib": 1e5,
            "burst_bytes_per_s": 125_000_000, "credit_bytes": 10**12, "read_bytes_per_s_max": 2.5e8,
            "write_bytes_per_s_max": 2.5e8, "size_bytes_min": GIB, "size_bytes_max": 1e14,
            "burst_evidence": "recalled", **SPEC}  # fmt: skip
DISKS = {"price": 10, "read": 1e10, "write": 1e10, "memory_bytes": 4 * 10**9}


def test_burst_credit_spares_the_size_while_it_lasts(make_catalog: Make) -> None:
    """A link of 500 MB/s: 4 volumes of 1 GiB at 125 MB/s. They sustain 0.4 MB/s, so 0.9992 of each byte is on credit,
    and 4 TB of credit last for 4 / 0.9992 = 4.003 TB. At 0.1 MB/s per GiB the rate takes 5000 GiB.
    """
    catalog = load_catalog(make_catalog({"a": DISKS}, volumes=[BURSTING]))
    price = catalog.prices().price_usd_per_hour
    fast = choose_volumes(catalog, region="here", price_usd_per_hour=price, with_credit=True)
    assert (fast.count[0], fast.read[0], fast.bytes_min[0]) == (4, 5e8, 4 * GIB)
    assert fast.credit_bytes[0] == pytest.approx(4e12 / 0.9992)
    slow = choose_volumes(catalog, region="here", price_usd_per_hour=price)
    assert slow.bytes_min[0] == pytest.approx(5000 * GIB)
    assert not slow.on_credit.any()


@pytest.mark.parametrize(("nodes", "on_credit"), [(9, False), (10, True)])
def test_who_would_spend_the_credit_buys_size_instead(make_catalog: Make, nodes: int, on_credit: bool) -> None:
    """10 TB are loaded, read, written and validated: 40 TB on volumes; 9 nodes carry 36.03 on credit."""
    asked = {"data": "10TB", "model": "cloudsort", "catalogs": (make_catalog({"a": DISKS}, volumes=[BURSTING]),)}
    best = recommend(**asked, nodes=nodes).best
    assert best is not None
    assert best.volumes is not None
    held_bytes = 2e13 / nodes if on_credit else 5000 * GIB
    assert best.volumes.bytes_each * best.volumes.count == pytest.approx(held_bytes)
    assert best.volumes.count == (4 if on_credit else 2)
    assert any("burst credit, which outlasts the run" in warning for warning in best.warnings) == on_credit
    assert best.evidence == ("recalled" if on_credit else "spec")
    assert best.phases[0].resources["volumes"].bytes_per_s == pytest.approx(5e8)


def test_few_data_on_many_nodes_cost_less_on_credit(make_catalog: Make) -> None:
    """1 TB on 10 nodes: each holds 186 GiB, not 5000 GiB; $0.1 a GiB-month."""
    asked = {"data": "1TB", "model": "cloudsort", "nodes": 10}
    fast = recommend(**asked, catalogs=(make_catalog({"a": DISKS}, volumes=[BURSTING]),)).best
    plain = {name: value for name, value in BURSTING.items() if "credit" not in name and "burst" not in name}
    slow = recommend(**asked, catalogs=(make_catalog({"a": DISKS}, volumes=[plain]),)).best
    assert fast is not None
    assert slow is not None
    assert fast.usd_per_hour == pytest.approx(10 * 10 + 2e12 / GIB * 0.1 / 720)
    assert slow.usd_per_hour == pytest.approx(10 * 10 + 10 * 5000 * 0.1 / 720)
    assert fast.time_s.equation == pytest.approx(slow.time_s.equation)


def test_credit_may_come_with_size(make_catalog: Make) -> None:
    """500 MB/s at a burst of 0.25 MB/s per GiB: 2000 GiB, which sustain 80 MB/s at 0.04 MB/s per GiB; 0.84 of each byte
    uses the credit of 2000 GiB.
    """
    sized = BURSTING | {"bytes_per_s_per_gib": 4e4, "burst_bytes_per_s": "", "burst_bytes_per_s_per_gib": 2.5e5,
                        "credit_bytes": "", "credit_bytes_per_gib": GIB}  # fmt: skip
    catalog = load_catalog(make_catalog({"a": DISKS}, volumes=[sized]))
    price = catalog.prices().price_usd_per_hour
    fast = choose_volumes(catalog, region="here", price_usd_per_hour=price, with_credit=True)
    assert (fast.count[0], fast.read[0]) == (2, 5e8)
    assert fast.bytes_min[0] == pytest.approx(2000 * GIB)
    assert fast.credit_bytes[0] == pytest.approx(2000 * GIB / 0.84)


def test_the_faster_of_two_bursts_counts(make_catalog: Make) -> None:
    """50 MB/s for any volume, 0.25 MB/s for each GiB: one of 1,000 GiB has 250 MB/s, a volume's maximum."""
    both = BURSTING | {"burst_bytes_per_s": 5e7, "burst_bytes_per_s_per_gib": 2.5e5}
    catalog = load_catalog(make_catalog({"a": DISKS}, volumes=[both]))
    assert has_credit(catalog)
    price = catalog.prices().price_usd_per_hour
    fast = choose_volumes(catalog, region="here", price_usd_per_hour=price, with_credit=True)
    assert (fast.count[0], fast.read[0], fast.on_credit[0]) == (2, 5e8, True)
    assert fast.bytes_min[0] == pytest.approx(2000 * GIB)


def test_volumes_without_credit_have_none(make_catalog: Make) -> None:
    plain = {name: value for name, value in BURSTING.items() if "credit" not in name and "burst" not in name}
    assert not has_credit(load_catalog(make_catalog({"a": DISKS}, volumes=[plain])))
    assert not has_credit(load_catalog(make_catalog({"a": DISKS})))


def test_credit_is_not_used_where_size_costs_less(make_catalog: Make) -> None:
    """At 20 GB a node the 2000 GiB that `burst` needs for its rate cost more than `free`; at 2 TB they do not."""
    credit = {"burst_bytes_per_s": "", "burst_bytes_per_s_per_gib": 2.5e5, "credit_bytes": "",
              "credit_bytes_per_gib": 10 * GIB}  # fmt: skip
    burst = BURSTING | credit | {"volume_type": "burst", "price_usd_per_gib_month": 0.02}
    limits = dict.fromkeys(("free_bytes_per_s", "read_bytes_per_s_max", "write_bytes_per_s_max"), 1.25e8)
    free = {"volume_type": "free", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e14, **limits, **SPEC}
    filled = [{name: row.get(name, "") for name in burst | free} for row in (burst, free)]
    asked = {"model": "cloudsort", "catalogs": (make_catalog({"a": DISKS}, volumes=filled),), "nodes": 10}
    for data, chosen in (("100GB", "free"), ("10TB", "burst")):
        best = recommend(**asked, data=data).best
        assert best is not None
        assert best.volumes is not None
        assert best.volumes.volume_type == chosen


def test_rates_of_ones_own_ask_for_no_credit(make_catalog: Make) -> None:
    catalog = make_catalog({"a": DISKS}, volumes=[BURSTING])
    assume = {"volume_read": 5e8, "volume_write": 5e8}
    best = recommend(data="10TB", model="cloudsort", catalogs=(catalog,), nodes=10, assume=assume).best
    assert best is not None
    assert not any("credit" in warning for warning in best.warnings)


def test_a_volume_of_unstated_limits_needs_a_rate(make_catalog: Make, approve: Approve) -> None:
    unstated = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e14, **SPEC}
    plan = recommend(data="1TB", model="cloudsort", catalogs=(make_catalog({"a": DISKS}, volumes=[unstated]),), nodes=9)
    approve([r.reason for r in plan.rejected])


THROUGHPUT = {"price_usd_per_mibps_month": 0.04, "free_bytes_per_s": 1e8, "read_bytes_per_s_max": 5e8,
              "write_bytes_per_s_max": 5e8, "size_bytes_max": 1e13}  # fmt: skip


def test_throughput_and_operations_are_both_bought(make_catalog: Make) -> None:
    """One volume at 500 MB/s: 400 MB/s beyond the free rate, and 500e6 / 50e3 = 10,000 operations, 3,000 of them free,
    at $0.01; they need 10,000 / 500 = 20 GiB. Operations of unknown size are not counted.
    """
    operations = {"price_usd_per_iops_month": 0.01, "free_iops": 3000, "iops_per_gib": 500, "iops_max": 20_000}
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.08, **THROUGHPUT, **operations, **SPEC}
    bought_usd = 400e6 / 2**20 * 0.04
    shape = {"a": {"volumes_max": 1}}
    _, _, least, monthly = node(make_catalog(shape, volumes=[volume | {"bytes_per_s_per_iops": 50_000}]))
    assert (least, monthly) == (pytest.approx(20), pytest.approx(bought_usd + 7000 * 0.01))
    _, _, least, monthly = node(make_catalog(shape, volumes=[volume | {"bytes_per_s_per_iops": ""}]))
    assert (least, monthly) == (0, pytest.approx(bought_usd))


def test_a_volume_of_fixed_size_has_its_rate_and_no_more(make_catalog: Make) -> None:
    """Two of 250 MB/s and 375 GB: neither larger nor smaller, and never faster."""
    fixed = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "read_bytes_per_s_max": 2.5e8,
             "write_bytes_per_s_max": 2.5e8, "size_bytes_min": 375e9, "size_bytes_max": 375e9, **SPEC}  # fmt: skip
    count, rate, least, monthly = node(make_catalog({"a": {}}, volumes=[fixed]))
    assert (count, rate, least, monthly) == (2, 5e8, pytest.approx(750e9 / GIB), 0)


def test_the_slower_direction_and_operations_cap_a_volume(make_catalog: Make) -> None:
    """Reads of 500, writes of 300, 1,000 operations of 200 kB: 200 MB/s; of 400 kB: 300 MB/s, so two fill 500."""
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "read_bytes_per_s_max": 5e8, "iops_max": 1000,
              "write_bytes_per_s_max": 3e8, "size_bytes_min": 1e11, "size_bytes_max": 1e11, **SPEC}  # fmt: skip
    few = {"a": {"volumes_max": 2}}
    assert node(make_catalog(few, volumes=[volume | {"bytes_per_s_per_iops": 200_000}]))[:2] == (2, 4e8)
    assert node(make_catalog(few, volumes=[volume | {"bytes_per_s_per_iops": 400_000}]))[:2] == (2, 5e8)


def test_the_lower_of_two_rates_that_come_with_size_counts(make_catalog: Make) -> None:
    """0.5 MB/s per GiB, or 3 operations of 100 kB: 0.3 MB/s, so 500 MB/s take 1,667 GiB."""
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "bytes_per_s_per_gib": 5e5, "iops_per_gib": 3,
              "bytes_per_s_per_iops": 100_000, "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8,
              "size_bytes_max": 1e14, **SPEC}  # fmt: skip
    assert node(make_catalog({"a": {}}, volumes=[volume]))[2] == pytest.approx(5000 / 3)


def priced(name: str, *, rate: float, month_usd: float) -> dict[str, object]:
    """Return a volume type that allows one volume, with a rate and a price for the 500 GB that a node usually holds."""
    return {"volume_type": name, "price_usd_per_gib_month": month_usd / (5e11 / GIB), "read_bytes_per_s_max": rate,
            "write_bytes_per_s_max": rate, "free_bytes_per_s": rate, "size_bytes_max": 1e12, **SPEC}  # fmt: skip


@pytest.mark.parametrize(("price", "taken"), [(0.9, "slow"), (1.1, "fast")])
def test_the_least_dollars_for_a_byte_moved_count(make_catalog: Make, price: float, taken: str) -> None:
    """(p + 1) / 250 MB/s against (p + 3) / 500 MB/s an hour: equal at p = 1."""
    both = [priced("slow", rate=2.5e8, month_usd=720), priced("fast", rate=5e8, month_usd=2160)]
    loaded = load_catalog(make_catalog({"a": {"price": price, "volumes_max": 1}}, volumes=both))
    chosen = choose_volumes(loaded, region="here", price_usd_per_hour=loaded.prices().price_usd_per_hour)
    assert chosen.volume_type[0] == taken


def test_half_a_link_is_tried_where_the_rate_is_dear(make_catalog: Make) -> None:
    """250 MB/s come free, the next 250 cost $2,384 a month: too much for a node at a cent, little for one at $100."""
    free_half = {"volume_type": "v", "price_usd_per_gib_month": 0.0001, "price_usd_per_mibps_month": 10,
                 "free_bytes_per_s": 2.5e8, "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8,
                 "size_bytes_max": 1e13, **SPEC}  # fmt: skip
    count, rate, _, monthly = node(make_catalog({"a": {"price": 0.01, "volumes_max": 1}}, volumes=[free_half]))
    assert (count, rate, monthly) == (1, 2.5e8, 0)
    count, rate, _, monthly = node(make_catalog({"a": {"price": 100, "volumes_max": 1}}, volumes=[free_half]))
    assert (count, rate) == (1, 5e8)
    assert monthly == pytest.approx(2.5e8 / 2**20 * 10)


def test_without_a_volume_type_nothing_is_known(make_catalog: Make) -> None:
    loaded = load_catalog(make_catalog({"a": DISKS, "b": DISKS}))
    nothing = choose_volumes(loaded, region="here", price_usd_per_hour=loaded.prices().price_usd_per_hour)
    assert nothing.evidence.tolist() == [-1, -1] and nothing.volume_type.tolist() == ["", ""]
    assert nothing.credit_bytes.tolist() == [math.inf, math.inf]
    for name in ("count", "read", "write", "fixed_usd_per_hour", "usd_per_byte_hour", "bytes_min", "bytes_max"):
        assert np.isnan(getattr(nothing, name)).all()


def test_what_is_not_stated_rests_on_nothing(make_catalog: Make) -> None:
    """A volume of unstated rate can be planned with an assumed one; one of unstated size cannot."""
    unstated = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e14, **SPEC}
    for volume, volume_type in ((unstated, "v"), (unstated | {"size_bytes_max": ""}, "")):
        chosen = chosen_of(make_catalog, volume)
        assert (chosen.evidence[0], chosen.volume_type[0]) == (-1, volume_type)
        assert np.isnan(chosen.read[0]) and np.isnan(chosen.write[0])


@pytest.mark.parametrize(("most_gib", "rate"), [(1000, 5e8), (999, 2.5e8), (499, math.nan)])
def test_a_volume_is_no_larger_than_it_may_be(make_catalog: Make, most_gib: int, rate: float) -> None:
    """At 0.5 MB/s per GiB one volume fills a link of 500 MB/s with 1000 GiB, half of it with 500."""
    sized = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "bytes_per_s_per_gib": 5e5, "size_bytes_max": 1e14,
             "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8, **SPEC}  # fmt: skip
    chosen = chosen_of(make_catalog, sized | {"size_bytes_max": most_gib * GIB})
    assert (chosen.read[0], chosen.evidence[0]) == pytest.approx((rate, -1 if np.isnan(rate) else 2), nan_ok=True)


def chosen_of(make_catalog: Make, volume: dict[str, object]) -> VolumeChoice:
    """Return the choice for one type that takes one volume."""
    loaded = load_catalog(make_catalog({"a": {"volumes_max": 1}}, volumes=[volume]))
    return choose_volumes(loaded, region="here", price_usd_per_hour=loaded.prices().price_usd_per_hour)


FEE = {"instance_type": "a", "region": "here", "surcharge": "volume_optimized", "price_usd_per_hour": 0.5}


def test_the_fee_for_a_link_is_paid_with_the_volumes(make_catalog: Make) -> None:
    """Volumes that include the whole rate add no fixed cost to a node but $0.50 an hour."""
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e14, **THROUGHPUT, **SPEC}
    volume |= {"price_usd_per_mibps_month": "", "free_bytes_per_s": 5e8}
    assert node(make_catalog({"a": {}}, volumes=[volume], surcharges=[FEE]))[3] == pytest.approx(0.5 * 720)


@pytest.mark.parametrize("with_credit", [False, True])
def test_one_volume_is_attached_where_nobody_says_how_many(make_catalog: Make, with_credit: bool) -> None:
    """At 250 MB/s, which take a GiB on credit and 2,500 without; the link would carry 500."""
    bursting = BURSTING | {"burst_bytes_per_s": 250_000_000}
    loaded = load_catalog(make_catalog({"a": DISKS | {"volumes_max": ""}}, volumes=[bursting]))
    price = loaded.prices().price_usd_per_hour
    chosen = choose_volumes(loaded, region="here", price_usd_per_hour=price, with_credit=with_credit)
    assert (chosen.count[0], chosen.read[0]) == (1, 2.5e8)
    assert chosen.bytes_min[0] == pytest.approx((1 if with_credit else 2500) * GIB)


def test_a_measured_volume_counts_once_and_is_as_sure_as_the_less_sure_of_its_rates(make_catalog: Make) -> None:
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e14, **SPEC}
    rows = [
        {"instance_type": "a", "volume_type": "v", "mode": mode, "bytes_per_s": 2e8, "aggregate": "mean",
         "method": "made", "evidence": evidence}
        for mode, evidence in (("read_only", "measured"), ("write_only", "recalled"))
    ]  # fmt: skip
    loaded = load_catalog(make_catalog({"a": {"volumes_max": ""}}, volumes=[volume], volume_rates=rows))
    chosen = choose_volumes(loaded, region="here", price_usd_per_hour=loaded.prices().price_usd_per_hour)
    assert (chosen.count[0], chosen.read[0]) == (1, 2e8)
    assert evidence_name(int(chosen.evidence[0])) == "recalled"


@pytest.mark.parametrize("weak", ["price_evidence", "limit_evidence"])
def test_a_stated_volume_is_as_sure_as_the_less_sure_of_price_and_limit(make_catalog: Make, weak: str) -> None:
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e14, **THROUGHPUT, **SPEC}
    chosen = chosen_of(make_catalog, volume | {weak: "recalled"})
    assert evidence_name(int(chosen.evidence[0])) == "recalled"


@pytest.mark.parametrize("price", ["price_usd_per_mibps_month", "price_usd_per_iops_month"])
def test_what_must_be_bought_at_an_unknown_rate_is_not_planned(make_catalog: Make, price: str) -> None:
    unstated = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e14, price: 0.01, **SPEC}
    assert chosen_of(make_catalog, unstated).volume_type[0] == ""


def test_a_burst_with_size_ends_at_the_largest_volume(make_catalog: Make) -> None:
    """0.25 MB/s for each of 400 GiB at most are 100 MB/s: five volumes fill the link."""
    small = BURSTING | {"burst_bytes_per_s": "", "burst_bytes_per_s_per_gib": 2.5e5, "size_bytes_max": 400 * GIB}
    loaded = load_catalog(make_catalog({"a": DISKS}, volumes=[small]))
    price = loaded.prices().price_usd_per_hour
    fast = choose_volumes(loaded, region="here", price_usd_per_hour=price, with_credit=True)
    assert (fast.count[0], fast.read[0], fast.bytes_min[0]) == (5, 5e8, pytest.approx(2000 * GIB))


@pytest.mark.parametrize(("free", "bought"), [(0, 10_000), (3000, 7000), ("", 0)])
def test_operations_of_which_none_is_free_are_bought_too(make_catalog: Make, free: object, bought: int) -> None:
    """500 MB/s are 10,000 operations of 50 kB, at $0.01: an Azure ultra disk has none free. Where the number of free
    ones is unstated, none are counted.
    """
    operations = {"price_usd_per_iops_month": 0.01, "free_iops": free, "iops_per_gib": 500, "bytes_per_s_per_iops": 5e4,
                  "iops_max": 20_000}  # fmt: skip
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.08, **THROUGHPUT, **operations, **SPEC}
    monthly = node(make_catalog({"a": {"volumes_max": 1}}, volumes=[volume]))[3]
    assert monthly == pytest.approx(400e6 / 2**20 * 0.04 + bought * 0.01)


@pytest.mark.parametrize("without, count", [("x", np.nan), ("a x", np.nan), ("xx", 1), ("", 1)])
def test_a_volume_that_a_family_cannot_have_is_not_planned(make_catalog: Make, without: str, count: float) -> None:
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "read_bytes_per_s_max": 5e8,
              "write_bytes_per_s_max": 5e8, "bytes_per_s_per_gib": 1e8, "size_bytes_max": 1e13,
              "families_without": without, **SPEC}  # fmt: skip
    assert node(make_catalog({"a": {}}, volumes=[volume]))[0] == pytest.approx(count, nan_ok=True)


@pytest.mark.parametrize(
    ("cloud", "instance", "volumes"),
    [("gcp", "e2-standard-32", "pd-"), ("gcp", "n2-standard-32", "throughput"), ("azure", "Standard_D64ds_v5", "v2")],
)
def test_the_clouds_families_get_volumes_that_attach_to_them(cloud: str, instance: str, volumes: str) -> None:
    """E2 and N2 were planned with Hyperdisk Balanced, which they cannot have (nextflow#6841)."""
    best = recommend(data="100TB", model="framework-volumes", cloud=cloud, instance=instance).best
    assert best is not None and volumes in best.storage


def test_azures_sizes_without_premium_storage_get_no_premium_volumes() -> None:
    answer = recommend(data="100TB", model="framework-volumes", cloud="azure", instance="Standard_D64d_v5")
    assert answer.best is None


def test_bought_throughput_needs_size_where_a_gib_may_have_so_much_only(make_catalog: Make) -> None:
    """A link of 500 MB/s, and at most 1 MB/s for each GiB."""
    sold = {"volume_type": "v", "price_usd_per_gib_month": 0.005, "price_usd_per_mibps_month": 0.25,
            "bytes_per_s_per_gib": 1e6, "read_bytes_per_s_max": 2e9, "write_bytes_per_s_max": 2e9,
            "size_bytes_max": 1e13, **SPEC}  # fmt: skip
    count, rate, gib, monthly = node(make_catalog({"a": {}}, volumes=[sold]))
    assert (count, rate, gib) == (1, 5e8, pytest.approx(500))
    assert monthly == pytest.approx(5e8 / 2**20 * 0.25)
    sold["size_bytes_min"] = 1000 * 2**30
    assert node(make_catalog({"a": {}}, volumes=[sold]))[2] == pytest.approx(1000), "its smallest size"


def test_volumes_leave_an_attachment_for_the_root() -> None:
    """EC2 attaches 27 volumes to m6i.32xlarge, the root included (aws-ebs-csi-driver#1258)."""
    best = recommend(data="100TB", model="framework-volumes", cloud="aws", instance="m6i.32xlarge").best
    assert best is not None and best.volumes is not None and best.volumes.count == 26

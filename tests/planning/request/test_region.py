"""A region's offer: prices, and volumes that use burst credit where nothing rules it out."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approvals import Approve
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from planner.api.recommend import recommend as recommend_by
from planner.catalog import load_catalog
from planner.config.settings import load_settings
from planner.cost_model.prices import Offer, Reservations
from planner.errors import BadInputError
from planner.planning.request.region import priced_alike, with_own_prices
from planner.schemas.plan import Candidate, OwnPrice, Plan
from planner.schemas.request_forms import discounts, own_prices

Make = Callable[..., Any]
NODE = {"price": 2.0, "read": 4e9, "write": 2e9}
BURSTING = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "bytes_per_s_per_gib": 1e5,
            "burst_bytes_per_s": 125_000_000, "credit_bytes": 10**12, "read_bytes_per_s_max": 2.5e8,
            "write_bytes_per_s_max": 2.5e8, "size_bytes_min": 2**30, "size_bytes_max": 1e14,
            "burst_evidence": "recalled", "price_evidence": "spec", "limit_evidence": "spec"}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "on_credit"),
    [
        ({}, True),
        ({"paper": True}, False),
        ({"assume": {"volume_read": 1e8}}, False),
        ({"assume": {"sort": 1e9}}, True),
    ],
    ids=str,
)
def test_credit_is_considered_but_not_by_the_papers_nor_beside_an_assumed_rate(
    make_job: Make, asked: dict[str, Any], on_credit: bool
) -> None:
    _, region, _ = make_job({"a": NODE}, model="cloudsort", files={"volumes": [BURSTING]}, **asked)
    assert (region.volumes_on_credit is not None) == on_credit
    assert not region.volumes.on_credit.any()
    assert region.volumes_on_credit is None or region.volumes_on_credit.on_credit.all()


def test_volumes_without_credit_are_offered_once(make_job: Make) -> None:
    plain = {name: value for name, value in BURSTING.items() if "credit" not in name and "burst" not in name}
    _, region, _ = make_job({"a": NODE}, model="cloudsort", files={"volumes": [plain]})
    assert region.volumes_on_credit is None


def test_the_larger_of_two_assumed_rates_decides_how_many_volumes(make_job: Make) -> None:
    """A volume of 2,500 GiB does 250 MB/s: one for 100 MB/s of reads, two if 400 MB/s of writes come on top."""
    for assume, count in (({"volume_read": 1e8}, 1), ({"volume_read": 1e8, "volume_write": 4e8}, 2)):
        _, region, _ = make_job({"a": NODE}, model="cloudsort", files={"volumes": [BURSTING]}, assume=assume)
        assert region.volumes.count.tolist() == [count]


def test_prices_are_scaled_assumed_or_the_lists(make_job: Make) -> None:
    def price(**asked: Any) -> float:
        return float(make_job({"a": NODE}, **asked)[1].offer.price_usd_per_hour[0])

    assert price() == 2
    assert price(scale={"price": 1.5}) == 3
    assert price(assume={"price": 0.5}) == 0.5
    assert price(assume={"price": 0.5}, scale={"price": 3.0}) == 1.5
    own = (OwnPrice(discount=0.25),)
    assert price(own_prices=own) == 1.5
    assert price(own_prices=own, paper=True) == 2
    assert price(own_prices=own, scale={"price": 2.0}) == 3


def offered(make_catalog: Callable[..., str], *own: OwnPrice) -> Offer:
    """Return list prices of $1 for a, none for b and $4 for c+2, overridden by the user's own."""
    types = {"a": NODE | {"price": 1}, "b": NODE | {"price": None}, "c+2": NODE | {"price": 4}}
    catalog = load_catalog(make_catalog(types))
    listed = Offer(
        region="here", pricing="on-demand", price_usd_per_hour=np.array([1, np.nan, 4.0]), evidence=("spec",) * 3
    )
    return with_own_prices(listed, catalog, own)


def test_a_reservation_costs_the_list_price_beyond_its_nodes(
    make_catalog: Callable[..., str], approve: Approve
) -> None:
    """$0.25 for 8 nodes of a: $0.75 more for others. $3 for any number of c, which is listed with added disks."""
    offer = offered(
        make_catalog,
        OwnPrice(instance="a", price_usd_per_hour=0.25, nodes=8),
        OwnPrice(instance="c", discount=0.25, note="contract"),
    )
    assert offer.price_usd_per_hour.tolist() == pytest.approx([0.25, np.nan, 3], nan_ok=True)
    limits = offer.reservations
    assert isinstance(limits, Reservations)
    assert limits.nodes.tolist() == [8, np.inf, np.inf]
    assert limits.above_usd_per_hour.tolist() == [0.75, 0, 0]
    assert offer.evidence == ("spec", "spec", "spec")
    approve(offer.notes)


def test_what_has_no_list_price_takes_a_price_of_ones_own_for_any_number_only(make_catalog: Callable[..., str]) -> None:
    for own, price in (
        (OwnPrice(instance="b", price_usd_per_hour=0.5), 0.5),
        (OwnPrice(instance="b", price_usd_per_hour=0.5, nodes=3), np.nan),
        (OwnPrice(instance="b", discount=0.5), np.nan),
    ):
        offer = offered(make_catalog, own)
        assert offer.price_usd_per_hour.tolist() == pytest.approx([1, price, 4], nan_ok=True)
        assert offer.reservations is None
        assert set(offer.notes) == (set() if np.isnan(price) else {1})


@pytest.mark.parametrize("other", [{"cloud": "gcp"}, {"region": "there"}, {"pricing": "spot"}], ids=str)
def test_prices_for_something_else_change_nothing(make_catalog: Callable[..., str], other: dict[str, str]) -> None:
    offer = offered(make_catalog, OwnPrice(discount=0.5, **other))
    assert offer.price_usd_per_hour.tolist() == pytest.approx([1, np.nan, 4], nan_ok=True)
    assert not offer.notes


def test_a_spot_price_from_a_saving_may_be_dearer_but_not_above_on_demand() -> None:
    """EC2's are computed; Compute Engine's are stated; the user's own price holds."""
    asked: dict[str, Any] = {"data": "1TB", "model": "indy", "nodes": 8}
    for cloud, name, own, doubtful in (
        ("aws", "i4i.4xlarge", [], True),
        ("aws", "i4i.4xlarge", [OwnPrice(instance="i4i.*", pricing="spot", price_usd_per_hour=0.5)], False),
        ("gcp", "c3-standard-8-lssd", [], False),
    ):
        spot, full = (
            recommend(**asked, cloud=cloud, instances=[name], pricing=way, own_prices=own).best
            for way in ("spot", "on-demand")
        )
        assert spot is not None and full is not None
        most = min(1.67, full.price_usd_per_hour / spot.price_usd_per_hour) if doubtful else 1.0
        dear = spot.price_usd_per_hour * most
        nodes = (7 * dear + full.price_usd_per_hour) / (8 * full.price_usd_per_hour)  # the head is bought on demand
        assert spot.cost_usd.total_p95 / full.cost_usd.total_p95 == pytest.approx(nodes, rel=0.02)


def test_scaling_an_offer_scales_what_is_beyond_a_reservation(make_catalog: Callable[..., str]) -> None:
    offer = offered(make_catalog, OwnPrice(instance="a", price_usd_per_hour=0.25, nodes=8)).times(2)
    assert offer.price_usd_per_hour.tolist() == pytest.approx([0.5, np.nan, 8], nan_ok=True)
    assert offer.reservations is not None
    assert offer.reservations.above_usd_per_hour.tolist() == [1.5, 0, 0]
    assert offer.reservations.nodes.tolist() == [8, np.inf, np.inf]


recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

TODAY = date(2026, 11, 21)
TYPES = {"a.1": {"price": 1.0, "read": 2e9, "write": 1e9}, "b.1": {"price": 2.0, "read": 4e9, "write": 2e9}}


@pytest.fixture
def cloud(make_catalog: Callable[..., str]) -> str:
    return make_catalog({**TYPES, "unpriced": {"price": None, "read": 4e9, "write": 2e9}})


def planned(cloud: str, name: str, *own: OwnPrice, **options: Any) -> Candidate | None:
    asked: dict[str, Any] = {"data": "1TB", "model": "indy", "nodes": 10, **options}
    return recommend(catalogs=[cloud], instances=[name], own_prices=own, **asked).best


def price_of(cloud: str, name: str, *own: OwnPrice, **options: Any) -> float:
    candidate = planned(cloud, name, *own, **options)
    assert candidate is not None
    return candidate.price_usd_per_hour


def test_a_discount_is_off_the_list_price(cloud: str, approve: Approve) -> None:
    candidate = planned(cloud, "a.1", OwnPrice(discount=0.25, note="contract 7"))
    assert candidate is not None
    assert candidate.price_usd_per_hour == 0.75
    approve(candidate.warnings)


def test_the_first_that_fits_counts(cloud: str) -> None:
    own = (OwnPrice(instance="a.*", price_usd_per_hour=0.5), OwnPrice(discount=0.1))
    assert price_of(cloud, "a.1", *own) == 0.5
    assert price_of(cloud, "b.1", *own) == pytest.approx(1.8)
    assert price_of(cloud, "a.1", *reversed(own)) == pytest.approx(0.9)


@pytest.mark.parametrize(
    "other", [{"cloud": "gcp"}, {"region": "elsewhere"}, {"pricing": "spot"}, {"instance": "c.*"}], ids=str
)
def test_what_is_for_something_else_does_not_count(cloud: str, other: dict[str, str]) -> None:
    assert price_of(cloud, "a.1", OwnPrice(discount=0.5, **other)) == 1.0


def test_a_negotiated_price_prices_what_the_list_does_not(cloud: str) -> None:
    assert planned(cloud, "unpriced") is None
    assert price_of(cloud, "unpriced", OwnPrice(price_usd_per_hour=0.5)) == 0.5
    assert planned(cloud, "unpriced", OwnPrice(discount=0.5)) is None


def test_a_reservation_holds_for_its_nodes_only(cloud: str) -> None:
    reserved = OwnPrice(price_usd_per_hour=0.2, nodes=4)
    candidate = planned(cloud, "a.1", reserved)
    assert candidate is not None
    assert candidate.usd_per_hour == pytest.approx(4 * 0.2 + 6 * 1.0)
    spares = next(line.usd for line in candidate.bill if line.name == "spares")
    hours = (sum(candidate.overheads_s[name] for name in ("boot", "install", "screen"))) / 3600
    assert spares == pytest.approx(1.0 * hours)  # one spare, beyond the reservation
    small = planned(cloud, "a.1", reserved, nodes=2)
    assert small is not None
    assert small.usd_per_hour == pytest.approx(2 * 0.2)


@settings(max_examples=25)
@given(nodes=st.integers(1, 60), reserved=st.integers(1, 60), share=st.floats(0, 0.99))
def test_the_estimates_price_a_reservation_as_the_exact_sum_does(nodes: int, reserved: int, share: float) -> None:
    own = [OwnPrice(discount=share, nodes=reserved)]
    plan = recommend(data="1TB", model="indy", instances=["i4i.8xlarge"], nodes=nodes, own_prices=own).plan
    assert plan.best is not None
    estimated, exact = plan.frontier[0].cost_usd_total, plan.best.cost_usd.total
    assert estimated <= exact * (1 + 1e-9)  # the estimates are a lower bound, on the time alone
    whole = plan.best.time_s.expected + sum(plan.best.overheads_s.values())
    longest = plan.frontier[0].time_s + sum(plan.best.overheads_s.values())
    assert estimated / exact == pytest.approx(longest / whole, rel=1e-2)


def test_a_reservation_can_change_the_answer(cloud: str) -> None:
    free, usual = (
        recommend(data="1TB", model="indy", catalogs=[cloud], own_prices=own, objective="cost").best
        for own in ([OwnPrice(instance="b.1", price_usd_per_hour=0.0)], [])
    )
    assert free is not None
    assert usual is not None
    assert free.instance_type == "b.1"
    assert free.cost_usd.total < usual.cost_usd.total


def test_papers_and_what_ifs(cloud: str) -> None:
    own = OwnPrice(discount=0.5)
    assert price_of(cloud, "a.1", own, paper=True) == 1.0
    doubled = recommend(data="1TB", model="indy", catalogs=[cloud], own_prices=[own], nodes=10).what_if(price=2)
    assert doubled.best is not None
    assert doubled.best.price_usd_per_hour in (1.0, 2.0)


def test_a_plan_with_own_prices_reads_back(cloud: str) -> None:
    plan = recommend(data="1TB", model="indy", catalogs=[cloud], own_prices=[OwnPrice(discount=0.5, nodes=3)]).plan
    assert Plan.from_json(plan.to_json()) == plan


def test_discounts_on_the_command_line() -> None:
    prices = discounts(["15%,aws=20%", "i4i.*=0.3"])
    assert [(o.cloud, o.instance, o.discount) for o in prices] == [
        ("*", "i4i.*", 0.3),
        ("aws", "*", 0.2),
        ("*", "*", 0.15),
    ]
    assert own_prices(["i4i.4xlarge=$0.95"])[0].price_usd_per_hour == 0.95


@pytest.mark.parametrize("text", ["100%", "-1%", "aws=", "cheap", "1.5"])
def test_no_discount(text: str) -> None:
    with pytest.raises(BadInputError, match="--discount"):
        discounts([text])


@pytest.mark.parametrize("text", ["0.95", "i4i.large=", "i4i.large=-1"])
def test_no_price(text: str) -> None:
    with pytest.raises(BadInputError, match="--own-price"):
        own_prices([text])


def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    monkeypatch.setenv("PLANNER_SETTINGS", str(file))


def test_settings_are_read_and_past_prices_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        [plan]
        clouds = ["aws", "gcp"]
        [aws]
        account = "work"
        discount = 0.1
        [[aws.prices]]
        instance = "i4i.*"
        price_usd_per_hour = 0.5
        nodes = 20
        until = 2027-03-01
        note = "reserved"
        [[aws.prices]]
        instance = "i3.*"
        discount = 0.5
        until = 2026-11-20
        """
    settings(tmp_path, monkeypatch, text)
    loaded = load_settings(today=TODAY)
    assert loaded.plan_clouds == ("aws", "gcp")
    assert loaded.of("aws").account == "work"
    assert loaded.of("azure").account == ""
    assert loaded.own_prices == (
        OwnPrice(cloud="aws", instance="i4i.*", price_usd_per_hour=0.5, nodes=20, note="reserved"),
        OwnPrice(cloud="aws", discount=0.1, note="settings"),
    )


def test_settings_may_begin_with_the_mark_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(tmp_path, monkeypatch, "\ufeff[plan]\nclouds = ['gcp']\n")
    assert load_settings(today=TODAY).plan_clouds == ("gcp",)


def test_no_settings_set_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_SETTINGS", str(tmp_path / "none.toml"))
    assert not load_settings(today=TODAY).own_prices


@pytest.mark.parametrize("data", [b"[aws\n", b"\xff\xfe", b""], ids=["broken", "no text", "empty"])
def test_a_file_that_is_no_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(data)
    monkeypatch.setenv("PLANNER_SETTINGS", str(file))
    if data:
        with refused("not-toml"):
            load_settings(today=TODAY)
    else:
        assert not load_settings(today=TODAY).clouds


def test_the_documented_settings_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "catalogs.md"
    (example,) = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    settings(tmp_path, monkeypatch, example)
    loaded = load_settings(today=TODAY)
    assert loaded.of("aws").account == "work"
    assert [own.nodes for own in loaded.own_prices] == [40, None]


SIZES = {"x.large": {**NODE, "vcpu": 2}, "x.xlarge": {**NODE, "vcpu": 4}, "y.large": {**NODE, "vcpu": 2}}


def test_a_price_per_vcpu_grows_with_the_size(make_job: Make) -> None:
    _, region, _ = make_job(SIZES, own_prices=tuple(own_prices(["x.*=0.5/vcpu"])))
    assert region.offer.price_usd_per_hour.tolist() == [1.0, 2.0, 2]
    assert region.offer.evidence[:2] == ("spec", "spec")
    assert "your own (--own-price); the list says $2" in region.offer.notes[1]
    assert not list(priced_alike(region, own_prices(["x.*=0.5/vcpu"])))


def test_one_price_for_several_sizes_is_said_with_their_names(make_job: Make, approve: Approve) -> None:
    _, region, _ = make_job(SIZES)
    said = list(priced_alike(region, own_prices(["x.*=3"])))
    approve(said)
    assert not list(priced_alike(region, own_prices(["*.large=3"])))  # matches one size
    assert not list(priced_alike(region, own_prices(["x.large=3", "x.*=4"])))  # each matches one type


def test_a_plan_says_that_a_price_of_ones_own_is_that_of_several_sizes() -> None:
    answer = recommend_by("1TB", cloud="aws", own_price={"i4i.*": 1}, nodes=8)
    assert any("--own-price i4i.*=1 prices i4i.large, i4i.xlarge" in warning for warning in answer.plan.warnings)
    by_vcpu = recommend_by("1TB", cloud="aws", own_price={"i4i.*": "0.05/vcpu"}, instance="i4i.4xlarge", nodes=8)
    assert by_vcpu.plan.best is not None
    assert by_vcpu.plan.best.price_usd_per_hour == pytest.approx(0.8)  # 16 vCPUs
    assert by_vcpu.plan.best.price_as_of == ""
    assert not any("alike" in warning for warning in by_vcpu.plan.warnings)


def _owned(make_catalog: Callable[..., str], cloud: str, **prices: float | None) -> str:
    """Return a catalog under another name of the cloud, with the prices that are stated."""
    path = Path(
        make_catalog({name: {"read": 2e9, "write": 2e9, "price": price or 1} for name, price in prices.items()})
    )
    (path / "catalog.toml").write_text((path / "catalog.toml").read_text().replace('"aws"', f'"{cloud}"'))
    if None in prices.values():
        (path / "prices.csv").write_text((path / "prices.csv").read_text().splitlines()[0] + "\n")
    return str(path)


@pytest.mark.parametrize("cloud", ["local", "ours", "aws"])
@pytest.mark.parametrize(
    ("listed", "asked", "hourly"),
    [
        (1.2, {}, 1.2),
        (1.2, {"own_price": "a=2.5"}, 2.5),
        (1.2, {"discount": "50%"}, 0.6),
        (1.2, {"assume": {"price": 3}}, 3.0),
        (1.2, {"what_if": {"price": 2}}, 2.4),
        (None, {"own_price": "a=2.5"}, 2.5),
        (None, {"own_price": "*=0.1/vcpu"}, 1.6),
        (None, {"assume": {"price": 3}}, 3.0),
    ],
)
def test_a_stated_price_counts_whatever_the_cloud_is_called(
    make_catalog: Callable[..., str], cloud: str, listed: float | None, asked: dict[str, Any], hourly: float
) -> None:
    best = recommend_by("1TB", model="indy", catalogs=[_owned(make_catalog, cloud, a=listed)], **asked).best
    assert best is not None
    assert best.price_usd_per_hour == pytest.approx(hourly)
    assert best.cost_usd.total >= best.nodes * hourly * best.time_s.expected / 3600


def test_without_a_price_only_ones_own_machines_are_free_and_the_plan_says_so(make_catalog: Callable[..., str]) -> None:
    with pytest.raises(BadInputError):
        recommend_by("1TB", model="indy", catalogs=[_owned(make_catalog, "ours", a=None)])
    path = _owned(make_catalog, "local", a=None)
    plan = recommend_by("1TB", model="indy", catalogs=[path], discount="10%").plan
    assert plan.best is not None and plan.best.cost_usd.total == 0
    assert [text for text in plan.warnings if text.startswith("price: ")]


def test_one_stated_price_leaves_the_other_machines_without_one(make_catalog: Callable[..., str]) -> None:
    plan = recommend_by(
        "1TB", model="indy", catalogs=[_owned(make_catalog, "local", a=None, b=None)], own_price="a=2"
    ).plan
    assert [candidate.instance_type for candidate in plan.candidates] == ["a"]
    assert [rejection.instance_type for rejection in plan.rejected] == ["b"]

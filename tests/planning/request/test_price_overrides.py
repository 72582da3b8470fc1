"""Discounts, negotiated prices and reservations: in a request, on the command line, in the settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.api.recommend import recommend as recommend_by
from planner.config.settings import load_settings
from planner.errors import BadInputError
from planner.schemas.plan import Candidate, OwnPrice, Plan
from planner.schemas.request_forms import discounts, own_prices

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


def test_a_discount_is_off_the_list_price(cloud: str) -> None:
    candidate = planned(cloud, "a.1", OwnPrice(discount=0.25, note="contract 7"))
    assert candidate is not None
    assert candidate.price_usd_per_hour == 0.75
    assert "price: 25% off the list price (contract 7); the list says $1.00 per node-hour" in candidate.warnings


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
    hours = (candidate.overheads_s["boot"] + candidate.overheads_s["screen"]) / 3600
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


def test_no_settings_set_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_SETTINGS", str(tmp_path / "none.toml"))
    assert not load_settings(today=TODAY).own_prices


def test_everything_wrong_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        gcp = 3
        [awss]
        [plan]
        clouds = "aws"
        [aws]
        discount = 15
        profil = "x"
        [[aws.prices]]
        instance = 7
        [[aws.prices]]
        discount = 0.1
        price_usd_per_hour = -1
        nodes = 0
        until = "soon"
        pricing = "reserved"
        """
    settings(tmp_path, monkeypatch, text)
    with pytest.raises(BadInputError) as caught:
        load_settings(today=TODAY)
    whole = "\n".join(caught.value.details)
    for part in (
        "gcp: must be a table", "[awss]: unknown. Did you mean aws", "[plan] clouds", "[aws] discount", "[aws] profil",
        "number 1 instance", "number 1: needs either", "number 2: needs either", "number 2 price_usd_per_hour",
        "number 2 nodes", "number 2 until", "number 2 pricing",
    ):  # fmt: skip
        assert part in whole, part
    assert str(tmp_path / "settings.toml") in caught.value.message


@pytest.mark.parametrize("data", [b"[aws\n", b"\xff\xfe", b""], ids=["broken", "no text", "empty"])
def test_a_file_that_is_no_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(data)
    monkeypatch.setenv("PLANNER_SETTINGS", str(file))
    if data:
        with pytest.raises(BadInputError, match="cannot be read as TOML"):
            load_settings(today=TODAY)
    else:
        assert not load_settings(today=TODAY).clouds


def test_the_documented_settings_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "refreshing.md"
    (example,) = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    settings(tmp_path, monkeypatch, example)
    loaded = load_settings(today=TODAY)
    assert loaded.of("aws").account == "work"
    assert [own.nodes for own in loaded.own_prices] == [40, None]

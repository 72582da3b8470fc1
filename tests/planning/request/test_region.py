"""What a region offers: prices, and volumes that are fast on credit where nothing speaks against them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from planner.catalog import load_catalog
from planner.cost_model.prices import Reservations
from planner.planning.request.offer import Offer
from planner.planning.request.price_overrides import with_own_prices
from planner.schemas.plan import OwnPrice

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
    """A volume of 2,500 GiB does 250 MB/s: one for 100 MB/s of reads, two for 400 of writes beside them."""
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
    """Return list prices of $1 for a, none for b and $4 for c+2, with the user's own laid over them."""
    types = {"a": NODE | {"price": 1}, "b": NODE | {"price": None}, "c+2": NODE | {"price": 4}}
    catalog = load_catalog(make_catalog(types))
    listed = Offer(
        region="here", pricing="on-demand", price_usd_per_hour=np.array([1, np.nan, 4.0]), evidence=("spec",) * 3
    )
    return with_own_prices(listed, catalog, own)


def test_a_reservation_costs_the_list_price_beyond_its_nodes(make_catalog: Callable[..., str]) -> None:
    """$0.25 for 8 nodes of a: $0.75 more for others. $3 for any number of c, which has disks added to it."""
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
    assert offer.evidence == ("assumed", "spec", "spec")
    assert offer.notes == {
        0: "price: your own for 8 nodes; the list says $1.00 per node-hour",
        2: "price: 25% off the list price (contract); the list says $4.00 per node-hour",
    }


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


def test_scaling_an_offer_scales_what_is_beyond_a_reservation(make_catalog: Callable[..., str]) -> None:
    offer = offered(make_catalog, OwnPrice(instance="a", price_usd_per_hour=0.25, nodes=8)).times(2)
    assert offer.price_usd_per_hour.tolist() == pytest.approx([0.5, np.nan, 8], nan_ok=True)
    assert offer.reservations is not None
    assert offer.reservations.above_usd_per_hour.tolist() == [1.5, 0, 0]
    assert offer.reservations.nodes.tolist() == [8, np.inf, np.inf]

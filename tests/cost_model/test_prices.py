"""Spares, reservations and rounding, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.prices import Offer, Reservations, billed_s, capacity_usd_per_hour, paid_nodes, request_usd
from planner.cost_model.workload import JobContext


def test_spares_are_whole_nodes_and_a_single_node_has_none() -> None:
    assert paid_nodes(np.array([1.0, 2.0, 20.0, 21.0]), spare_fraction=0.05).tolist() == [1, 3, 21, 23]


def test_nodes_beyond_a_reservation_cost_the_list_price() -> None:
    reservations = Reservations(nodes=np.array([10.0, np.inf]), above_usd_per_hour=np.array([0.5, 3.0]))
    excess = reservations.excess_usd_per_hour(np.array([1, 0, 0]), np.array([8.0, 12.0]))
    assert excess.tolist() == [[0, 0], [0, 1], [0, 1]]


VOLUME = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "bytes_per_s_per_gib": 1e5, "size_bytes_min": 2**30,
          "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8, "size_bytes_max": 1e15,
          "price_evidence": "spec", "limit_evidence": "spec"}  # fmt: skip
STORE = {
    "object_store": "store", "price_usd_per_gib_month": 0.02, "write_usd_per_request": 5e-6,
    "read_usd_per_request": 4e-7, "egress_usd_per_gib": 0, "bytes_per_s_per_vcpu": 25e6, "rate_evidence": "measured",
}  # fmt: skip
NODE = {"a": {"read": 4e9, "write": 2e9}}
GIB_HOUR = 0.1 / 2**30 / 720
"""Price of a byte-hour at $0.1 a GiB-month."""


def test_volumes_are_bought_for_the_data_or_for_their_rate(make_context: Callable[..., JobContext]) -> None:
    """20 TB are held; 500 MB/s at 0.1 MB/s per GiB need 5,000 GiB a node: more on ten nodes, less on three."""
    context = make_context(NODE, model="cloudsort", files={"volumes": [VOLUME]}).only(np.array([0]))
    hourly = capacity_usd_per_hour(context, np.array([3.0, 10.0]))
    assert hourly[0].tolist() == pytest.approx([20e12 * GIB_HOUR, 10 * 5000 * 2**30 * GIB_HOUR])
    assert capacity_usd_per_hour(make_context(NODE), np.array([3.0])).ravel().tolist() == [0, 0]


def test_what_is_in_the_store_is_paid_whatever_the_nodes(make_context: Callable[..., JobContext]) -> None:
    """10 TB in and 10 TB out at a fifth of that price; each part is requested once, to read or to write."""
    context = make_context(NODE, model="object-store", files={"object_stores": [STORE]}).only(np.array([0]))
    assert capacity_usd_per_hour(context, np.array([3.0, 10.0])).tolist() == [[pytest.approx(20e12 * GIB_HOUR / 5)]]
    sizes = context.model.requests
    reads, writes = math.ceil(1e13 / sizes["read_bytes"]), math.ceil(1e13 / sizes["write_bytes"])
    assert request_usd(context) == pytest.approx(reads * 4e-7 + writes * 5e-6)
    assert request_usd(make_context(NODE)) == 0


def test_what_is_on_volumes_and_what_is_in_the_store_add_up(make_context: Callable[..., JobContext]) -> None:
    """A type without disks keeps 10 TB of intermediate data on volumes, plus 20 TB in the store at a fifth."""
    diskless = {"a": {"local_disks": 0}}
    files = {"volumes": [VOLUME], "object_stores": [STORE]}
    context = make_context(diskless, model="object-store", files=files).only(np.array([0]))
    hourly = capacity_usd_per_hour(context, np.array([1.0]))
    assert hourly.ravel().tolist() == pytest.approx([10e12 * GIB_HOUR + 20e12 * GIB_HOUR / 5])


@pytest.mark.parametrize(("seconds", "billed"), [(10, 90), (60, 90), (61, 120), (120, 120), (121, 180)])
def test_steps_begun_are_billed_and_a_minimum(
    make_context: Callable[..., JobContext], seconds: float, billed: float
) -> None:
    terms = '[billing]\nstep_s = 60\nminimum_s = 90\nevidence = "spec"\nsource = "made"'
    context = make_context(NODE, head=terms)
    assert billed_s(np.array([float(seconds)]), context).tolist() == [billed]
    assert billed_s(np.array([float(seconds)]), replace(context, paper=True)).tolist() == [seconds]
    assert billed_s(np.array([float(seconds)]), make_context(NODE)).tolist() == [seconds]


LIST = Offer(region="here", pricing="on-demand", price_usd_per_hour=np.array([2.0, np.nan]), evidence=("spec", ""))


def test_every_price_is_multiplied_and_unknown_ones_stay_unknown() -> None:
    np.testing.assert_array_equal(LIST.times(0.7).price_usd_per_hour, [1.4, np.nan])
    assert LIST.times(2).reservations is None


def test_what_nodes_beyond_a_reservation_cost_is_multiplied_and_their_number_is_not() -> None:
    limits = Reservations(nodes=np.array([10.0]), above_usd_per_hour=np.array([0.5]))
    price = np.array([1.0])
    offer = Offer(
        region="here", pricing="on-demand", price_usd_per_hour=price, evidence=("assumed",), reservations=limits
    )
    doubled = offer.times(2).reservations
    assert doubled is not None
    assert (doubled.nodes.tolist(), doubled.above_usd_per_hour.tolist()) == ([10], [1])

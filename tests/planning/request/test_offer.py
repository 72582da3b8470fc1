"""An offer's prices are multiplied together with what its reservations leave over."""

from __future__ import annotations

import numpy as np

from planner.cost_model.prices import Reservations
from planner.planning.request.offer import Offer

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

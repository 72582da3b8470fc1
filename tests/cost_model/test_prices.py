"""Spares, reservations and rounding, by hand."""

from __future__ import annotations

import numpy as np

from planner.cost_model.prices import Reservations, paid_nodes


def test_spares_are_whole_nodes_and_a_single_node_has_none() -> None:
    assert paid_nodes(np.array([1.0, 2.0, 20.0, 21.0]), spare_fraction=0.05).tolist() == [1, 3, 21, 23]


def test_nodes_beyond_a_reservation_cost_the_list_price() -> None:
    reservations = Reservations(nodes=np.array([10.0, np.inf]), above_usd_per_hour=np.array([0.5, 3.0]))
    excess = reservations.excess_usd_per_hour(np.array([1, 0, 0]), np.array([8.0, 12.0]))
    assert excess.tolist() == [[0, 0], [0, 1], [0, 1]]

"""Volumes on burst credit are taken where the credit lasts and a byte costs less, by hand.

Cloudsort of 10 TB: 10 TB each are loaded, read, written and validated on volumes, which hold 20 TB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.block_volumes import VolumeChoice
from planner.cost_model.burst_credit import with_lasting_credit
from planner.cost_model.capacity import fewest_nodes
from planner.cost_model.disk_layout import VOLUMES
from planner.cost_model.staging_steps import on_volumes_bytes
from planner.cost_model.workload import JobContext

Make = Callable[..., JobContext]
DISKS = {"read": 1e10, "write": 1e10, "memory_bytes": 2 * 10**9}


def choice(
    *, rate: float = 5e8, fixed_usd: float = 0, byte_usd: float = 1e-12, least: float = 0, credit: float = np.inf
) -> VolumeChoice:
    """Return volumes for the only type: by default 500 MB/s at a dollar an hour for each terabyte."""
    return VolumeChoice(
        read=np.array([rate]),
        write=np.array([rate]),
        evidence=np.zeros(1, np.int8),
        volume_type=np.array(["lasting" if np.isinf(credit) else "burst"]),
        count=np.ones(1),
        fixed_usd_per_hour=np.array([fixed_usd]),
        usd_per_byte_hour=np.array([byte_usd]),
        bytes_min=np.array([least]),
        bytes_max=np.array([1e15]),
        credit_bytes=np.array([credit]),
    )


def chosen(
    context: JobContext,
    own: VolumeChoice,
    on_credit: VolumeChoice,
    *,
    price: float = 0,
    nodes: int | None = None,
    max_nodes: int = 1000,
) -> str:
    lasting = with_lasting_credit(
        replace(context, volumes=own),
        on_credit=on_credit,
        price_usd_per_hour=np.array([price]),
        nodes=nodes,
        max_nodes=max_nodes,
    )
    return str(lasting.volume_type[0])


@pytest.mark.parametrize(("least_tb", "taken"), [(0.46, "burst"), (0.44, "lasting")])
def test_without_a_number_of_nodes_the_run_is_taken_to_move_data_for_half_an_hour(
    make_context: Make, least_tb: float, taken: str
) -> None:
    """40 TB at 500 MB/s for 1,800 s: 44.4 nodes, each with 20 / 44.4 = 0.45 TB. Volumes that must be larger than that
    for their rate cost more than those on credit; smaller ones cost the same, and need no credit.
    """
    context = make_context({"a": DISKS}, model="cloudsort")
    assert chosen(context, choice(least=least_tb * 1e12), choice(credit=1e12)) == taken


@pytest.mark.parametrize(("max_nodes", "taken"), [(40, "lasting"), (50, "burst")])
def test_a_cluster_has_no_more_nodes_than_it_may(make_context: Make, max_nodes: int, taken: str) -> None:
    """On 40 nodes each holds 20 / 40 = 0.5 TB, which is more than the 0.46 TB that the other volumes must have."""
    context = make_context({"a": DISKS}, model="cloudsort")
    assert chosen(context, choice(least=0.46e12), choice(credit=1e13), max_nodes=max_nodes) == taken


def test_a_cluster_has_at_least_one_node(make_context: Make) -> None:
    """40 GB at 500 MB/s take 80 s: not 0.04 nodes with 0.45 TB each but one with 0.02 TB, below the least of 0.1 TB."""
    context = make_context({"a": DISKS}, model="cloudsort", data_bytes=10**10)
    assert chosen(context, choice(least=1e11), choice(credit=1e12)) == "burst"


@pytest.mark.parametrize(("fixed_usd", "taken"), [(0.11, "burst"), (0.08, "lasting")])
def test_bought_throughput_counts(make_context: Make, fixed_usd: float, taken: str) -> None:
    """0.45 TB: $0.45 an hour and what throughput costs, against $0.54 on credit at $1.2 a terabyte."""
    context = make_context({"a": DISKS}, model="cloudsort")
    own, on_credit = choice(fixed_usd=fixed_usd), choice(byte_usd=1.2e-12, credit=1e12)
    assert chosen(context, own, on_credit) == taken
    assert chosen(context, choice(byte_usd=1.2e-12), choice(fixed_usd=fixed_usd, credit=1e12)) == (
        "lasting" if taken == "burst" else "burst"
    )


@pytest.mark.parametrize(("price", "taken"), [(0.4, "burst"), (0.3, "lasting")])
def test_the_nodes_price_is_spread_over_what_it_moves(make_context: Make, price: float, taken: str) -> None:
    """Ten nodes with 2 TB each: (p + 2) / 500 MB/s against (p + 2.7) / 650 MB/s: equal at p = 0.333."""
    context = make_context({"a": DISKS}, model="cloudsort")
    fast = choice(rate=6.5e8, byte_usd=1.35e-12, credit=1e13)
    assert chosen(context, choice(), fast, price=price, nodes=10) == taken


def test_reading_and_writing_weigh_the_same(make_context: Make) -> None:
    """A byte read and written takes 1/400 + 1/600 us of a node on credit: more than 2/500, and less than 2/470."""
    context = make_context({"a": DISKS}, model="cloudsort")
    uneven = replace(choice(credit=1e13), read=np.array([4e8]), write=np.array([6e8]))
    assert chosen(context, choice(), uneven, nodes=10) == "lasting"
    assert chosen(context, choice(rate=4.7e8), uneven, nodes=10) == "burst"


@pytest.mark.parametrize(("credit_tb", "taken"), [(4.0, "burst"), (3.99, "lasting")])
def test_the_credit_of_all_nodes_lasts_for_what_is_moved(make_context: Make, credit_tb: float, taken: str) -> None:
    """40 TB over 10 nodes: 4 TB each."""
    context = make_context({"a": DISKS}, model="cloudsort")
    assert chosen(context, choice(least=9e12), choice(credit=credit_tb * 1e12), nodes=10) == taken
    assert chosen(context, choice(least=9e12), choice(credit=credit_tb * 1e10)) == taken  # of 1,000 nodes


def test_what_has_no_known_price_gives_way(make_context: Make) -> None:
    context = make_context({"a": DISKS}, model="cloudsort")
    assert chosen(context, choice(byte_usd=np.nan), choice(credit=1e13), nodes=10) == "burst"


def test_every_byte_on_volumes_spends_credit_whether_read_or_written(make_context: Make) -> None:
    """10 TB in, 5 TB out: loaded 10, read 10, written 5, validated 5, and read once more to be taken away. On 4 TB of
    credit a node these are ceil(30 / 4) = 8 nodes, or ceil(35 / 4) = 9.
    """
    for output, moved_tb, nodes in ((None, 30, 8), ("s3://b/out", 35, 9)):
        context = make_context({"a": DISKS}, model="cloudsort", reduce_ratio=0.5, output=output)
        context = replace(context, volumes=choice(credit=4e12))
        assert on_volumes_bytes(context).tolist() == [moved_tb * 1e12] * len(context.layouts.type_row)
        assert fewest_nodes(context)[0] == nodes
        moved = [float(context.moved_on(VOLUMES, phase)[0]) for phase in context.model.phases]
        assert moved == [10e12, 5e12]

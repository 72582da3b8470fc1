"""Number of nodes by hand: head room for skew and a lost node, memory for two passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from approvals import Approve

from planner.api.recommend import recommend
from planner.cost_model.capacity import capacity_per_node, fewest_nodes, node_bounds, with_lasting_credit
from planner.cost_model.disk_layout import LOCAL, OBJECTS, VOLUMES
from planner.cost_model.staging import on_volumes_bytes
from planner.cost_model.volumes.block_volumes import VolumeChoice
from planner.cost_model.workload import JobContext
from planner.errors import BadInputError
from planner.schemas.plan import Candidate, Rejection

Make = Callable[..., str]
MakeContext = Callable[..., JobContext]
FAST = {"read": 1e9, "write": 1e9}
DISKS = {"read": 4e9, "write": 2e9}


def best_of(path: str, **asked: Any) -> Candidate:
    best = recommend(**{"data": "10TB", "model": "indy", "catalogs": [path], "engine": "ideal"} | asked).best
    assert best is not None
    return best


def rejection(path: str, **asked: Any) -> Rejection:
    (only,) = recommend(**{"data": "10TB", "model": "indy", "catalogs": [path], "engine": "ideal"} | asked).rejected
    return only


def test_head_room_is_for_skew_or_for_a_lost_node_whichever_is_more(make_catalog: Make) -> None:
    # a node holds 4 TB less 5% of file system, 3.8 TB; indy keeps input, intermediate data and output: 3 x data at most
    path = make_catalog({"a": FAST})
    needed = best_of(path).needed_bytes
    peak = sum(needed.values()) * best_of(path).nodes / 3.8e12  # nodes filled to the brim
    # few nodes: the data of one of them weighs more than 3%
    assert best_of(path).nodes_min == -(-(peak + 1) // 1)
    assert best_of(path, paper=True).nodes_min == -(-sum(needed.values()) * best_of(path).nodes // 4e12)
    # many nodes, 40 times the data: 3% of some 300 is more than one
    assert best_of(path, data="400TB").nodes_min == -(-(40 * peak * 1.03) // 1)


def test_a_single_node_needs_no_room_for_its_own_loss(make_catalog: Make) -> None:
    path = make_catalog({"a": FAST})
    sum_bytes = sum(best_of(path, data="1TB", nodes=1).needed_bytes.values())
    assert sum_bytes * 1.03 < 3.8e12
    assert best_of(path, data="1TB").nodes_min == 1


def test_a_share_of_ones_own_takes_the_place_of_both(make_catalog: Make) -> None:
    path = make_catalog({"a": FAST})
    peak = sum(best_of(path).needed_bytes.values()) * best_of(path).nodes / 3.8e12
    assert best_of(path, head_room=0.0).nodes_min == -(-peak // 1)
    assert best_of(path, head_room=0.2).nodes_min == -(-(peak / 0.8) // 1)


@pytest.mark.parametrize("share", [-0.1, 0.95])
def test_a_share_that_is_none_is_refused(make_catalog: Make, share: float) -> None:
    with pytest.raises(BadInputError, match="head room"):
        recommend(data="1TB", model="indy", catalogs=[make_catalog({"a": FAST})], head_room=share)


@pytest.mark.parametrize(("disks", "piece_bytes"), [("nvme", 262_144), ("hdd", 5_000_000)])
def test_two_passes_need_memory(make_catalog: Make, disks: str, piece_bytes: float) -> None:
    # M = 2e9 x 0.53 = 1.06e9; D <= M^2 / (3 b): 1.4288e12 bytes with 256 KiB, 7.4907e10 with 5 MB
    path = make_catalog({"a": FAST | {"memory_bytes": 2e9, "local_disk_kind": disks, "local_disk_bytes": 1e14}})
    most_bytes = (2e9 * 0.53) ** 2 / (3 * piece_bytes)
    assert most_bytes == pytest.approx({"nvme": 1.4288e12, "hdd": 7.4907e10}[disks], rel=1e-4)
    assert best_of(path).nodes_min == -(-1e13 // most_bytes)
    assert best_of(path, paper=True).nodes_min == 1


def test_too_few_nodes_for_their_memory_are_told_so(make_catalog: Make, approve: Approve) -> None:
    path = make_catalog({"a": FAST | {"memory_bytes": 2e9, "local_disk_bytes": 1e14}})
    lacking = rejection(path, nodes=4)
    # 10 TB / 1.4288 TB = 6.999
    approve(lacking.reason)
    approve(lacking.detail)


def test_unknown_memory_is_a_missing_fact_but_not_for_the_papers(make_catalog: Make) -> None:
    path = make_catalog({"a": FAST | {"memory_bytes": ""}})
    assert rejection(path).reason == "memory unknown"
    assert best_of(path, paper=True).nodes > 0


def test_shared_disks_hold_all_three_volumes_and_memory_only_one(make_context: MakeContext) -> None:
    """Input, intermediate data and output of 10 TB: 30 / 3.8 = 7.9 nodes. With intermediate data in 0.53 of the memory,
    10,000 / 33.92 = 294.8 nodes, whose disks hold the remaining 20 TB many times.
    """
    context = make_context({"a": DISKS}, head_room=0.0)
    room = capacity_per_node(context)
    assert room["data"].tolist() == pytest.approx([3.8e12, 3.8e12])
    assert room["intermediate"].tolist() == pytest.approx([3.8e12, 0.53 * 64e9])
    assert fewest_nodes(context).tolist() == [8, 295]


@pytest.mark.parametrize(("data_bytes", "nodes"), [(38 * 10**11, 3), (38 * 10**11 + 10**6, 4)])
def test_nodes_that_are_filled_to_the_brim_do(make_context: MakeContext, data_bytes: int, nodes: int) -> None:
    """3 x 3.8 TB on disks of 3.8 TB a node: three nodes; one more megabyte needs a fourth."""
    assert fewest_nodes(make_context({"a": DISKS}, data_bytes=data_bytes, head_room=0.0))[0] == nodes


def test_a_split_must_hold_each_group_and_the_papers_pool_it(make_context: MakeContext) -> None:
    """20 TB of data and 10 TB of intermediate data on k and 4 - k disks of 0.95 TB: 20 / (0.95 k), 10 / (0.95 (4 - k)).
    The papers deduct nothing: 30 / 4 = 7.5 nodes however the disks divide.
    """
    simultaneous = {"a": DISKS | {"both": 1e9, "memory_bytes": 2 * 10**9}}
    apart = [max(20 / (0.95 * k), 10 / (0.95 * (4 - k))) for k in (1, 2, 3)]
    assert (
        fewest_nodes(make_context(simultaneous, head_room=0.0))[:3].tolist()
        == [math.ceil(nodes) for nodes in apart]
        == [22, 11, 11]
    )
    assert fewest_nodes(make_context(simultaneous, paper=True)).tolist() == [8, 8, 8]


def test_a_model_with_copies_elsewhere_takes_two_nodes(make_context: MakeContext) -> None:
    assert fewest_nodes(make_context({"a": DISKS}, model="daytona", data_bytes=10**9))[0] == 2
    assert fewest_nodes(make_context({"a": DISKS}, data_bytes=10**9))[0] == 1


def test_volumes_under_both_groups_hold_both(make_context: MakeContext) -> None:
    """No local disks: 30 TB on volumes of at most 2 TB a node; data alone, 20 TB, would take 10 nodes."""
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 2e12, "free_bytes_per_s": 5e8,
              "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8, "price_evidence": "spec",
              "limit_evidence": "spec"}  # fmt: skip
    files = {"volumes": [volume]}
    bare = make_context(
        {"a": {"local_disks": 0, "local_disk_bytes": ""}}, model="cloudsort", head_room=0.0, files=files
    )
    assert fewest_nodes(bare)[0] == 15
    disks = make_context({"a": DISKS}, model="cloudsort", head_room=0.0, files=files)
    assert fewest_nodes(disks)[0] == 10


def test_an_unknown_capacity_gives_no_number(make_context: MakeContext) -> None:
    assert np.isnan(fewest_nodes(make_context({"a": DISKS | {"local_disk_bytes": ""}}, head_room=0.0))).all()


def test_what_one_node_just_holds_with_its_skew_needs_no_room_for_its_loss(make_context: MakeContext) -> None:
    """1 TB three times fills 0.75 of 4 TB, and all of it with a third more: one node. Any more needs two."""
    context = make_context({"a": FAST | {"memory_bytes": 10**13}}, data_bytes=10**12, head_room=0.0)
    overheads = replace(context.overheads, file_system_overhead=0.0, lost_nodes=1.0, skew=0.0)
    brimful = float(node_bounds(replace(context, overheads=overheads))["disks"][0])
    assert brimful == 0.75
    for skew, bound in ((1 / 3, 1.0), (0.36, 1.75)):
        skewed = replace(context, overheads=replace(overheads, skew=skew))
        assert node_bounds(skewed)["disks"][0] == bound


@pytest.mark.parametrize(("model", "volumes"), [("indy", False), ("framework-volumes", True), ("object-store", False)])
def test_intermediate_files_take_memory_wherever_they_lie(make_context: MakeContext, model: str, volumes: bool) -> None:
    """On nodes of 64 GB D <= M^2 / (k x b); SSDs and volumes are written in pieces of one size."""
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e15, "free_bytes_per_s": 1.25e8,
              "read_bytes_per_s_max": 1.25e8, "write_bytes_per_s_max": 1.25e8, "price_evidence": "spec",
              "limit_evidence": "spec"}  # fmt: skip
    context = make_context({"a": DISKS}, model=model, files={"volumes": [volume]})
    life = context.overheads
    rows = context.layouts.intermediate_on == (VOLUMES if volumes else LOCAL)
    most_bytes = (64e9 * life.memory_share) ** 2 / (life.partitions_at_once * life.pass_buffer_bytes["ssd"])
    assert rows.any()
    held_bytes = context.group_bytes()["intermediate"]
    assert node_bounds(context)["memory"][rows] == pytest.approx(held_bytes / most_bytes)
    assert (node_bounds(context)["memory"][context.layouts.intermediate_on > max(LOCAL, VOLUMES, OBJECTS)] == 0).all()


FAST_DISKS = {"read": 1e10, "write": 1e10, "memory_bytes": 2 * 10**9}


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
    make_context: MakeContext, least_tb: float, taken: str
) -> None:
    """40 TB at 500 MB/s for 1,800 s: 44.4 nodes, each with 20 / 44.4 = 0.45 TB. Volumes that need more than that for
    their rate cost more than those on credit; smaller ones cost the same without credit.
    """
    context = make_context({"a": FAST_DISKS}, model="cloudsort")
    assert chosen(context, choice(least=least_tb * 1e12), choice(credit=1e12)) == taken


@pytest.mark.parametrize(("max_nodes", "taken"), [(40, "lasting"), (50, "burst")])
def test_a_cluster_has_no_more_nodes_than_it_may(make_context: MakeContext, max_nodes: int, taken: str) -> None:
    """Each of 40 nodes holds 20 / 40 = 0.5 TB, more than the 0.46 TB minimum of the other volumes."""
    context = make_context({"a": FAST_DISKS}, model="cloudsort")
    assert chosen(context, choice(least=0.46e12), choice(credit=1e13), max_nodes=max_nodes) == taken


def test_a_cluster_has_at_least_one_node(make_context: MakeContext) -> None:
    """40 GB at 500 MB/s take 80 s: not 0.04 nodes with 0.45 TB each but one with 0.02 TB, below the least of 0.1 TB."""
    context = make_context({"a": FAST_DISKS}, model="cloudsort", data_bytes=10**10)
    assert chosen(context, choice(least=1e11), choice(credit=1e12)) == "burst"


@pytest.mark.parametrize(("fixed_usd", "taken"), [(0.11, "burst"), (0.08, "lasting")])
def test_bought_throughput_counts(make_context: MakeContext, fixed_usd: float, taken: str) -> None:
    """0.45 TB: $0.45 an hour plus the throughput's price, against $0.54 on credit at $1.2 a terabyte."""
    context = make_context({"a": FAST_DISKS}, model="cloudsort")
    own, on_credit = choice(fixed_usd=fixed_usd), choice(byte_usd=1.2e-12, credit=1e12)
    assert chosen(context, own, on_credit) == taken
    assert chosen(context, choice(byte_usd=1.2e-12), choice(fixed_usd=fixed_usd, credit=1e12)) == (
        "lasting" if taken == "burst" else "burst"
    )


@pytest.mark.parametrize(("price", "taken"), [(0.4, "burst"), (0.3, "lasting")])
def test_the_nodes_price_is_spread_over_what_it_moves(make_context: MakeContext, price: float, taken: str) -> None:
    """Ten nodes with 2 TB each: (p + 2) / 500 MB/s against (p + 2.7) / 650 MB/s: equal at p = 0.333."""
    context = make_context({"a": FAST_DISKS}, model="cloudsort")
    fast = choice(rate=6.5e8, byte_usd=1.35e-12, credit=1e13)
    assert chosen(context, choice(), fast, price=price, nodes=10) == taken


def test_reading_and_writing_weigh_the_same(make_context: MakeContext) -> None:
    """A byte read and written takes 1/400 + 1/600 us of a node on credit: more than 2/500, and less than 2/470."""
    context = make_context({"a": FAST_DISKS}, model="cloudsort")
    uneven = replace(choice(credit=1e13), read=np.array([4e8]), write=np.array([6e8]))
    assert chosen(context, choice(), uneven, nodes=10) == "lasting"
    assert chosen(context, choice(rate=4.7e8), uneven, nodes=10) == "burst"


@pytest.mark.parametrize(("credit_tb", "taken"), [(4.0, "burst"), (3.99, "lasting")])
def test_credit_of_all_nodes_lasts_for_what_is_moved(make_context: MakeContext, credit_tb: float, taken: str) -> None:
    """40 TB over 10 nodes: 4 TB each."""
    context = make_context({"a": FAST_DISKS}, model="cloudsort")
    assert chosen(context, choice(least=9e12), choice(credit=credit_tb * 1e12), nodes=10) == taken
    assert chosen(context, choice(least=9e12), choice(credit=credit_tb * 1e10)) == taken  # of 1,000 nodes


def test_what_has_no_known_price_gives_way(make_context: MakeContext) -> None:
    context = make_context({"a": FAST_DISKS}, model="cloudsort")
    assert chosen(context, choice(byte_usd=np.nan), choice(credit=1e13), nodes=10) == "burst"


def test_every_byte_on_volumes_spends_credit_whether_read_or_written(make_context: MakeContext) -> None:
    """10 TB in, 5 TB out: 10 loaded, 10 read, 5 written, 5 validated, and 5 read once more for staging out. With 4 TB
    of credit a node this takes ceil(30 / 4) = 8 nodes, or ceil(35 / 4) = 9.
    """
    for output, moved_tb, nodes in ((None, 30, 8), ("s3://b/out", 35, 9)):
        context = make_context({"a": FAST_DISKS}, model="cloudsort", reduce_ratio=0.5, output=output)
        context = replace(context, volumes=choice(credit=4e12))
        assert on_volumes_bytes(context).tolist() == [moved_tb * 1e12] * len(context.layouts.type_row)
        assert fewest_nodes(context)[0] == nodes
        moved = [float(context.moved_on(VOLUMES, phase)[0]) for phase in context.model.phases]
        assert moved == [10e12, 5e12]

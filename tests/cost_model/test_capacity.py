"""How many nodes it takes: head room for skew and a lost node, memory for two passes. Sums by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planner.api import recommend
from planner.errors import BadInputError
from planner.schemas.plan import Candidate, Rejection

Make = Callable[..., str]
FAST = {"read": 1e9, "write": 1e9}


def best_of(path: str, **asked: Any) -> Candidate:
    best = recommend(**{"data": "10TB", "model": "indy", "catalogs": [path]} | asked).best
    assert best is not None
    return best


def rejection(path: str, **asked: Any) -> Rejection:
    (only,) = recommend(**{"data": "10TB", "model": "indy", "catalogs": [path]} | asked).rejected
    return only


def test_head_room_is_for_skew_or_for_a_lost_node_whichever_is_more(make_catalog: Make) -> None:
    # a node holds 4 TB less 5% of file system, 3.8 TB; indy keeps input, intermediate data and output: 3 x data at most
    path = make_catalog({"a": FAST})
    needed = best_of(path).needed_bytes
    peak = sum(needed.values()) * best_of(path).nodes / 3.8e12  # nodes filled to the brim
    # few nodes: what one of them held weighs more than 3%
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


def test_too_few_nodes_for_their_memory_are_told_so(make_catalog: Make) -> None:
    path = make_catalog({"a": FAST | {"memory_bytes": 2e9, "local_disk_bytes": 1e14}})
    lacking = rejection(path, nodes=4)
    # 10 TB / 1.4288 TB = 6.999
    assert lacking.reason == "does not hold the data within --nodes 4"
    assert lacking.detail == "needs 7 nodes for its memory to sort it in two passes"


def test_unknown_memory_is_a_missing_fact_but_not_for_the_papers(make_catalog: Make) -> None:
    path = make_catalog({"a": FAST | {"memory_bytes": ""}})
    assert rejection(path).reason == "memory unknown"
    assert best_of(path, paper=True).nodes > 0

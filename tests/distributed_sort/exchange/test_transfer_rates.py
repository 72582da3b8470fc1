"""A slow node is distinguished from its partners, and from noise."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from planner.distributed_sort.dataset.partition_reader import Slice
from planner.distributed_sort.exchange.parcels import CHECKS_IN_A_ROW, ENOUGH_TRANSFERS, Block, TransferRates

NODES = [f"node-{number}" for number in range(1, 6)]
NOW_S = 20.0


def begin(transfers: TransferRates, number: int, *, source: str, owner: str, size_bytes: int = 1000) -> Block:
    slice_ = Slice(number=number, partition=0, first=0, records=10)
    block = Block(slice=slice_, source=source, owner=owner, first=0, end=1, size_bytes=size_bytes)
    transfers.record_start((block,), at_s=10.0)
    return block


def transfer(transfers: TransferRates, number: int, *, source: str, owner: str, seconds: float) -> None:
    transfers.record_end(
        (begin(transfers, number, source=source, owner=owner),), arrived_blocks={number}, at_s=10.0 + seconds
    )


def transfers_of(rates: dict[str, float], *, rounds: int = ENOUGH_TRANSFERS) -> TransferRates:
    """Transfers between all pairs of nodes, each as fast as the slower end."""
    transfers = TransferRates()
    for turn in range(rounds):
        for number, (source, owner) in enumerate(permutations(rates, 2), start=100 * turn):
            transfer(transfers, number, source=source, owner=owner, seconds=1000 / min(rates[source], rates[owner]))
    return transfers


def test_a_tenth_of_the_rate_is_seen() -> None:
    transfers = transfers_of({name: 10.0 if name == "node-3" else 100.0 for name in NODES})
    checks = [transfers.slow_nodes(NODES, at_s=NOW_S) for _ in range(CHECKS_IN_A_ROW)]
    assert checks[:-1] == [[]] * (CHECKS_IN_A_ROW - 1), "it might pass"
    (drop,) = checks[-1]
    assert drop.node == "node-3"
    assert drop.reason == "at 10% of the median"


@given(st.lists(st.floats(50, 100), min_size=5, max_size=5))
def test_what_is_usual_is_not(rates: list[float]) -> None:
    transfers = transfers_of(dict(zip(NODES, rates, strict=True)))
    assert not any(transfers.slow_nodes(NODES, at_s=NOW_S) for _ in range(2 * CHECKS_IN_A_ROW))


def test_nobody_is_judged_too_early_or_by_too_few() -> None:
    transfers = TransferRates()
    transfer(transfers, 0, source="node-3", owner="node-1", seconds=100.0)
    assert transfers.slow_nodes(NODES, at_s=NOW_S) == []
    slow = {name: 10.0 if name == "node-3" else 100.0 for name in NODES}
    transfers = transfers_of(slow)
    assert not any(transfers.slow_nodes(NODES[:3], at_s=NOW_S) for _ in range(2 * CHECKS_IN_A_ROW))


def test_what_stays_on_a_node_says_nothing() -> None:
    transfers = TransferRates()
    for number in range(100):
        name = NODES[number % len(NODES)]
        transfer(transfers, number, source=name, owner=name, seconds=100.0 if name == "node-1" else 1.0)
    assert not any(transfers.slow_nodes(NODES, at_s=NOW_S) for _ in range(2 * CHECKS_IN_A_ROW))


def test_who_has_much_left_with_a_slow_node_is_not_slow_itself() -> None:
    rates = {name: 10.0 if name == "node-3" else 100.0 for name in NODES}
    transfers = transfers_of(rates)
    judged = [name for name in NODES if name != "node-3"]
    for number in range(1000, 1000 + ENOUGH_TRANSFERS):
        for source, owner in (("node-3", "node-4"), ("node-4", "node-3")):
            transfer(transfers, number, source=source, owner=owner, seconds=100.0)
    assert not any(transfers.slow_nodes(judged, at_s=NOW_S) for _ in range(2 * CHECKS_IN_A_ROW))


def test_who_has_not_ended_anything_is_seen_by_what_is_under_way() -> None:
    transfers = transfers_of({name: 1000.0 for name in NODES if name != "node-3"})
    others = [name for name in NODES if name != "node-3"]
    for number, other in enumerate(2 * others, start=1000):
        begin(transfers, number, source="node-3", owner=other)
    checks = [transfers.slow_nodes(NODES, at_s=NOW_S) for _ in range(CHECKS_IN_A_ROW)]
    assert [drop.node for drop in checks[-1]] == ["node-3"]
    assert not any(transfers.slow_nodes(NODES, at_s=10.5) for _ in range(2 * CHECKS_IN_A_ROW)), (
        "half a second says nothing yet"
    )


def test_however_much_waits_for_a_slow_node_the_others_are_not_slow() -> None:
    transfers = transfers_of({name: 1000.0 for name in NODES if name != "node-3"})
    for number, other in enumerate(20 * [name for name in NODES if name != "node-3"], start=1000):
        begin(transfers, number, source="node-3", owner=other)
    for _ in range(CHECKS_IN_A_ROW):
        slow = transfers.slow_nodes(NODES, at_s=NOW_S)
    assert [drop.node for drop in slow] == ["node-3"]


def test_what_was_lost_is_no_longer_under_way() -> None:
    transfers = transfers_of(dict.fromkeys(NODES, 1000.0))
    for number in range(1000, 1030):
        transfers.record_end((begin(transfers, number, source="node-3", owner="node-1"),), arrived_blocks=(), at_s=11.0)
    assert not any(transfers.slow_nodes(NODES, at_s=NOW_S) for _ in range(2 * CHECKS_IN_A_ROW))


def test_empty_blocks_in_flight_say_nothing() -> None:
    transfers = transfers_of(dict.fromkeys(NODES, 1000.0))
    for number, (source, owner) in enumerate(20 * list(permutations(NODES, 2)), start=1000):
        begin(transfers, number, source=source, owner=owner, size_bytes=0)
    assert not any(transfers.slow_nodes(NODES, at_s=NOW_S) for _ in range(2 * CHECKS_IN_A_ROW))


def parcels_that_wait(transfers: TransferRates) -> None:
    """Parcels under way, each with a block from the slow node and one from another node."""
    others = [name for name in NODES if name != "node-3"]
    for number, (source, owner) in enumerate(5 * list(permutations(others, 2)), start=500):
        slices = [Slice(number=2 * number + place, partition=0, first=0, records=10) for place in range(2)]
        transfers.record_start(
            tuple(
                Block(slice=slice_, source=name, owner=owner, first=0, end=1, size_bytes=1000)
                for slice_, name in zip(slices, (source, "node-3"), strict=True)
            ),
            at_s=10.0,
        )


def test_who_shares_parcels_with_a_slow_node_is_not_slow_itself() -> None:
    transfers = transfers_of(dict.fromkeys(NODES, 1000.0))
    parcels_that_wait(transfers)
    transfers.excuse(lambda blocks: [block.source != "node-3" for block in blocks], at_s=NOW_S)
    checks = [transfers.slow_nodes(NODES, at_s=NOW_S + 100) for _ in range(CHECKS_IN_A_ROW)]
    assert [drop.node for drop in checks[-1]] == ["node-3"]


def test_who_has_all_but_does_not_store_it_is_slow() -> None:
    transfers = transfers_of(dict.fromkeys(NODES, 1000.0))
    for number, other in enumerate(16 * [name for name in NODES if name != "node-3"], start=1000):
        begin(transfers, number, source=other, owner="node-3")
    transfers.excuse(lambda blocks: [True for _ in blocks], at_s=NOW_S)
    checks = [transfers.slow_nodes(NODES, at_s=NOW_S + 100) for _ in range(CHECKS_IN_A_ROW)]
    assert [drop.node for drop in checks[-1]] == ["node-3"]


def test_what_was_excused_counts_neither_when_it_ends() -> None:
    transfers = transfers_of(dict.fromkeys(NODES, 1000.0))
    waiting = (
        begin(transfers, 1000, source="node-1", owner="node-2"),
        begin(transfers, 1001, source="node-3", owner="node-2"),
    )
    transfers.record_start(waiting, at_s=10.0)
    transfers.excuse(lambda blocks: [block is waiting[0] for block in blocks], at_s=NOW_S)
    transfers.record_end(waiting, arrived_blocks={1000}, at_s=10_000.0)
    assert not any(transfers.slow_nodes(NODES, at_s=NOW_S) for _ in range(2 * CHECKS_IN_A_ROW))


def test_of_long_parcels_a_few_blocks_are_noted_and_in_time_those_of_all_sources() -> None:
    names = [f"node-{number}" for number in range(40)]
    transfers = TransferRates()
    for number in range(200):
        owner = names[number % 40]
        sources = names if owner == "node-7" else [name for name in names if name != "node-7"]
        slices = [Slice(number=number * 40 + at, partition=0, first=0, records=1) for at in range(len(sources))]
        parcel = tuple(Block(slice_, name, owner, 0, 1, 1000) for slice_, name in zip(slices, sources, strict=True))
        transfers.record_start(parcel, at_s=0.0)
        arrived_blocks = {slice_.number for slice_ in slices}
        transfers.record_end(parcel, arrived_blocks=arrived_blocks, at_s=10.0 if owner == "node-7" else 1.0)
    drops = [transfers.slow_nodes(names, at_s=0.0) for _ in range(CHECKS_IN_A_ROW)]
    assert [drop.node for drop in drops[-1]] == ["node-7"]

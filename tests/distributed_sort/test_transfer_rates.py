"""A slow node is told from its partners, and from noise."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from planner.distributed_sort.partition_reader import Slice
from planner.distributed_sort.send_queue import Block
from planner.distributed_sort.transfer_rates import ENOUGH_TRANSFERS, LOOKS, Pace

NODES = [f"node-{number}" for number in range(1, 6)]
NOW_S = 20.0


def begin(pace: Pace, number: int, *, source: str, owner: str) -> Block:
    slice_ = Slice(number=number, partition=0, first=0, records=10)
    block = Block(slice=slice_, source=source, owner=owner, first=0, end=1, size_bytes=1000)
    pace.began((block,), at_s=10.0)
    return block


def transfer(pace: Pace, number: int, *, source: str, owner: str, seconds: float) -> None:
    pace.ended(begin(pace, number, source=source, owner=owner), size_bytes=1000, at_s=10.0 + seconds)


def pace_of(rates: dict[str, float], *, rounds: int = ENOUGH_TRANSFERS) -> Pace:
    """Transfers between all pairs of nodes, each as fast as the slower end."""
    pace = Pace()
    for turn in range(rounds):
        for number, (source, owner) in enumerate(permutations(rates, 2), start=100 * turn):
            transfer(pace, number, source=source, owner=owner, seconds=1000 / min(rates[source], rates[owner]))
    return pace


def test_a_tenth_of_the_rate_is_seen() -> None:
    pace = pace_of({name: 10.0 if name == "node-3" else 100.0 for name in NODES})
    looks = [pace.slow(NODES, at_s=NOW_S) for _ in range(LOOKS)]
    assert looks[:-1] == [[]] * (LOOKS - 1), "it might pass"
    (drop,) = looks[-1]
    assert drop.node == "node-3"
    assert drop.reason == "at 10% of the median"


@given(st.lists(st.floats(50, 100), min_size=5, max_size=5))
def test_what_is_usual_is_not(rates: list[float]) -> None:
    pace = pace_of(dict(zip(NODES, rates, strict=True)))
    assert not any(pace.slow(NODES, at_s=NOW_S) for _ in range(2 * LOOKS))


def test_nobody_is_judged_too_early_or_by_too_few() -> None:
    pace = Pace()
    transfer(pace, 0, source="node-3", owner="node-1", seconds=100.0)
    assert pace.slow(NODES, at_s=NOW_S) == []
    slow = {name: 10.0 if name == "node-3" else 100.0 for name in NODES}
    pace = pace_of(slow)
    assert not any(pace.slow(NODES[:3], at_s=NOW_S) for _ in range(2 * LOOKS))


def test_what_stays_on_a_node_says_nothing() -> None:
    pace = Pace()
    for number in range(100):
        name = NODES[number % len(NODES)]
        transfer(pace, number, source=name, owner=name, seconds=100.0 if name == "node-1" else 1.0)
    assert not any(pace.slow(NODES, at_s=NOW_S) for _ in range(2 * LOOKS))


def test_who_has_much_left_with_a_slow_node_is_not_slow_itself() -> None:
    rates = {name: 10.0 if name == "node-3" else 100.0 for name in NODES}
    pace = pace_of(rates)
    judged = [name for name in NODES if name != "node-3"]
    for number in range(1000, 1000 + ENOUGH_TRANSFERS):
        for source, owner in (("node-3", "node-4"), ("node-4", "node-3")):
            transfer(pace, number, source=source, owner=owner, seconds=100.0)
    assert not any(pace.slow(judged, at_s=NOW_S) for _ in range(2 * LOOKS))


def test_who_has_not_ended_anything_is_seen_by_what_is_under_way() -> None:
    pace = pace_of({name: 1000.0 for name in NODES if name != "node-3"})
    others = [name for name in NODES if name != "node-3"]
    for number, other in enumerate(2 * others, start=1000):
        begin(pace, number, source="node-3", owner=other)
    looks = [pace.slow(NODES, at_s=NOW_S) for _ in range(LOOKS)]
    assert [drop.node for drop in looks[-1]] == ["node-3"]
    assert not any(pace.slow(NODES, at_s=10.5) for _ in range(2 * LOOKS)), "half a second says nothing yet"


def test_however_much_waits_for_a_slow_node_the_others_are_not_slow() -> None:
    pace = pace_of({name: 1000.0 for name in NODES if name != "node-3"})
    for number, other in enumerate(20 * [name for name in NODES if name != "node-3"], start=1000):
        begin(pace, number, source="node-3", owner=other)
    for _ in range(LOOKS):
        found = pace.slow(NODES, at_s=NOW_S)
    assert [drop.node for drop in found] == ["node-3"]


def test_what_was_lost_is_no_longer_under_way() -> None:
    pace = pace_of(dict.fromkeys(NODES, 1000.0))
    for number in range(1000, 1030):
        pace.ended(begin(pace, number, source="node-3", owner="node-1"), size_bytes=0, at_s=11.0)
    assert not any(pace.slow(NODES, at_s=NOW_S) for _ in range(2 * LOOKS))


def parcels_that_wait(pace: Pace) -> None:
    """Parcels under way, each of a block from the slow node and one from another node."""
    others = [name for name in NODES if name != "node-3"]
    for number, (source, owner) in enumerate(5 * list(permutations(others, 2)), start=500):
        slices = [Slice(number=2 * number + place, partition=0, first=0, records=10) for place in range(2)]
        pace.began(
            tuple(
                Block(slice=slice_, source=name, owner=owner, first=0, end=1, size_bytes=1000)
                for slice_, name in zip(slices, (source, "node-3"), strict=True)
            ),
            at_s=10.0,
        )


def test_who_shares_parcels_with_a_slow_node_is_not_slow_itself() -> None:
    pace = pace_of(dict.fromkeys(NODES, 1000.0))
    parcels_that_wait(pace)
    pace.excuse(lambda blocks: [block.source != "node-3" for block in blocks], at_s=NOW_S)
    looks = [pace.slow(NODES, at_s=NOW_S + 100) for _ in range(LOOKS)]
    assert [drop.node for drop in looks[-1]] == ["node-3"]


def test_who_has_all_but_does_not_store_it_is_slow() -> None:
    pace = pace_of(dict.fromkeys(NODES, 1000.0))
    for number, other in enumerate(16 * [name for name in NODES if name != "node-3"], start=1000):
        begin(pace, number, source=other, owner="node-3")
    pace.excuse(lambda blocks: [True for _ in blocks], at_s=NOW_S)
    looks = [pace.slow(NODES, at_s=NOW_S + 100) for _ in range(LOOKS)]
    assert [drop.node for drop in looks[-1]] == ["node-3"]


def test_what_was_excused_counts_neither_when_it_ends() -> None:
    pace = pace_of(dict.fromkeys(NODES, 1000.0))
    waiting = begin(pace, 1000, source="node-1", owner="node-2"), begin(pace, 1001, source="node-3", owner="node-2")
    pace.began(waiting, at_s=10.0)
    pace.excuse(lambda blocks: [block is waiting[0] for block in blocks], at_s=NOW_S)
    pace.ended(waiting[0], size_bytes=1000, at_s=10_000.0)
    assert not any(pace.slow(NODES, at_s=NOW_S) for _ in range(2 * LOOKS))

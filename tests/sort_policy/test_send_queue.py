"""Every block gets its turn, in parcels no larger than necessary, and no link is idle while one could use it."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from planner.distributed_sort.dataset.partition_reader import Slice
from planner.distributed_sort.exchange.parcels import Block, Parcel
from planner.sort_policy.send_queue import FEWEST_PARCELS, MOST_PARCELS, SendQueue

NODES = ("a", "b", "c")
FULL = 100
ROOMY = 100 * FULL


def block(number: int, source: str, owner: str, *, size_bytes: int = FULL, first: int = 0) -> Block:
    slice_ = Slice(number=number, partition=0, first=0, records=1)
    return Block(slice=slice_, source=source, owner=owner, first=first, end=first + 2, size_bytes=size_bytes)


def queue_of(*blocks: Block, store_bytes: int = ROOMY) -> SendQueue:
    queue = SendQueue(store_bytes=store_bytes, parcel_bytes=FULL)
    for block_ in blocks:
        queue.add(block_)
    return queue


def numbers(parcels: list[Parcel]) -> list[list[int]]:
    return [[block_.slice.number for block_ in parcel] for parcel in parcels]


def test_sources_take_turns() -> None:
    queue = queue_of(*(block(number, source, "c") for number, source in enumerate("aaabbb")))
    assert numbers(list(queue.next())) == [[0], [3], [1], [4], [2], [5]]
    queue = queue_of(*(block(number, source, "c", size_bytes=FULL // 4) for number, source in enumerate("aaabbb")))
    assert numbers(list(queue.next())) == [[0, 3, 1, 4], [2, 5]]


def test_a_source_that_lags_behind_comes_first() -> None:
    queue = queue_of(*(block(number, source, "c") for number, source in enumerate("aab")))
    for parcel in list(queue.next()):
        queue.release(parcel)
    for number, source in enumerate("ab"):
        queue.add(block(number, source, "c"))
    assert next(queue.next())[0].source == "b"


def test_what_fills_no_parcel_goes_only_where_little_is_in_flight() -> None:
    queue, small = queue_of(), FULL // 10
    for number in range(MOST_PARCELS):
        queue.add(block(number, "a", "b", size_bytes=small))
        assert len(list(queue.next())) == 1
    queue.add(block(100, "a", "b", size_bytes=small))
    assert list(queue.next()) == []
    for number in range(101, 110):
        queue.add(block(number, "a", "b", size_bytes=small))
    assert numbers(list(queue.next())) == [list(range(100, 110))]


def test_a_small_parcel_waits_while_more_is_to_come_over_fast_links() -> None:
    queue = SendQueue(store_bytes=ROOMY, parcel_bytes=FULL, least_bytes=FULL // 2)
    queue.add(block(0, "a", "b", size_bytes=FULL // 4))
    assert list(queue.next(expects_more=True)) == []
    queue.add(block(1, "a", "b", size_bytes=FULL // 4))
    assert numbers(list(queue.next(expects_more=True))) == [[0, 1]]
    queue.add(block(2, "a", "b", size_bytes=1))
    assert numbers(list(queue.next())) == [[2]]


def test_no_more_is_in_flight_than_the_store_has_room_for() -> None:
    queue = queue_of(*(block(number, "a", "b") for number in range(20)), store_bytes=5 * FULL)
    assert len(list(queue.next())) == FEWEST_PARCELS
    queue = queue_of(*(block(number, "a", "b") for number in range(20)), store_bytes=15 * FULL)
    assert len(list(queue.next())) == 6


def test_a_parcel_is_of_the_same_partitions() -> None:
    queue = queue_of(*(block(number, "a", "b", size_bytes=1, first=number % 2) for number in range(6)))
    assert numbers(list(queue.next())) == [[0, 2, 4], [1, 3, 5]]


def test_blocks_for_and_from_a_lost_node_leave() -> None:
    blocks = [block(0, "a", "b"), block(1, "a", "c"), block(2, "b", "c")]
    queue = queue_of(*blocks)
    assert queue.remove_lost(frozenset({"b"})) == [blocks[0], blocks[2]]
    assert list(queue.next()) == [(blocks[1],)]


@given(
    st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.integers(1, FULL)), max_size=60), st.randoms()
)
def test_all_arrive_and_no_link_carries_too_many(sent: list[tuple[str, str, int]], random: st.DataObject) -> None:
    blocks = [block(number, source, owner, size_bytes=size) for number, (source, owner, size) in enumerate(sent)]
    queue, in_progress, arrived = queue_of(*blocks), list[Parcel](), list[int]()
    while began := [*in_progress, *queue.next()]:
        assert max(Counter(parcel[0].owner for parcel in began).values()) <= ROOMY * 2 // 5 // (FULL // 2)
        for parcel in began:
            assert {block_.owner for block_ in parcel} == {parcel[0].owner}
            assert sum(block_.size_bytes for block_ in parcel) <= FULL
        done = began.pop(random.randrange(len(began)))  # type: ignore[attr-defined]
        queue.release(done)
        arrived += [block_.slice.number for block_ in done]
        in_progress = began
    assert sorted(arrived) == list(range(len(sent)))

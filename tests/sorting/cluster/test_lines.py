"""Every block gets its turn, each link carries a few at a time, and none is idle while a block could use it."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from planner.sorting.cluster.lines import BLOCKS_IN_FLIGHT, BYTES_IN_FLIGHT, Block, Lines
from planner.sorting.cluster.sources import Slice

NODES = ("a", "b", "c")
ROOMY = 10 * BYTES_IN_FLIGHT


def block(number: int, source: str, owner: str, *, size_bytes: int = BYTES_IN_FLIGHT) -> Block:
    slice_ = Slice(number=number, partition=0, first=0, records=1)
    return Block(slice=slice_, source=source, owner=owner, first=0, size_bytes=size_bytes)


def test_sources_take_turns() -> None:
    lines = Lines(store_bytes=ROOMY)
    for number, source in enumerate("aaabbb"):
        lines.join(block(number, source, "c"))
    assert [each.slice.number for each in lines.next()] == [0, 3, 1]
    assert list(lines.next()) == []


def test_a_source_that_lags_behind_comes_first() -> None:
    lines = Lines(store_bytes=ROOMY)
    for number, source in enumerate("aab"):
        lines.join(block(number, source, "c"))
    for each in list(lines.next()):
        lines.done(each)
    for number, source in enumerate("ab"):
        lines.join(block(number, source, "c"))
    assert next(lines.next()).source == "b"


def test_small_blocks_go_together() -> None:
    lines = Lines(store_bytes=ROOMY)
    for number in range(20):
        lines.join(block(number, "a", "b", size_bytes=BYTES_IN_FLIGHT // 10))
    assert len(list(lines.next())) == 10


def test_no_more_is_in_flight_than_the_store_has_room_for() -> None:
    lines = Lines(store_bytes=100_000)
    for number in range(20):
        lines.join(block(number, "a", "b", size_bytes=10_000))
    assert len(list(lines.next())) == 4


def test_blocks_for_and_from_a_lost_node_leave() -> None:
    lines = Lines(store_bytes=ROOMY)
    blocks = [block(0, "a", "b"), block(1, "a", "c"), block(2, "b", "c")]
    for each in blocks:
        lines.join(each)
    assert lines.leave(frozenset({"b"})) == [blocks[0], blocks[2]]
    assert list(lines.next()) == [blocks[1]]


@given(st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=60), st.randoms())
def test_all_arrive_and_no_link_carries_too_many(pairs: list[tuple[str, str]], random: st.DataObject) -> None:
    lines, under_way, arrived = Lines(store_bytes=ROOMY), list[Block](), set[int]()
    for number, (source, owner) in enumerate(pairs):
        lines.join(block(number, source, owner))
    while began := [*under_way, *lines.next()]:
        assert max(Counter(each.owner for each in began).values(), default=0) <= BLOCKS_IN_FLIGHT
        done = began.pop(random.randrange(len(began)))  # type: ignore[attr-defined]
        lines.done(done)
        arrived.add(done.slice.number)
        under_way = began
    assert arrived == set(range(len(pairs)))

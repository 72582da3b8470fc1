"""A segment gets another slice only when nobody can be reading it."""

from __future__ import annotations

from planner.distributed_sort.exchange.segments import SegmentNames


def test_a_name_is_given_again_after_all_was_stored() -> None:
    names = SegmentNames()
    first, second = names.take("a"), names.take("a")
    assert first != second
    names.give_back("a", first, is_stored=True)
    assert names.take("b") not in (first, second), "of another node"
    assert names.take("a") == first
    assert names.retired("a") == ()


def test_what_was_lost_is_retired_once() -> None:
    names = SegmentNames()
    name = names.take("a")
    names.give_back("a", name, is_stored=False)
    assert names.take("a") != name
    assert (names.retired("b"), names.retired("a"), names.retired("a")) == ((), (name,), ())


def test_orderers_do_not_share_names() -> None:
    assert SegmentNames().take("a") != SegmentNames().take("a")

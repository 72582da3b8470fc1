"""Partitions go to nodes with enough room and speed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.sort_policy.placement import copy_target, fits_in_cache, reassign_partitions, share_out, share_within_space


def test_nodes_get_shares_as_they_are_fast() -> None:
    owners = share_out([1 / 64] * 64, {"a": 1.0, "b": 2.0, "c": 1.0})
    assert owners == sorted(owners), "consecutive partitions stay together"
    assert [owners.count(name) for name in "abc"] == [16, 32, 16]


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=50), st.integers(1, 6))
def test_every_partition_has_a_node_and_none_gets_much_too_much(weights: list[float], nodes: int) -> None:
    names = [f"n{number}" for number in range(nodes)]
    owners = share_out(weights, dict.fromkeys(names, 1.0))
    assert len(owners) == len(weights)
    for name in names:
        load = sum(weight for weight, owner in zip(weights, owners, strict=True) if owner == name)
        assert load <= sum(weights) / nodes + 2 * max(weights)


def test_a_node_without_room_gets_less_and_the_others_what_is_left() -> None:
    rates = {"a": 1.0, "b": 1.0, "c": 2.0}
    assert share_within_space(rates, dict.fromkeys("abc", 100.0), needed_bytes=40.0) == {
        "a": 10.0,
        "b": 10.0,
        "c": 20.0,
    }
    assert share_within_space(rates, {"a": 1.0, "b": 50.0, "c": 50.0}, needed_bytes=40.0) == {
        "a": 1.0,
        "b": 13.0,
        "c": 26.0,
    }
    assert share_within_space(rates, {"a": 0.0, "b": 50.0, "c": 10.0}, needed_bytes=40.0) == {
        "a": 0.0,
        "b": 30.0,
        "c": 10.0,
    }


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0, 100)), min_size=1, max_size=20), st.floats(0.01, 1))
def test_shares_fit_and_add_up(nodes: list[tuple[float, float]], share: float) -> None:
    rates = {f"n{at}": rate for at, (rate, _) in enumerate(nodes)}
    room = {f"n{at}": room for at, (_, room) in enumerate(nodes)}
    needed = share * sum(room.values())
    shares = share_within_space(rates, room, needed_bytes=needed)
    assert shares.keys() == rates.keys()
    assert abs(sum(shares.values()) - needed) <= 1e-6 * (1 + needed)
    assert all(shares[name] <= room[name] * (1 + 1e-9) for name in shares)


def test_a_copy_goes_where_the_fewest_are_in_flight_then_where_the_fewest_went() -> None:
    assert copy_target("abc", in_flight={"a": 1, "b": 0}, sent={"b": 5, "c": 4}) == "c"
    assert copy_target("abc", in_flight={"b": 1, "c": 1}, sent={"a": 9}) == "a"


def test_those_that_are_left_get_equal_parts() -> None:
    assert reassign_partitions(6, ["a", "b", "c"]) == ["a", "a", "b", "b", "c", "c"]
    assert reassign_partitions(0, ["a"]) == []


def test_intermediate_files_stay_in_memory_where_a_twelfth_of_it_holds_them() -> None:
    assert fits_in_cache(node_bytes=100, available_bytes=1200)
    assert not fits_in_cache(node_bytes=101, available_bytes=1200)

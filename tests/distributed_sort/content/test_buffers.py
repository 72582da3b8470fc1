"""A role's array is the same memory each time, and grows when it must."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from planner.distributed_sort.content.base import reused_array


def test_a_role_keeps_its_memory_and_roles_do_not_share_it() -> None:
    first, other = reused_array("a", 10), reused_array("b", 10)
    first[:] = 7
    other[:] = 1
    again = reused_array("a", 5)
    assert again.tolist() == [7] * 5
    assert again.ctypes.data == first.ctypes.data


def test_threads_have_memory_of_their_own() -> None:
    mine = reused_array("a", 10)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: reused_array("a", 10).ctypes.data).result() != mine.ctypes.data


def test_a_larger_array_has_room_to_grow() -> None:
    size = (64 << 20) + 8
    large = reused_array("large", size)
    assert len(large) == size
    assert reused_array("large", size + size // 16).ctypes.data == large.ctypes.data

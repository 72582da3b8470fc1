"""Groups of nodes are about equal, and their coordinators share what a node's store holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.sort_policy.coordinators import coordinator_sizes, groups
from planner.sort_policy.send_queue import FEWEST_PARCELS, STORE_SHARE
from planner.sort_policy.sizing import Sizes


@given(count=st.integers(1, 2000), most=st.integers(1, 40))
def test_groups_are_of_about_equal_size(count: int, most: int) -> None:
    names = [f"node-{number}" for number in range(count)]
    divided = groups(names, most=most)
    assert [name for group in divided for name in group] == names
    sizes = {len(group) for group in divided}
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1


def test_parcels_get_smaller_where_a_coordinator_has_a_part_of_the_store() -> None:
    """Of 600 bytes 2/5 are for what is in flight, 80 for each of three parcels; with two coordinators 40."""
    sizes = Sizes(slice_records=1, slices=8, parcel_bytes=70, least_parcel_bytes=60, partitions=8, sort_bytes=1)
    assert coordinator_sizes(sizes, store_bytes=600) == sizes
    half = coordinator_sizes(sizes, store_bytes=300)
    assert (half.parcel_bytes, half.least_parcel_bytes) == (40, 40)
    assert half.parcel_bytes * FEWEST_PARCELS <= 300 * STORE_SHARE

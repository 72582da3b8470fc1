"""Record of done and missing work, after losses and after crashes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.distributed_sort.content.content import split
from planner.distributed_sort.dataset.dataset import Copy, Layout, Partition
from planner.distributed_sort.job.ledger import EarlierJob, Journal, Ledger
from planner.distributed_sort.node_files.node_environment import JobFiles

FILES = JobFiles(job="j", output="out")
IDENTITY = {"options": {"copies": 1}, "files": {":/in": "5 bytes"}}


def output(*nodes: str) -> tuple[Partition, bytes]:
    return Partition(records=3, copies=tuple(Copy(uri="/out", node=node) for node in nodes)), b"summary"


def full(owner: list[str]) -> Ledger:
    ledger = Ledger(slices=2, owner=owner)
    for number in range(2):
        for _, first, end in ledger.missing_ranges(number):
            ledger.record({number: end - first}, first=first, end=end)
    return ledger


def test_all_is_missing_at_first_by_owner() -> None:
    ledger = Ledger(slices=2, owner=["a", "a", "b", "a"])
    assert ledger.missing_ranges(0) == [("a", 0, 2), ("b", 2, 3), ("a", 3, 4)]
    assert ledger.missing_slices() == [0, 1]


def test_what_is_recorded_is_not_missing() -> None:
    ledger = full(["a", "b"])
    assert ledger.missing_slices() == []
    assert not ledger.is_missing(0)
    assert ledger.stored_records == 4, "two slices, one record in each of two partitions"


def test_what_is_recorded_twice_counts_once_and_what_is_lost_no_more() -> None:
    ledger = full(["a", "b", "b"])
    assert ledger.stored_records == 6
    ledger.record({1: 2}, first=1, end=3)
    assert ledger.stored_records == 6
    ledger.forget_nodes(frozenset({"b"}), ["a"])
    assert ledger.stored_records == 2, "what a had"
    ledger.record({1: 2}, first=1, end=3)
    assert ledger.stored_records == 4


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11))
)
def test_missing_ranges_are_maximal_and_of_one_owner(owner: list[str], stored: set[int], done: set[int]) -> None:
    ledger = Ledger(slices=1, owner=owner)
    for number in stored & set(range(len(owner))):
        ledger.record({0: 5}, first=number, end=number + 1)
    ledger.done = {number: output("a") for number in done & set(range(len(owner)))}
    missing = [number for number in range(len(owner)) if number not in stored | done]
    ranges = ledger.missing_ranges(0)
    assert [number for _, first, end in ranges for number in range(first, end)] == missing
    assert all({name} == set(owner[first:end]) for name, first, end in ranges)
    assert all(a[2] < b[1] or a[0] != b[0] for a, b in pairwise(ranges))


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 11), st.integers(1, 12)), max_size=30),
    st.sets(st.integers(0, 19)),
    st.integers(0, 30),
)
def test_parts_tell_the_whole_what_they_stored(
    owner: list[str], stored: list[tuple[int, int, int]], own: set[int], told: int
) -> None:
    """A part starts from what is already stored, and reports what it stored since in two steps."""
    alone, whole = Ledger(slices=20, owner=owner), Ledger(slices=20, owner=owner)
    slices = {True: own, False: set(range(20)) - own}
    parts = {which: Ledger(slices=20, owner=owner, own=numbers) for which, numbers in slices.items()}
    for turn, (number, first, length) in enumerate(stored):
        end = min(len(owner), first + length)
        if turn == told:
            for which, part in parts.items():
                whole.merge(part.take_changes())
                parts[which] = Ledger(slices=20, owner=owner, own=slices[which])
                parts[which].merge(whole.rows_of(np.array(sorted(slices[which]), np.int64)))
        if first < end:
            for ledger in (alone, parts[number in own]):
                ledger.record({number: end - first}, first=first, end=end)
    for part in parts.values():
        whole.merge(part.take_changes())
        whole.merge(part.take_changes())
    assert whole.stored_records == alone.stored_records
    assert [whole.missing_ranges(number) for number in range(20)] == [alone.missing_ranges(n) for n in range(20)]
    missing = {True: parts[True].missing_slices(), False: parts[False].missing_slices()}
    assert sorted(missing[True] + missing[False]) == alone.missing_slices()
    assert set(missing[True]) <= own


@given(
    st.lists(st.sampled_from("abc"), min_size=2, max_size=12),
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 11), st.integers(1, 12)), max_size=30),
    st.sampled_from("abc"),
)
def test_bits_say_what_a_table_of_slices_and_partitions_would(
    owner: list[str], stored: list[tuple[int, int, int]], lost: str
) -> None:
    ledger, table = Ledger(slices=20, owner=list(owner)), [[False] * len(owner) for _ in range(20)]
    for number, first, length in stored:
        end = min(len(owner), first + length)
        if first < end:
            ledger.record({number: end - first}, first=first, end=end)
            table[number][first:end] = [True] * (end - first)
    assert ledger.stored_records == sum(map(sum, table))
    ledger.forget_nodes(frozenset({lost}), ["d"])
    for row in table:
        row[:] = [is_stored and name != lost for is_stored, name in zip(row, owner, strict=True)]
    assert ledger.stored_records == sum(map(sum, table))
    assert ledger.missing_slices() == [number for number, row in enumerate(table) if not all(row)]
    for number, row in enumerate(table):
        assert ledger.is_missing(number) == (not all(row))
        ranges = ledger.missing_ranges(number)
        missing = [at for at, is_stored in enumerate(row) if not is_stored]
        assert [at for _, first, end in ranges for at in range(first, end)] == missing


def test_a_petabyte_on_a_thousand_nodes_fits_a_gigabyte() -> None:
    """10^6 slices of 1 GB in bits, for 1,000 groups: 10^9 / 8 bytes; each node has 343 partitions."""
    ledger = Ledger(slices=10**6, owner=[f"node-{number // 343:04d}" for number in range(343_000)])
    assert 125_000_000 <= ledger.size_bytes < 126_000_000


def test_shares_are_of_an_owners_own_blocks() -> None:
    ledger = Ledger(slices=2, owner=["a", "a", "b"])
    ledger.record({1: 7}, first=0, end=1)
    assert (ledger.share_missing("a"), ledger.share_missing("b"), ledger.share_missing("c")) == (0.75, 1.0, 0.0)
    assert Ledger(slices=0, owner=["a"]).share_missing("a") == 0.0


def test_a_lost_nodes_partitions_are_missing_again_and_shared_out() -> None:
    ledger = full(["a", "b", "b", "c"])
    ledger.forget_nodes(frozenset({"b"}), ["a", "c"])
    assert ledger.owner == ["a", "a", "c", "c"]
    assert ledger.missing_ranges(1) == [("a", 1, 2), ("c", 2, 3)]


def test_finished_partitions_need_nothing_as_long_as_a_copy_is_left() -> None:
    ledger = full(["a", "b"])
    ledger.done = {0: output("a", "b"), 1: output("b")}
    ledger.forget_nodes(frozenset({"b"}), ["a"])
    assert [copy.node for copy in ledger.done[0][0].copies] == ["a"]
    assert list(ledger.done) == [0]
    assert ledger.missing_ranges(0) == [("a", 1, 2)]


def test_a_journal_returns_what_was_noted_even_after_a_torn_line(tmp_path: Path) -> None:
    splitting = split(bytes(range(200)), partitions=4, layout=Layout())
    journal = Journal(tmp_path / "journal")
    journal.open_job(FILES, IDENTITY)
    journal.begin(slice_records=7, splitting=splitting, owner=["a", "b"])
    journal.record_finished(1, *output("a"))
    journal.record_owners(["a", "a"])
    with journal.path.open("a") as file:
        file.write('{"done": 2, "par')
    later = Journal(journal.path)
    earlier = later.read()
    assert earlier is not None and earlier.progress is not None
    assert (earlier.files, earlier.identity) == (FILES, IDENTITY)
    slice_records, read, owner, done = earlier.progress
    assert (slice_records, owner, done) == (7, ["a", "a"], {1: output("a")})
    assert (read.pieces, read.weights) == (splitting.pieces, splitting.weights)
    assert read.splitters.serialize() == splitting.splitters.serialize() != b""
    later.record_finished(0, *output("b"))
    again = Journal(journal.path).read()
    assert again is not None and again.progress is not None
    assert again.progress[3] == {0: output("b"), 1: output("a")}


def test_a_journal_without_splitters_has_no_progress(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    assert journal.read() is None
    journal.open_job(FILES, IDENTITY)
    assert journal.read() == EarlierJob(files=FILES, identity=IDENTITY, progress=None)
    journal.begin(slice_records=7, splitting=split(b"", partitions=1, layout=Layout()), owner=["a"])
    journal.path.write_text(journal.path.read_text().replace("splitters", "sample"))
    with refused("damaged-journal"):
        journal.read()
    journal.end()
    assert not journal.path.exists()


def test_one_process_at_a_time_holds_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path).hold():
        with refused("locked"), Journal(path).hold():
            raise AssertionError
        Journal(path).open_job(FILES, IDENTITY)
    with pytest.raises(KeyError), Journal(path).hold():
        raise KeyError
    assert path.exists(), "a job that is not over is kept"
    with Journal(path).hold():
        Journal(path).end()
        with Journal(path).hold():
            pass
    assert not path.exists(), "none without a job"


@given(owner=st.lists(st.sampled_from("ab"), min_size=1, max_size=12), count=st.integers(1, 20), seed=st.data())
def test_whole_partitions_miss_no_slice(owner: list[str], count: int, seed: st.DataObject) -> None:
    ledger = Ledger(slices=count, owner=owner)
    for number in range(count):
        for _, first, end in ledger.missing_ranges(number):
            if seed.draw(st.integers(0, 5)):
                ledger.record({number: 1}, first=first, end=end)
    missing = {
        at for number in range(count) for _, first, end in ledger.missing_ranges(number) for at in range(first, end)
    }
    assert ledger.complete_partitions() == sorted(set(range(len(owner))) - missing)


@pytest.mark.parametrize("content", ["my notes\n", "[1, 2]\n"])
def test_a_file_that_has_a_journals_name_stays_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / ".out.json.journal"
    path.write_text(content)
    with refused("not-a-journal"), Journal(path).hold():
        raise AssertionError
    assert path.read_text() == content

"""Tables as the content of a dataset: the steps of a sort's tasks, one after another."""

from __future__ import annotations

import datetime
import math
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from approvals import Approve
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.distributed_sort.content import table_file
from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.content.table_content import Tables
from planner.distributed_sort.dataset.dataset import Dataset, Partition
from planner.distributed_sort.dataset.partition_reader import Slice, slices
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.errors import BadInputError, IoFailureError
from planner.sorting.tables.table import sort_table
from tests.sorting.arrow_tables import write_encrypted, write_listing

VALUES = st.sampled_from([None, math.nan, -0.0, 0.0, 1.5, -2.0, math.inf])
ROWS = st.lists(st.tuples(VALUES, st.sampled_from([None, "", "a", "b" * 20, "b" * 20 + "c"])), max_size=60)
KEYS = st.tuples(
    st.permutations(["f", "s"]), *[st.sampled_from(["", ":desc", ":first", ":desc:first"]) for _ in range(2)]
).map(lambda drawn: [name + order for name, order in zip(drawn[0], drawn[1:], strict=True)])


def table_of(rows: list[tuple[float | None, str | None]]) -> pa.Table:
    floats, texts = zip(*rows, strict=True) if rows else ((), ())
    columns = [pa.array(floats, pa.float64()), pa.array(texts, pa.string()).dictionary_encode()]
    return pa.table([*columns, pa.array(range(len(rows)))], names=["f", "s", "n"])


def sorted_parts(dataset: Dataset, *, partitions: int, slice_rows: int) -> tuple[list[pa.Table], Partition]:
    """Run the tasks' steps; return the content of each partition's file, and a description of the last."""
    content = content_of(dataset.layout)
    samples = [content.sample(partition, 100) for partition in dataset.partitions]
    splitting, _ = content.split(samples, partitions)
    gathered: list[list[bytes]] = [[] for _ in range(splitting.partitions)]
    checksum = 0
    for cut in slices(dataset, slice_rows):
        rows = content.read_slice(dataset.partitions[cut.partition], cut)
        checksum += content.checksum(rows, 1)
        blocks, offsets = content.group(rows, splitting, 1)
        for number, streams in enumerate(gathered):
            streams.append(bytes(blocks[offsets[number] : offsets[number + 1]]))
    whole, parts = content.empty_summary(), []
    for streams in gathered:
        output = content.sort(np.frombuffer(b"".join(streams), np.uint8), 1)
        summary = content.summary(output, 1)
        whole.append(content.parse_summary(summary.serialize()))
        parts.append(pq.read_table(pa.BufferReader(output)))
        described = content.describe(output, summary)
    assert whole.unordered == 0
    assert dataset.layout.is_unique or (whole.records, whole.checksum) == (dataset.records, checksum)
    return parts, described


def test_columns_that_folders_give_are_sorted_by_and_kept(tmp_path: Path) -> None:
    for day, keys in ((2, [1, 5]), (10, [0, 7, 3])):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"k": keys}), tmp_path / f"day={day}" / "a.parquet")
    parts, _ = sorted_parts(tables_of([str(tmp_path)], ["day:desc", "k"]), partitions=2, slice_rows=10)
    assert pa.concat_tables(parts).to_pydict() == {"k": [0, 3, 7, 1, 5], "day": [10, 10, 10, 2, 2]}


@given(rows=ROWS, keys=KEYS, group_rows=st.integers(1, 20), partitions=st.integers(1, 5))
def test_partitions_hold_the_rows_in_the_order_of_one_machine(
    rows: list[tuple[float | None, str | None]],
    keys: list[str],
    group_rows: int,
    partitions: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path, table = tmp_path_factory.mktemp("t") / "in.parquet", table_of(rows)
    pq.write_table(table, path, row_group_size=group_rows)
    parts, _ = sorted_parts(tables_of([str(path)], keys), partitions=partitions, slice_rows=7)
    together, expected = pa.concat_tables(parts), sort_table(table, keys=keys)
    names = [key.split(":")[0] for key in keys]
    shown = [repr(part.select(names).to_pylist()).replace("-0.0", "0.0") for part in (together, expected)]
    assert shown[0] == shown[1]
    assert sorted(together["n"].to_pylist()) == list(range(len(rows)))
    assert together.schema.equals(table.schema, check_metadata=True)


def test_a_frequent_key_is_divided_unless_it_is_unique(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [7] * 800 + list(range(200))}), tmp_path / "in.parquet", row_group_size=100)
    parts, _ = sorted_parts(tables_of([str(tmp_path / "in.parquet")], ["k"]), partitions=10, slice_rows=100)
    assert max(part.num_rows for part in parts) < 200
    unique = tables_of([str(tmp_path / "in.parquet")], ["k"], unique=True)
    parts, _ = sorted_parts(unique, partitions=10, slice_rows=100)
    assert pa.concat_tables(parts)["k"].to_pylist() == list(range(200))


def test_a_slice_has_the_row_groups_that_begin_in_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": list(range(100))}), tmp_path / "in.parquet", row_group_size=30)
    dataset = tables_of([str(tmp_path / "in.parquet")], ["k"])
    (partition,), content = dataset.partitions, content_of(dataset.layout)
    assert partition.groups == (30, 30, 30, 10)
    read = [
        content.read_slice(partition, Slice(number=0, partition=0, first=first, records=records))["k"].to_pylist()
        for first, records in ((0, 20), (20, 11), (31, 29), (60, 40))
    ]
    assert [(part[:1], len(part)) for part in read] == [([0], 30), ([30], 30), ([], 0), ([60], 40)]
    cuts = [(cut.first, cut.records) for cut in slices(dataset, 45)]
    assert sum(records for _, records in cuts) == 100
    assert {first for first, _ in cuts} <= {0, 30, 60, 90}


def test_keys_and_row_groups_are_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": ["x" * 200, None, "y"], "n": [3, 2, 1]}), tmp_path / "in.parquet")
    _, described = sorted_parts(tables_of([str(tmp_path / "in.parquet")], ["t", "n"]), partitions=1, slice_rows=10)
    assert (described.records, described.groups) == (3, (3,))
    assert (described.first_key, described.last_key) == (f'["{"x" * 80}", 3]', "[null, 2]")


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"k": [1, 2, 3]}), path)
    dataset = tables_of([str(path)], ["k"])
    (partition,), content = dataset.partitions, content_of(dataset.layout)
    assert isinstance(content, Tables)
    pq.write_table(pa.table({"k": [1, 2]}), path)
    whole = Slice(number=0, partition=0, first=0, records=3)
    with pytest.raises(IoFailureError, match=r"in\.parquet has 2 rows instead of 3: it was changed"):
        content.read_slice(partition, whole)
    pq.write_table(pa.table({"k": ["1", "2", "3"]}), path)
    with refused("input-changed", "in.parquet", kind=IoFailureError):
        content.read_slice(partition, whole)
    path.write_bytes(b"PAR1 not so PAR1")
    with refused("damaged-file"):
        content.read_slice(partition, whole)
    path.write_bytes(b"PAR1" + b"not so" * 9 + b"PARE")  # encrypted: pyarrow raises OSError
    with refused("damaged-file"):
        content.read_slice(partition, whole)
    write_encrypted(path, pa.table({"k": [1, 2, 3]}))
    with pytest.raises(BadInputError, match="encrypted: it has encrypted columns"):
        content.read_slice(partition, whole)
    write_listing(path, pa.table({"k": [1, 2, 3]}))
    with refused("damaged-file", "part.parquet"):
        content.read_slice(partition, whole)
    pq.write_table(pa.table({"k": [1, 2, 3]}), path)
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(BadInputError, match="it is several Parquet files, one after the other"):
        content.read_slice(partition, whole)
    path.unlink()
    with pytest.raises(IoFailureError, match=r"cannot read .*in\.parquet: .*No such file"):
        content.read_slice(partition, whole)


def test_a_footer_is_parsed_once_by_a_process(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": list(range(100))}), tmp_path / "in.parquet", row_group_size=10)
    dataset = tables_of([str(tmp_path / "in.parquet")], ["k"])
    (partition,), content = dataset.partitions, content_of(dataset.layout)
    before = table_file._footer.cache_info().misses
    for cut in slices(dataset, 10):
        content.read_slice(partition, cut)
    assert table_file._footer.cache_info().misses == before
    os.utime(tmp_path / "in.parquet", ns=(0, 0))
    assert content.read_slice(partition, Slice(number=0, partition=0, first=0, records=10)).num_rows == 10
    assert table_file._footer.cache_info().misses == before + 1, "what may have changed is parsed again"


def test_a_page_is_checked_where_it_has_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    rows = pa.table({"k": np.random.default_rng(0).integers(0, 1 << 60, 10_000)})
    pq.write_table(rows, path, compression="none", use_dictionary=False, write_page_checksum=True)
    dataset = tables_of([str(path)], ["k"])
    content = bytearray(path.read_bytes())
    content[5000:5008] = b"damaged!"
    path.write_bytes(content)
    with pytest.raises(IoFailureError, match=r"cannot read .*in\.parquet: .*CRC"):
        content_of(dataset.layout).read_slice(
            dataset.partitions[0], Slice(number=0, partition=0, first=0, records=10_000)
        )


@pytest.mark.parametrize("keys", [["b", "a"], ["b:desc", "a", "c"], ["c", "b", "a"]])
def test_keys_may_be_all_columns_in_another_order(tmp_path: Path, keys: list[str]) -> None:
    """Samples have the keys' order."""
    columns = {"a": [n % 7 for n in range(500)], "b": [f"{n % 11}" for n in range(500)]}
    table = pa.table(columns | ({"c": [float(n % 5) for n in range(500)]} if "c" in keys else {}))
    for name in ("0", "1"):
        pq.write_table(table, tmp_path / name, row_group_size=100)
    parts, _ = sorted_parts(tables_of([str(tmp_path)], keys), partitions=3, slice_rows=100)
    assert pa.concat_tables(parts).equals(sort_table(pa.concat_tables([table, table]), keys=keys))


@pytest.mark.parametrize(("year", "fits"), [(2262, True), (9999, False)])
def test_times_of_96_bits_are_kept_or_refused(year: int, fits: bool, tmp_path: Path) -> None:
    times = pa.array([datetime.datetime(year, 1, 1), None], pa.timestamp("us"))
    columns = pa.table({"n": [2, 1], "at": times})
    pq.write_table(columns, tmp_path / "in", use_deprecated_int96_timestamps=True, store_schema=False)
    dataset = tables_of([str(tmp_path / "in")], ["n"])
    if not fits:
        with refused("unsupported-type", "96 bits"):
            sorted_parts(dataset, partitions=1, slice_rows=10)
        return
    ((part,), _) = sorted_parts(dataset, partitions=1, slice_rows=10)
    assert part.column("at").cast(pa.timestamp("us")).to_pylist() == times.to_pylist()[::-1]


def test_files_whose_columns_differ_are_united_by_name(tmp_path: Path, approve: Approve) -> None:
    """Also where the key is missing in one, or in another order, or is a dictionary in a third."""
    texts = pa.array(["x", "y"]).dictionary_encode()
    tables = [pa.table({"k": [3, 1], "t": ["a", "b"]}), pa.table({"t": texts, "k": [2, 0]}), pa.table({"t": ["n"]})]
    for number, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    with refused("schema-mismatch", "2.parquet") as caught:
        tables_of([str(tmp_path)], ["k"])
    approve(caught.value.details)
    parts, _ = sorted_parts(tables_of([str(tmp_path)], ["k"], fills=True), partitions=2, slice_rows=1)
    rows = pa.concat_tables(parts).to_pylist()
    assert [(row["k"], row["t"]) for row in rows] == [(0, "y"), (1, "b"), (2, "x"), (3, "a"), (None, "n")]
    source = tables_of([str(tmp_path)], ["k"], fills=True)
    pq.write_table(pa.table({"k": ["another"], "t": ["n"]}), tmp_path / "2.parquet")
    with refused("input-changed", "2.parquet", kind=IoFailureError):
        content_of(source.layout).read_slice(source.partitions[2], Slice(number=2, partition=2, first=0, records=1))

"""A sorted Parquet file is written like its input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest
from refusals import refused

import planner
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.native import Progress
from planner.sorting.sort_job import SortJob
from planner.sorting.tables.parquet import sort_tables

CODECS = {"a": "NONE", "s.x": "GZIP", "s.y": "SNAPPY", "text": "ZSTD", "real": "NONE", "items.list.element": "SNAPPY"}


def written(folder: Path, key: str, table: Any, **options: Any) -> tuple[Any, Any]:
    """Return the footers of a file and of its sorted output."""
    pq.write_table(table, folder / "in", **options)
    return resorted(folder, key)


def resorted(folder: Path, key: str) -> tuple[Any, Any]:
    """Return the footers of an existing file and of its sorted output."""
    job = SortJob(
        inputs=(str(folder / "in"),),
        output=str(folder / "out"),
        force=True,
        key=(key,),
        memory_bytes=1 << 30,
        temp_dirs=(str(folder),),
    )
    sort_tables(job, Progress())
    return pq.ParquetFile(folder / "in").metadata, pq.ParquetFile(folder / "out").metadata


def rows(count: int) -> Any:
    return pa.table(
        {
            "s": [{"x": i, "y": str(i)} for i in range(count)],
            "items": [[1, 2]] * count,
            "a": range(count, 0, -1),
            "text": [f"t{i % 7}" for i in range(count)],
            "real": [i / 3 for i in range(count)],
        }
    )


def of_chunks(footer: Any, *names: str) -> list[tuple[Any, ...]]:
    group = footer.row_group(0)
    return [tuple(getattr(group.column(i), name) for name in names) for i in range(footer.num_columns)]


def test_each_column_keeps_its_codec_and_encoding(tmp_path: Path) -> None:
    encodings = {"a": "DELTA_BINARY_PACKED", "real": "BYTE_STREAM_SPLIT"}
    source, out = written(
        tmp_path, "a", rows(500), compression=CODECS, use_dictionary=["text"], column_encoding=encodings,
        write_page_index=True, row_group_size=200,
    )  # fmt: skip
    names = "path_in_schema", "compression", "encodings", "has_dictionary_page", "has_offset_index", "has_column_index"
    assert of_chunks(out, *names) == of_chunks(source, *names)
    assert [out.row_group(i).num_rows for i in range(out.num_row_groups)] == [200, 200, 100]
    assert out.row_group(0).sorting_columns == (pq.SortingColumn(3),)  # the leaf next to a struct and a list


def test_items_of_lists_keep_their_names_and_codecs(tmp_path: Path) -> None:
    table = pa.table({"a": [2, 1], "l": [[1], [2, 3]]})
    source, out = written(tmp_path, "a", table, use_compliant_nested_type=False, compression="zstd")
    names = "path_in_schema", "compression", "has_dictionary_page"
    assert of_chunks(out, *names) == of_chunks(source, *names)
    assert source.schema.column(1).path == "l.list.item"
    (tmp_path / "in").write_bytes((tmp_path / "in").read_bytes().replace(b"\4list", b"\4bags"))  # Hive's name
    source, out = resorted(tmp_path, "a")
    assert source.schema.column(1).path == "l.bags.item"
    assert of_chunks(out, *names[1:]) == of_chunks(source, *names[1:])
    assert pq.read_table(tmp_path / "out").column("l").to_pylist() == [[2, 3], [1]]


def test_columns_that_the_first_file_has_not_are_compressed_as_its_first(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [2, 1]}), tmp_path / "in", compression="zstd")
    pq.write_table(pa.table({"a": [3], "more": ["text"]}), tmp_path / "more")
    planner.sort([tmp_path / "in", tmp_path / "more"], tmp_path / "out", format="parquet", key="a", union_by_name=True)
    out = pq.ParquetFile(tmp_path / "out").metadata
    assert of_chunks(out, "compression", "has_dictionary_page") == [("ZSTD", True)] * 2


def test_large_row_groups_keep_page_index_and_bloom_filters(tmp_path: Path) -> None:
    source, out = written(
        tmp_path, "a", pa.table({"a": range(100_000, 0, -1), "t": [f"text {i}" for i in range(100_000)]}),
        bloom_filter_options={"t": {"ndv": 1000}}, write_page_index=True, row_group_size=50_000,
    )  # fmt: skip
    for footer in (source, out):
        group = footer.row_group(1)
        assert [bool(group.column(i).bloom_filter_offset) for i in range(2)] == [False, True]
        assert group.column(0).has_column_index
    assert pq.read_table(tmp_path / "out").column("t")[0].as_py() == "text 99999"


def test_metadata_of_the_file_are_kept_and_none_is_added(tmp_path: Path) -> None:
    table = pa.table({"a": [2, 1]})
    with pq.ParquetWriter(tmp_path / "in", table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"owner": "Ada"})
    source, out = resorted(tmp_path, "a")
    assert out.metadata == source.metadata == {b"owner": b"Ada"}


def test_many_small_row_groups_take_no_time_each(tmp_path: Path) -> None:
    table = pa.table({"a": range(20_000, 0, -1)})
    _, out = written(tmp_path, "a", table, row_group_size=10)
    assert out.num_row_groups == 2000


def test_checksums_of_pages_are_kept(tmp_path: Path) -> None:
    from planner.sorting.tables.parquet_pages import has_checksums

    for has in (False, True):
        _, out = written(tmp_path, "a", rows(50), write_page_checksum=has)
        assert has_checksums(str(tmp_path / "out"), out) is has


@pytest.mark.parametrize("is_consumed", [False, True])
def test_types_that_arrow_has_not_stay_what_they_are(is_consumed: bool, tmp_path: Path) -> None:  # duckdb writes them
    columns = "range k, to_seconds(range) i, [to_days(range::int)] l, '10:00:00+02'::timetz t, '\\xFF'::blob b"
    duckdb.sql(f"copy (select {columns} from range(9) order by k desc) to '{tmp_path / 'in'}' (format parquet)")
    (tmp_path / "source").write_bytes((tmp_path / "in").read_bytes())
    planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="k", consume_input=is_consumed)
    described = [
        duckdb.sql(f"describe from read_parquet('{tmp_path / name}')").fetchall() for name in ("source", "out")
    ]
    assert described[0] == described[1]
    rows = [duckdb.sql(f"from read_parquet('{tmp_path / name}') order by k").fetchall() for name in ("source", "out")]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("key", ["i", "s"])
def test_intervals_are_no_keys(key: str, tmp_path: Path) -> None:
    duckdb.sql(f"copy (select interval 1 day i, {{'x': interval 2 days}} s) to '{tmp_path / 'in'}' (format parquet)")
    with refused("no-order", f"key {key}: column '{key}", "interval"):
        planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key=key)
    with refused("no-order", "interval"):
        tables_of([str(tmp_path / "in")], [key])


def test_only_dictionaries_that_save_space_are_kept(tmp_path: Path) -> None:
    numbers = np.random.default_rng(3).permutation(400_000)
    table = pa.table(
        {
            "few": numbers % 1000,
            "clustered_by_key": numbers // 20,
            "all": numbers,
            "texts": pa.array(numbers.astype(str)),
            "few_texts": pa.array((numbers % 1000).astype(str)),
            "nulls": pa.array([None] * 400_000, pa.int64()),
            "halves": pa.array((numbers % 999).astype(np.float16)),
            "pairs": pa.StructArray.from_arrays([pa.array(numbers)], ["all"]),
        }
    )
    source, out = written(tmp_path, "clustered_by_key", table, row_group_size=400_000)
    kept = {name for name, has in of_chunks(out, "path_in_schema", "has_dictionary_page") if has}
    assert kept == {"few", "clustered_by_key", "few_texts", "nulls", "halves", "pairs.all"}
    assert (tmp_path / "out").stat().st_size < (tmp_path / "in").stat().st_size
    assert pq.read_table(tmp_path / "out") == table.take(
        pa.compute.sort_indices(table, [("clustered_by_key", "ascending")])
    )
    assert all(has for (has,) in of_chunks(source, "has_dictionary_page"))

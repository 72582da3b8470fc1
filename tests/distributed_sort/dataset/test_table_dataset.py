"""Files of Parquet as datasets."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.distributed_sort.dataset.dataset import Dataset, Partition, dataset_of, write_manifest
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.errors import BadInputError


def written(path: Path, table: pa.Table, **options: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return str(path)


def test_a_directory_is_all_its_files(tmp_path: Path) -> None:
    rows = pa.table({"k": list(range(100)), "t": ["text"] * 100}).replace_schema_metadata({"owner": "tests"})
    first = written(tmp_path / "one" / "a.parquet", rows, row_group_size=40, compression="zstd")
    second = written(tmp_path / "two" / "b.parquet", rows.slice(0, 7), compression="zstd")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "manifest.json").write_text("{}")
    dataset = tables_of([str(tmp_path)], ["k:desc"], unique=True)
    assert [(part.uri, part.records, part.groups) for part in dataset.partitions] == [
        (first, 100, (40, 40, 20)),
        (second, 7, (7,)),
    ]
    table = dataset.layout.table
    assert table is not None
    assert (table.keys, table.unique, table.compression) == (("k:desc",), True, "zstd")
    assert table.arrow_schema().equals(rows.schema, check_metadata=True)
    assert dataset.layout.record_size == 8 + 4 + 4
    assert dataset_of(json.loads(dataset.to_json())) == dataset
    write_manifest(dataset, tmp_path / "sorted.json")
    again = tables_of([str(tmp_path / "sorted.json"), first], ["t"])
    assert again.partitions == (*dataset.partitions, dataset.partitions[0])
    assert again.layout.record_size == dataset.layout.record_size


def test_folders_give_columns(tmp_path: Path) -> None:
    """Only folders below the source do, and not for columns that the files have."""
    said = list[str]()
    source, rows = tmp_path / "not=this" / "in", pa.table({"k": [1, 2], "own": [9, 9]})
    for day, hour, name in (("1", "07", "a%20b"), ("-12", "8", "c"), ("__HIVE_DEFAULT_PARTITION__", "9", "d")):
        path = source / f"day={day}" / f"hour={hour}" / f"name={name}" / "own=9" / "x.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(rows, path)
    dataset = tables_of([str(source)], ["day", "k"], say=said.append)
    assert said == ["note: the folders' names repeat what the files' own columns hold: own"]
    table = dataset.layout.table
    assert table is not None
    types = {"k": pa.int64(), "own": pa.int64(), "day": pa.int64(), "hour": pa.string(), "name": pa.string()}
    assert table.arrow_schema().equals(pa.schema(types))
    assert dataset.layout.record_size >= 8 * 5
    (source / "day=3").mkdir()
    pq.write_table(rows, source / "day=3" / "y.parquet")
    with refused("schema-mismatch", "y.parquet"):
        tables_of([str(source)], ["k"])


def test_folders_that_contradict_files_or_each_other_are_refused(tmp_path: Path) -> None:
    for folder, code in (("a=5", "folder-mismatch"), ("A=1", "names-differ-by-case")):
        written(tmp_path / folder / folder / "a.parquet", pa.table({"a": [1, 1]}))
        with refused(code):
            tables_of([str(tmp_path / folder)], ["a"])
    for day in ("Day=1", "day=2"):
        written(tmp_path / "in" / day / "a.parquet", pa.table({"a": [1]}))
    with refused("names-differ-by-case", "Day", "day"):
        tables_of([str(tmp_path / "in")], ["a"])


def test_folders_of_dates_and_real_numbers_are_typed(tmp_path: Path) -> None:
    for day, share in (("2024-01-01", "0.5"), ("2024-01-02", "2")):
        written(tmp_path / "in" / f"day={day}" / f"share={share}" / "a.parquet", pa.table({"a": [1]}))
    dataset = tables_of([str(tmp_path / "in")], ["day", "share"])
    assert dataset.layout.table is not None
    types = {"a": pa.int64(), "day": pa.date32(), "share": pa.float64()}
    assert dataset.layout.table.arrow_schema().equals(pa.schema(types))


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    good = written(tmp_path / "a" / "a.parquet", pa.table({"k": [1]}))
    other = written(tmp_path / "a" / "b.parquet", pa.table({"k": ["x"]}))
    with refused("schema-mismatch", "b.parquet", "a.parquet") as caught:
        tables_of([str(tmp_path / "a")], ["k"])
    assert caught.value.details == ("column k: string, not int64",)
    with refused("unknown-column", "'z'", field="--key"):
        tables_of([good], ["z"])
    with refused("missing-key"):
        tables_of([good], [])
    Path(other).write_bytes(b"k\n1\n")
    with pytest.raises(BadInputError, match=r"b\.parquet: .*no Parquet file"):
        tables_of([other], ["k"])
    (tmp_path / "empty").mkdir()
    with refused("no-files"):
        tables_of([str(tmp_path / "empty")], ["k"])
    write_manifest(Dataset(partitions=(Partition(records=0, copies=()),)), tmp_path / "records.json")
    with refused("not-parquet"):
        tables_of([str(tmp_path / "records.json")], ["k"])

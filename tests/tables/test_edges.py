"""Small tables whose values, names and deletes are unlike those of the usual ones."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestWriterV2
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record
from refusals import refused

import planner

LEAST: dict[str, Any] = {"memory_bytes": 340 << 20, "threads": 1}
LONG = "https://www.example.com/" + "x" * 60


def folder(path: Path, *tables: pa.Table) -> Path:
    """Write a folder of Parquet files, 0.parquet, 1.parquet, .."""
    path.mkdir(parents=True)
    for number, table in enumerate(tables):
        pq.write_table(table, path / f"{number}.parquet")
    return path


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def delta(path: Path, *tables: pa.Table, **how: Any) -> Path:
    for table in tables:
        write_deltalake(path, table, mode="append", **how)
    return path


def test_no_value_and_the_text_null_are_two_partitions(tmp_path: Path) -> None:
    for text in ("None", "null"):
        path = tmp_path / f"delta-{text}"
        table = pa.table({"id": [1, 2, 3, 4], "p": pa.array([None, text, None, text], pa.string())})
        delta(path, table.slice(0, 2), table.slice(2), partition_by=["p"])
        planner.table(path).sort(sort_by="id", **LEAST)
        assert DeltaTable(path).to_pyarrow_table().sort_by("id").to_pylist() == table.to_pylist()
    lake = tmp_path / "lake"
    for name in ("p=__HIVE_DEFAULT_PARTITION__", "p=null"):
        folder(lake / name, ids(1, 5), ids(2, 6))
    before = duckdb.sql(f"from read_parquet('{lake}/*/*.parquet', hive_partitioning=true) order by all").fetchall()
    planner.table(lake).sort(sort_by="id", **LEAST)
    after = duckdb.sql(f"from read_parquet('{lake}/*/*.parquet', hive_partitioning=true) order by all").fetchall()
    assert before == after


def test_readers_that_filter_find_characters_beyond_the_usual_plane(tmp_path: Path) -> None:
    tables = [pa.table({"id": [n, n + 5], "s": [s, "a"]}) for n, s in enumerate(("\U00020000", "\U0002a6d6"))]
    path = delta(tmp_path / "t", *tables)
    planner.table(path).sort(sort_by="id", **LEAST)
    for text in ("\U00020000", "\U0002a6d6"):
        assert DeltaTable(path).to_pyarrow_table(filters=[("s", "=", text)]).num_rows == 1


def test_rows_stay_in_their_folder_whatever_it_is_called(tmp_path: Path) -> None:
    folder(tmp_path / "lake" / "2024", ids(1, 5), ids(2, 6))
    folder(tmp_path / "lake" / "2025", ids(3, 7), ids(4, 8))
    planner.table(tmp_path / "lake").sort(sort_by="id", **LEAST)
    for year, expected in (("2024", [1, 2, 5, 6]), ("2025", [3, 4, 7, 8])):
        (file,) = (tmp_path / "lake" / year).iterdir()
        assert pq.read_table(file, partitioning=None)["id"].to_pylist() == expected


def test_a_folder_of_empty_files_keeps_one(tmp_path: Path) -> None:
    lake = folder(tmp_path / "lake", ids(), ids())
    planner.table(lake).sort(sort_by="id", **LEAST)
    (file,) = lake.iterdir()
    assert pq.read_schema(file).names == ["id"]


KILLED = """
import os, planner
from pathlib import Path
mkdir = Path.mkdir
def killed(self, *given, **named):
    return os._exit(9) if self.name == "old" else mkdir(self, *given, **named)
Path.mkdir = killed
planner.table({lake!r}).sort(sort_by="id", memory_bytes=340 << 20, threads=1)
"""


def test_what_others_write_after_a_kill_between_the_renames_stays(tmp_path: Path) -> None:
    lake = folder(tmp_path / "lake", ids(1, 9), ids(2, 8))
    done = subprocess.run([sys.executable, "-c", KILLED.format(lake=str(lake))], check=False)
    assert done.returncode == 9
    pq.write_table(ids(100, 200, 300), lake / "0.parquet")
    planner.table(lake).sort(sort_by="id", **LEAST)
    assert sorted(duckdb.sql(f"select id from '{lake}/*.parquet'").fetchall()) == [
        (value,) for value in (1, 2, 8, 9, 100, 200, 300)
    ]


@pytest.mark.parametrize(
    ("tables", "sort_by", "is_sorted"),
    [
        ([{"x": [1.0, 5.0, float("nan")]}, {"x": [6.0, 9.0]}], "x", False),
        ([{"a": [1, 2], "b": [5, 9]}, {"a": [2, 3], "b": [1, 1]}], "a,b", False),
        ([{"a": [1, 2], "b": [5, 9]}, {"a": [2, 3], "b": [9, 1]}], "a,b", True),
        ([{"s": [f"{LONG}a"]}, {"s": [f"{LONG}b"]}], "s", True),
    ],
)
def test_a_check_goes_by_the_rows_where_metadata_does_not_tell(
    tmp_path: Path, tables: list[dict[str, Any]], sort_by: str, is_sorted: bool
) -> None:
    lake = folder(tmp_path / "lake", *map(pa.table, tables))
    places = [lake, delta(tmp_path / "delta", *map(pa.table, tables))]
    assert [planner.table(place).check(sort_by=sort_by).is_sorted for place in places] == [is_sorted] * 2


def test_a_key_with_ordered_categories_is_refused_before_a_file_is_read(tmp_path: Path) -> None:
    sizes = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1], pa.int8()), ["low", "medium", "high"], ordered=True)
    table = planner.table(folder(tmp_path / "lake", pa.table({"size": sizes}), pa.table({"size": sizes[:1]})))
    for call in (table.check, table.price, table.sort):
        with pytest.raises(planner.BadInputError, match="ordered categories"):
            call(sort_by="size")


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_keys_with_a_long_common_beginning_are_sorted_once(tmp_path: Path, kind: str) -> None:
    texts = [f"{LONG}{number * 7919 % 6000:05}" for number in range(6000)]
    tables = [pa.table({"s": texts[:3000]}), pa.table({"s": texts[3000:]})]
    if kind == "delta":
        table: Any = planner.table(delta(tmp_path / "t", *tables))
    else:
        table = planner.table("s.o", catalog=iceberg(tmp_path, *tables))
    assert table.sort(sort_by="s", target_file_bytes=20_000, **LEAST).groups
    assert table.sort(sort_by="s", target_file_bytes=20_000, **LEAST).groups == ()


def test_limits_that_no_group_is_within_are_said(tmp_path: Path) -> None:
    table = planner.table(folder(tmp_path / "lake", ids(1, 9), ids(2, 8)))
    done = table.sort(sort_by="id", max_bytes=1, **LEAST)
    assert (done.groups, done.all_beyond_limit) == ((), True)
    assert "unknown whether it pays" in table.price(sort_by="id", max_bytes=1).verdict


def test_a_column_with_a_dot_in_its_name(tmp_path: Path) -> None:
    tables = [pa.table({"id": [n, n + 5], "a": [1, 2], "a.b": [n, n + 9]}) for n in range(2)]
    path = delta(tmp_path / "t", *tables)
    planner.table(path).sort(sort_by="id", **LEAST)
    assert DeltaTable(path).to_pyarrow_table(filters=[("a.b", "=", 10)]).num_rows == 1


def test_a_file_that_allows_no_nulls_is_joined_with_one_that_does(tmp_path: Path) -> None:
    strict = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    lake = folder(tmp_path / "lake", ids(2, 8).cast(strict), pa.table({"id": pa.array([None, 3], pa.int64())}))
    planner.table(lake).sort(sort_by="id", **LEAST)
    assert duckdb.sql(f"select id from '{lake}/*.parquet'").fetchall() == [(2,), (3,), (8,), (None,)]


def iceberg(path: Path, *tables: pa.Table) -> dict[str, str]:
    """Make the table s.o in a catalog in a folder, and return the catalog's properties."""
    properties = {"uri": f"sqlite:///{path}/catalog.db", "warehouse": f"file://{path}/warehouse"}
    catalog = load_catalog(**properties)
    catalog.create_namespace("s")
    table = catalog.create_table("s.o", schema=tables[0].schema, properties={"format-version": "2"})
    for rows in tables:
        table.append(rows)
    return properties


class DeleteWriter(ManifestWriterV2):
    """A manifest of delete files, which pyiceberg itself does not write."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class AppendDeletes(_FastAppendFiles):
    """A snapshot that adds delete files, in place of those before."""

    def new_manifest_writer(self, spec: Any) -> Any:
        output = self.new_manifest_output()
        return DeleteWriter(spec, self.schema(), output, self._snapshot_id, self._compression)

    def _existing_manifests(self) -> Any:
        return [each for each in super()._existing_manifests() if each.content == ManifestContent.DATA]


def replace_deletes(table: Any, kind: DataFileContent, rows: pa.Table) -> None:
    path = f"{table.location()}/data/deletes-{uuid.uuid4()}.parquet"
    local = path.removeprefix("file://")
    Path(local).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, local)
    counted = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
    file = DataFile.from_args(
        content=kind, file_path=path, file_format=FileFormat.PARQUET, partition=Record(), spec_id=0,
        file_size_in_bytes=Path(local).stat().st_size, record_count=rows.num_rows, sort_order_id=None,
        key_metadata=None,
        equality_ids=[1] if kind == DataFileContent.EQUALITY_DELETES else None, **{name: {} for name in counted},
    )  # fmt: skip
    append = AppendDeletes(operation=Operation.APPEND, transaction=table.transaction(), io=table.io)
    append.append_data_file(file)
    updates, requirements = append._commit()
    table.catalog.commit_table(table, requirements, updates)
    table.refresh()


def positions(file: str, *places: int) -> pa.Table:
    numbered = [("file_path", pa.string(), b"2147483546"), ("pos", pa.int64(), b"2147483545")]
    schema = pa.schema([pa.field(name, of, metadata={b"PARQUET:field_id": number}) for name, of, number in numbered])
    return pa.table({"file_path": [file] * len(places), "pos": places}, schema=schema)


def test_a_row_deleted_by_a_replaced_delete_file_stays_deleted(tmp_path: Path) -> None:
    properties = iceberg(tmp_path, ids(1, 5, 9), ids(2, 6, 10))
    table = load_catalog(**properties).load_table("s.o")
    (first,) = [task.file.file_path for task in table.scan("id > 9").plan_files()]
    replace_deletes(table, DataFileContent.POSITION_DELETES, positions(first, 1))
    opened = planner.table("s.o", catalog=properties)
    place, count = opened._format.place, 0

    def replaced_first(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == 1:
            replace_deletes(table, DataFileContent.POSITION_DELETES, positions(first, 0, 1))
        return place(*arguments)

    opened._format.place = replaced_first
    done = opened.sort(sort_by="id", **LEAST)
    left = load_catalog(**properties).load_table("s.o").scan().to_arrow()["id"].to_pylist()
    assert (sorted(left), [group.attempts for group in done.groups]) == ([1, 5, 9, 10], [2])


def test_equality_deletes_are_refused_by_name(tmp_path: Path) -> None:
    properties = iceberg(tmp_path, ids(1, 5), ids(2, 6))
    schema = pa.schema([pa.field("id", pa.int64(), metadata={b"PARQUET:field_id": b"1"})])
    of_ids = pa.table({"id": [5]}, schema=schema)
    replace_deletes(load_catalog(**properties).load_table("s.o"), DataFileContent.EQUALITY_DELETES, of_ids)
    for do in ("sort", "check"):
        with refused("unsupported-table", "equality deletes"):
            getattr(planner.table("s.o", catalog=properties), do)(sort_by="id")


@pytest.mark.parametrize("log", ["_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/00001-a.metadata.json"])
@pytest.mark.parametrize("place", ["", "t", "t/region=eu"])
def test_a_folder_around_a_table_or_within_it_is_no_table(tmp_path: Path, log: str, place: str) -> None:
    """Only a table's log says which files count: others hold rows that were replaced, and all of them were removed."""
    folder(tmp_path / "lake" / "t" / "region=eu", ids(3, 1), ids(2))
    (tmp_path / "lake" / "t" / log).parent.mkdir()
    (tmp_path / "lake" / "t" / log).write_text("{}")
    before = sorted(path.stat().st_mtime_ns for path in tmp_path.rglob("*"))
    asked = tmp_path / "lake" / place
    if place != "t" or ".hoodie" in log:
        with refused("is-table", str(tmp_path / "lake" / "t"), "name that table"):
            planner.table(str(asked)).sort(sort_by="id", **LEAST)
    with refused("is-table", str(tmp_path / "lake" / "t")):
        planner.sort(asked, tmp_path / "out.parquet", key="id")
    assert sorted(path.stat().st_mtime_ns for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("log", ["_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/00001-a.metadata.json"])
@pytest.mark.parametrize("output", ["t/region=eu/0.parquet", "t/region=eu/new.parquet", "t/new.parquet"])
def test_no_output_goes_among_the_files_of_a_table(tmp_path: Path, log: str, output: str) -> None:
    """Its log does not name a new file, and keeps the size and the rows of a replaced one."""
    data = folder(tmp_path / "t" / "region=eu", ids(3, 1))
    folder(tmp_path / "other", ids(2, 1))
    (tmp_path / "t" / log).parent.mkdir()
    (tmp_path / "t" / log).write_text("{}")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    target = tmp_path / output
    for source in (data / "0.parquet", tmp_path / "other" / "0.parquet"):
        with refused("is-table", str(target), f"outside of {tmp_path / 't'}"):
            planner.sort(source, target, key="id", force=True)
    with refused("is-table", str(tmp_path / "t" / "sorted")):
        planner.sort(tmp_path / "other", tmp_path / "t" / "sorted", key="id", file_bytes=1 << 20)
    for command in (["generate", "--size", "1kB", target, "--force"], ["gnusort", "-o", target, data / "0.parquet"]):
        words = [sys.executable, "-m", "planner", *map(str, command)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert "is among the files of a" in " ".join(done.stderr.split()), command
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_the_version_that_is_told_is_the_one_with_the_new_files(tmp_path: Path) -> None:
    table = planner.table(str(delta(tmp_path / "t", ids(3, 1), ids(2, 9), ids(5, 4))))
    (group,) = table.sort(sort_by="id", **LEAST).groups
    assert group.version == str(DeltaTable(tmp_path / "t").version()) == "3"

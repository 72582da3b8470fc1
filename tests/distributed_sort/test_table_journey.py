"""Parquet files sorted on a real Ray cluster, as one machine sorts them."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.distributed_sort.dataset.dataset import Dataset, read_manifest, write_manifest
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.errors import IoFailureError
from planner.sorting.tables.table import sort_table
from tests.distributed_sort.test_text_journey import once, restarted
from tests.marks import quick_soak

if TYPE_CHECKING:
    from conftest import SortCluster

__all__ = ["restarted"]
KEYS = ("time:desc:first", "price", "name:desc")


def table(rows: int, *, seed: int) -> pa.Table:
    """Return rows with all kinds of keys, with nulls and NaN."""
    chance = np.random.default_rng(seed)
    prices = chance.integers(0, 500, rows).astype(float)
    prices[::11] = np.nan
    kinds = pa.array([f"a rather long name of a kind {number}" for number in chance.integers(0, 40, rows)])
    metadata = {"owner": "tests"}
    return pa.table(
        {
            "time": pa.array(chance.integers(0, 2000, rows), mask=chance.random(rows) < 0.1).cast(pa.timestamp("us")),
            "price": pa.array(prices, mask=chance.random(rows) < 0.1),
            "name": kinds.dictionary_encode(),
            "amount": pa.array([Decimal(int(n)) / 100 for n in chance.integers(-(10**9), 10**9, rows)]),
            "number": pa.array(chance.integers(0, 1 << 60, rows)),
            "tags": pa.array([[f"t{n}"] * (n % 3) if n % 5 else None for n in range(rows)]),
        }
    ).replace_schema_metadata(metadata)


def written(folder: Path, tables: list[pa.Table], *, group_rows: int = 20_000) -> Path:
    """Write tables below a folder that all nodes reach, as there is one file system."""
    for number, rows in enumerate(tables):
        path = folder / f"part{number}" / "data.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(rows, path, row_group_size=group_rows)
    (folder / "_SUCCESS").write_bytes(b"")
    return folder


def held(output: Dataset, *, copy: int = 0) -> pa.Table:
    return pa.concat_tables([pq.read_table(partition.copies[copy].uri) for partition in output.partitions])


def keys_of(rows: pa.Table, keys: tuple[str, ...]) -> str:
    return repr(rows.select([key.split(":")[0] for key in keys]).to_pydict())


@pytest.mark.parametrize("keys", [KEYS, ("amount:desc", "number"), ("name",)], ids=["mixed", "numbers", "frequent"])
def test_the_output_is_that_of_one_machine(sort_cluster: SortCluster, tmp_path: Path, keys: tuple[str, ...]) -> None:
    tables = [table(30_000, seed=seed) for seed in range(3)]
    source = tables_of([str(written(tmp_path / "in", tables))], keys)
    output, report = sort_cluster.sort(source, tmp_path / "j", output="tables", copies=2)
    expected = sort_table(pa.concat_tables(tables), keys=keys)
    for copy in range(2):
        rows = held(output, copy=copy)
        assert keys_of(rows, keys) == keys_of(expected, keys)
        assert rows.schema.equals(pq.read_schema(source.partitions[0].uri), check_metadata=True)
        assert sorted(rows["number"].to_pylist()) == sorted(expected["number"].to_pylist())
    assert (report["records"], report["sorted"]) == (90_000, True)
    assert report["partitions"] > 3
    for checked in sort_cluster.do({"do": "validate", "dataset": json.loads(output.to_json())})["copies"]:
        assert checked["problems"] == []
        assert checked["validation"]["checksum"] == report["checksum"]
        assert (checked["validation"]["records"], checked["validation"]["sorted"]) == (90_000, True)


def test_duckdb_reads_what_was_written_and_skips_row_groups(sort_cluster: SortCluster, tmp_path: Path) -> None:
    tables = [table(30_000, seed=seed) for seed in range(2)]
    source = tables_of([str(written(tmp_path / "in", tables))], ["number"])
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="duck")
    files = [partition.uri for partition in output.partitions]
    assert all(name.endswith(".parquet") for name in files)
    with duckdb.connect() as database:
        rows = database.execute("select number, price from read_parquet(?)", [files]).fetchall()
        statistics = database.execute(
            "select stats_min_value::bigint, stats_max_value::bigint from parquet_metadata(?)"
            " where path_in_schema = 'number'",
            [files],
        ).fetchall()
    assert repr(rows) == repr(sorted(rows, key=lambda row: row[0]))
    assert sorted(row[0] for row in rows) == sorted(pa.concat_tables(tables)["number"].to_pylist())
    assert all(before[1] <= behind[0] for before, behind in pairwise(statistics))


def test_of_equal_keys_one_row_is_left_and_a_sorted_dataset_sorts_again(
    sort_cluster: SortCluster, tmp_path: Path
) -> None:
    tables = [table(30_000, seed=seed) for seed in range(2)]
    source = tables_of([str(written(tmp_path / "in", tables))], ["time", "name"], unique=True)
    output, report = sort_cluster.sort(source, tmp_path / "j", output="unique")
    rows = held(output)
    pairs = set(zip(*(pa.concat_tables(tables)[name].to_pylist() for name in ("time", "name")), strict=True))
    assert (report["records"], report["duplicates"]) == (len(pairs), 0)
    assert set(zip(rows["time"].to_pylist(), rows["name"].to_pylist(), strict=True)) == pairs
    write_manifest(output, tmp_path / "sorted.json")
    assert read_manifest(tmp_path / "sorted.json") == output
    again, _ = sort_cluster.sort(tables_of([str(tmp_path / "sorted.json")], KEYS), tmp_path / "j", output="again")
    assert keys_of(held(again), KEYS) == keys_of(sort_table(rows, keys=KEYS), KEYS)


def test_a_copy_with_another_row_is_told_by_its_checksum(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = tables_of([str(written(tmp_path / "in", [table(1000, seed=1)]))], ["number"])
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="changed")
    path = output.partitions[0].uri
    rows = pq.read_table(path)
    changed = rows.set_column(3, "amount", pa.array([Decimal(1)] * rows.num_rows, rows.schema.field("amount").type))
    pq.write_table(changed, path)
    (read,) = sort_cluster.do({"do": "validate", "dataset": json.loads(output.to_json())})["copies"]
    assert read["validation"]["sorted"]
    assert "the manifest says" in read["problems"][0]


def test_no_rows_at_all(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = tables_of([str(written(tmp_path / "in", [table(0, seed=0), table(0, seed=1)]))], ["number"])
    output, report = sort_cluster.sort(source, tmp_path / "j", output="none")
    assert (held(output).num_rows, report["records"], report["sorted"]) == (0, 0, True)
    assert held(output).schema == pq.read_schema(source.partitions[0].uri)


def test_a_file_that_was_changed_is_named(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = tables_of([str(written(tmp_path / "in", [table(1000, seed=1)]))], ["number"])
    pq.write_table(table(999, seed=1), source.partitions[0].uri)
    with pytest.raises(IoFailureError, match=r"data\.parquet has 999 rows instead of 1000"):
        sort_cluster.sort(source, tmp_path / "j", output="changed-input")


def long_source(folder: Path) -> tuple[Dataset, str]:
    """Return a dataset that takes some seconds to sort, and the keys of the sorted rows."""
    tables = [table(120_000, seed=seed) for seed in range(4)]
    source = tables_of([str(written(folder / "in", tables, group_rows=10_000))], KEYS)
    return source, keys_of(sort_table(pa.concat_tables(tables), keys=KEYS), KEYS)


@pytest.mark.needs_root(why="finds a node's processes by its network namespace")
@quick_soak
@pytest.mark.parametrize("phase", ["map and shuffle", "sort and reduce"])
def test_killed_worker_processes_change_nothing(sort_cluster: SortCluster, tmp_path: Path, phase: str) -> None:
    (source, expected), killed = long_source(tmp_path), list[int]()
    fault = once(lambda: killed.append(sort_cluster.kill(1, "ray::")), phase=phase)
    output, _ = sort_cluster.sort(source, tmp_path / "j", output=f"table-killed-{phase[:3]}", on_event=fault)
    assert killed[0] > 0
    assert keys_of(held(output), KEYS) == expected


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="kills nodes in network namespaces")
@pytest.mark.usefixtures("restarted")
@pytest.mark.parametrize("phase", ["map and shuffle", "sort and reduce"])
def test_a_lost_node_changes_nothing(sort_cluster: SortCluster, tmp_path: Path, phase: str) -> None:
    source, expected = long_source(tmp_path)
    fault = once(lambda: sort_cluster.lose(3), phase=phase)
    output, report = sort_cluster.sort(source, tmp_path / "j", output=f"table-lost-{phase[:3]}", on_event=fault)
    assert report["lost_nodes"] == ["node-3"]
    assert keys_of(held(output), KEYS) == expected


def test_coordinators_order_the_tasks_of_tables(sort_cluster: SortCluster, tmp_path: Path) -> None:
    tables: list[Any] = [table(40_000, seed=seed) for seed in range(3)]
    source = tables_of([str(written(tmp_path / "in", tables))], KEYS)
    output, report = sort_cluster.sort(source, tmp_path / "j", output="coordinated", nodes_per_coordinator=2)
    assert report["driver"]["coordinators_tasks"] > 0
    assert keys_of(held(output), KEYS) == keys_of(sort_table(pa.concat_tables(tables), keys=KEYS), KEYS)

"""Tables that a Ray cluster sorts: every row stays, nothing else is left, and what fails leaves the table as it was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.distributed_sort.test_datasets_journey import on_head
from tests.distributed_sort.test_object_store_journey import BUCKET, Store, store
from tests.marks import quick_soak

if TYPE_CHECKING:
    from conftest import SortCluster

__all__ = ["store"]
TABLE = """
import os
import subprocess
from deltalake import DeltaTable, write_deltalake
import pyarrow.parquet as pq

def appended(location, days=2, options=None):
    for number in range(3):
        at = [(n * 7919 + number) % 20_011 for n in range(4000)]
        rows = {"at": at, "name": [f"n{n % 97}" for n in at], "day": [n % days for n in at]}
        if number == 1:
            rows["later"] = at  # in files without it, rows are written again
        mode = "merge" if number else None
        write_deltalake(location, pa.table(rows), mode="append", partition_by=["day"], schema_mode=mode,
                        storage_options=options)

def rows_of(location, options=None):
    table = DeltaTable(location, storage_options=options).to_pyarrow_table()
    order = [(name, "ascending") for name in ("at", "name", "day", "later")]
    return table.select(["at", "name", "day", "later"]).sort_by(order)

def sorted_there(location, options=None, **others):
    events = []
    before, table = rows_of(location, options), planner.table(location, storage=options)
    done = table.sort(sort_by="at:desc", ray=address, target_file_bytes=40_000, on_event=events.append, **others)
    assert rows_of(location, options).equals(before)
    assert table.check(sort_by="at:desc").is_sorted and table.groups("at:desc", target_bytes=1) == []
    assert {group.partition for group in done.groups} == {f"day={day}" for day in before["day"].to_pylist()}
    assert all(group.spilled_bytes > 0 and group.files_after > 1 for group in done.groups)
    assert any(event["event"] == "probed" for event in events)
    return table
"""


def test_a_table_in_a_folder_of_all_nodes_is_sorted_by_them(sort_cluster: SortCluster, tmp_path: Path) -> None:
    on_head(sort_cluster, tmp_path, TABLE + """
location = str(folder / "events")
appended(location, days=1)
table = sorted_there(location)
assert sorted(os.listdir(location)) == ["_delta_log", "day=0"]
for file in table.files:
    column = pq.read_metadata(f"{location}/{file.path}").row_group(0).column(0)
    assert column.has_offset_index and column.statistics.has_min_max
""")  # fmt: skip


@quick_soak
def test_a_table_in_a_store_is_sorted_by_all_nodes(sort_cluster: SortCluster, store: Store, tmp_path: Path) -> None:
    on_head(sort_cluster, tmp_path, TABLE + f"""
location = "{BUCKET.replace("s3:", "s3a:")}/events"
options = {{"AWS_ALLOW_HTTP": "true", "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}}
appended(location, options=options)
sorted_there(location, options, directory=folder / "disks")
""")  # fmt: skip
    names = list(store.sizes("events"))
    assert names and not [name for name in names if "_planner_sort" in name]


@quick_soak
@pytest.mark.parametrize("kind", ["iceberg", "parquet"])
def test_other_formats_are_sorted_on_a_cluster(kind: str, sort_cluster: SortCluster, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    on_head(sort_cluster, tmp_path, f"""
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.tables.made_tables import make, rows
made = make({kind!r}, folder / "table", [rows(seed, 900, evolved=seed > 1) for seed in range(3)])
if {kind!r} == "iceberg":
    made.delete("flag = true")
before, opened = made.library_rows(), made.open()
assert opened.sort(sort_by="at:desc:first", ray=address, target_file_bytes=40_000).groups
assert made.library_rows() == before
assert opened.check(sort_by="at:desc:first").is_sorted
assert not list(folder.rglob("*_planner_sort*"))
""")  # fmt: skip


def test_a_cluster_that_fails_leaves_the_table_as_it_was(sort_cluster: SortCluster, tmp_path: Path) -> None:
    on_head(sort_cluster, tmp_path, TABLE + """
location = str(folder / "events")
appended(location)
before, files = rows_of(location), sorted(path for path in (folder / "events").rglob("*"))
for error, text, asked in [
    (IoFailureError, "nothing listens there", dict(ray="127.0.0.1:1")),
    (BadInputError, "does not go with", dict(temp_dir=folder)),
    (BadInputError, "does not go with", dict(threads=1)),
]:
    try:
        planner.table(location).sort(**dict(sort_by="at", ray=address) | asked)
    except error as raised:
        assert text in str(raised), raised
    else:
        raise AssertionError(text)
words = ["table", "sort", location, "--sort-by", "at", "--ray", "127.0.0.1:1", "--dir", str(folder)]
said = subprocess.run([sys.executable, "-m", "planner", *words], capture_output=True, text=True)
assert said.returncode == 6 and "nothing listens there" in said.stderr, said
assert rows_of(location).equals(before) and sorted((folder / "events").rglob("*")) == files
""")  # fmt: skip

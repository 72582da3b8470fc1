"""Datasets of Ray and pyarrow on a real Ray cluster: sorted by Python on the head, and returned in order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.clusters.emulated import namespaces
from tests.distributed_sort.test_object_store_journey import BUCKET, Store, store
from tests.marks import quick_soak

if TYPE_CHECKING:
    from conftest import SortCluster

__all__ = ["store"]
ROWS = 60_000
BEGIN = f"""
import sys
from pathlib import Path
import planner
import pyarrow as pa
import ray
from planner.errors import BadInputError, IoFailureError
address, folder = sys.argv[1], Path(sys.argv[2])
ray.init(address=address, log_to_driver=False)
ray.data.DataContext.get_current().enable_progress_bars = False
def keyed(table):
    v = table["id"].to_numpy()
    return pa.table(dict(k=v * 7919 % 100_003, v=v))

rows = ray.data.range({ROWS}, override_num_blocks=7).map_batches(keyed, batch_format="pyarrow")
expected = sorted(n * 7919 % 100_003 for n in range({ROWS}))
options = dict(key="k", ray=address, directory=folder / "disks", file_bytes=1_000_000)
"""


def on_head(sort_cluster: SortCluster, folder: Path, code: str) -> None:
    """Run Python on the head, where Ray's own API works."""
    words = sort_cluster.emulated.command(0, sys.executable, "-c", BEGIN + code, sort_cluster.emulated.ray.address)
    environment = sort_cluster.emulated.environment()
    done = subprocess.run(
        [*words, str(folder)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_ray_dataset_comes_back_in_order(sort_cluster: SortCluster, tmp_path: Path) -> None:
    on_head(sort_cluster, tmp_path, """
result = planner.sort(rows, folder / "sorted.json", staging=folder / "staged", **options)
assert result.count == len(expected) and list((folder / "staged").iterdir()) == []
assert result.to_pyarrow().to_table()["k"].to_pylist() == expected
back = result.to_ray()
assert [row["k"] for row in back.take_all()] == expected
assert not ray.data.DataContext.get_current().execution_options.preserve_order
""")  # fmt: skip


@quick_soak
def test_many_files_keep_their_order(sort_cluster: SortCluster, tmp_path: Path) -> None:
    files = [str(tmp_path / f"part-{number * 7919 % 61:06}.parquet") for number in range(60)]
    for number, file in enumerate(files):
        pq.write_table(pa.table({"k": range(number * 100, number * 100 + 100)}), file, row_group_size=30)
    on_head(sort_cluster, tmp_path, f"""
from planner.api.contents.datasets import ray_dataset
for is_new in (True, False):
    ray.data.DataContext.get_current().use_datasource_v2 = is_new
    doubled = ray_dataset({files}).map_batches(lambda batch: dict(k=batch["k"] * 2))
    assert [row["k"] for row in doubled.take_all()] == list(range(0, 12_000, 2)), is_new
""")  # fmt: skip


def test_a_pyarrow_dataset_is_sorted_with_the_columns_of_its_folders(sort_cluster: SortCluster, tmp_path: Path) -> None:
    for day in range(3):
        path = tmp_path / "in" / f"day={day}" / "a.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"k": [n * 7919 % 20_011 for n in range(day, 9000, 3)]}), path)
    on_head(sort_cluster, tmp_path, """
import pyarrow.dataset as ds
source = ds.dataset(folder / "in", partitioning="hive")
result = planner.sort(source, folder / "sorted.json", **options | dict(key=["day:desc", "k"]))
rows = source.to_table().sort_by([("day", "descending"), ("k", "ascending")])
assert result.to_pyarrow().to_table().to_pydict() == rows.to_pydict()
""")  # fmt: skip


@quick_soak
def test_a_ray_dataset_goes_through_a_store(sort_cluster: SortCluster, store: Store, tmp_path: Path) -> None:
    on_head(sort_cluster, tmp_path, f"""
result = planner.sort(rows, "{BUCKET}/from-ray", staging="{BUCKET}/staged", **options)
assert all(name.startswith("{BUCKET}/from-ray/part-") for name in result.tables)
assert result.to_pyarrow().to_table()["k"].to_pylist() == expected
assert [row["k"] for row in result.to_ray().take_all()] == expected
""")  # fmt: skip
    assert store.sizes("staged/planner-input") == {}


@quick_soak
def test_what_is_staged_stays_only_where_the_sort_may_go_on(sort_cluster: SortCluster, tmp_path: Path) -> None:
    on_head(sort_cluster, tmp_path, """
def fails(error, text, **others):
    try:
        planner.sort(rows, folder / "sorted.json", **options | dict(staging=folder / "staged") | others)
    except error as raised:
        assert text in str(raised), raised
        return list((folder / "staged").glob("*"))
    raise AssertionError(text)

assert fails(BadInputError, "say where all nodes reach them", staging=None) == []
assert fails(BadInputError, "there is no column 'z'", key="z") == []
assert fails(BadInputError, "is where the output goes", to="s3://b/x", staging="s3://b/x/y") == []
(left,) = fails(IoFailureError, "the rows stay in", ray="127.0.0.1:1")
assert planner.sort(left, folder / "sorted.json", format="parquet", **options).to_ray().count() == len(expected)

result = planner.sort(left, folder / "other.json", format="parquet", **options)
Path(result.tables[0]).unlink()
try:
    result.to_ray()
except BadInputError as refused:
    assert "lies on the disk of another node" in str(refused), refused
else:
    raise AssertionError("a file is gone")
""")  # fmt: skip


@quick_soak
@pytest.mark.needs_root(why="gives a node a folder of its own in its network namespace")
def test_a_folder_that_a_node_has_alone_is_refused(sort_cluster: SortCluster, tmp_path: Path) -> None:
    if not namespaces.are_usable():
        pytest.skip("needs root: network namespaces")
    (tmp_path / "apart").mkdir()
    sort_cluster.inside(2, "mount", "-t", "tmpfs", "apart", str(tmp_path / "apart"))
    try:
        on_head(sort_cluster, tmp_path, """
try:
    planner.sort(rows, folder / "sorted.json", staging=folder / "apart", **options)
except BadInputError as refused:
    assert "has no such folder as this machine" in str(refused), refused
else:
    raise AssertionError("rows of a node would be missed")
assert list((folder / "apart").iterdir()) == []
""")  # fmt: skip
    finally:
        sort_cluster.inside(2, "umount", str(tmp_path / "apart"))

"""The task of rented machines survives a round trip through the run's directory: text and tables with their keys."""

from __future__ import annotations

from json import loads
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner import recommend
from planner.api.input_dataset import files_dataset
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.runs.cloud_task import TASK, CloudTask, is_in_place, load_task, save_task
from planner.distributed_sort.dataset.dataset import dataset_of
from planner.errors import BadInputError
from planner.sorting.sort_job import InputFormat


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("a.txt", InputFormat(key=["2,2n", "1,1r"], separator=",", unique=True, zero_terminated=True)),
        ("a.csv", InputFormat(format="csv", key=["b:int:desc"])),
        ("a.parquet", InputFormat(format="parquet", key=["b:desc"], unique=True)),
    ],
)
def test_a_source_survives(tmp_path: Path, name: str, keys: InputFormat) -> None:
    (tmp_path / "a.txt").write_bytes(b"a,1\0b,2\0")
    (tmp_path / "a.csv").write_bytes(b"a,b\r\n1,2\r\n")
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "a.parquet")
    source = files_dataset(keys, [str(tmp_path / name)])
    plan = recommend(data="100GB", model="indy", instances=["i4i.large"], nodes=4).plan
    directory = RunDirectory(tmp_path)
    task = CloudTask(plan=plan, source=loads(source.to_json()))
    save_task(task, directory)
    again = load_task(directory)
    assert again == task and again.source is not None
    assert dataset_of(again.source) == source
    assert not is_in_place(again.plan)


def test_machines_without_a_job(tmp_path: Path) -> None:
    assert not (tmp_path / TASK).exists()
    with pytest.raises(BadInputError, match="has no job"):
        load_task(RunDirectory(tmp_path))

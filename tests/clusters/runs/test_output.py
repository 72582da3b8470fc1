"""Output on a run's machines: where it is, and that it is not lost unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulated_ec2 import choice, order

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.runs.rented_run import MANIFEST, is_unsaved, output_on_machines
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, write_manifest


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path / "runs"))
    return RunDirectory.create(order("r1", choice()))


def sorted_to(directory: RunDirectory, copy: Copy) -> None:
    write_manifest(Dataset(partitions=(Partition(records=1, copies=(copy,)),)), directory.path / MANIFEST)
    directory.note("output", partitions=1)


def test_output_on_disks_is_unsaved_until_it_is_fetched_and_again_after_another_job(directory: RunDirectory) -> None:
    assert not is_unsaved(directory), "nothing is sorted yet"
    sorted_to(directory, Copy(uri="/mnt/part-0", node="i-1"))
    assert is_unsaved(directory)
    directory.note("saved", to="here")
    assert not is_unsaved(directory) and output_on_machines(directory) is not None, "it can be fetched once more"
    sorted_to(directory, Copy(uri="/mnt/part-1", node="i-1"))
    assert is_unsaved(directory)
    directory.note("down", removed=4)
    assert not is_unsaved(directory)


def test_output_in_a_store_is_not_the_machines(directory: RunDirectory) -> None:
    sorted_to(directory, Copy(uri="s3://b/out/part-0"))
    assert not is_unsaved(directory) and output_on_machines(directory) is None

"""A file of the output disappears before it is read back: the other copy counts, and the run continues."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from planner.distributed_sort.dataset.dataset import Dataset, dataset_of
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.dataset.text_dataset import lines_of
from tests.distributed_sort import test_table_journey as tables
from tests.distributed_sort import test_text_journey as texts

if TYPE_CHECKING:
    from conftest import SortCluster


def lines(folder: Path) -> Dataset:
    return lines_of(texts.packed_files(folder, [texts.rows(100_000, seed=seed) for seed in range(3)]), texts.TABLE)


def parquet(folder: Path) -> Dataset:
    return tables_of(
        [str(tables.written(folder, [tables.table(200_000, seed=seed) for seed in range(3)]))], tables.KEYS
    )


def rows_of(path: Path) -> int:
    return pq.read_metadata(path).num_rows if path.suffix else path.read_bytes().count(b"\n")


def changed(path: Path) -> None:
    """Change a byte of a line, as a disk may without an error."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 2] = b"zz"
    path.write_bytes(content)


@pytest.mark.soak
@pytest.mark.parametrize(("made", "harm"), [(lines, Path.unlink), (lines, changed), (parquet, Path.unlink)])
def test_one_copy_without_a_file_is_told_and_the_other_goes_out(
    sort_cluster: SortCluster, tmp_path: Path, made: Any, harm: Callable[[Path], None]
) -> None:
    source, events = made(tmp_path / "in"), list[dict[str, Any]]()
    request = {"records": 0, "copies": 2, "source": json.loads(source.to_json()), "output": str(tmp_path / "out")}

    def lose_files(event: dict[str, Any]) -> None:
        """Before the output is read, remove the first copy's first file and the second copy's last."""
        if event["event"] == "sorted":
            events.append(event)
            partitions = dataset_of(event["dataset"]).partitions
            assert len(partitions) > 1
            for partition, copy in ((partitions[0], 0), (partitions[-1], 1)):
                harm(Path(partition.copies[copy].uri))

    done = sort_cluster.do({"do": "run", "request": request, "journal": str(tmp_path / "j")}, lose_files)
    assert [validation["lost"] for validation in done["validations"]] == [1, 1]
    parts = sorted((tmp_path / "out").glob("part-*"))
    assert len(parts) == len(events[0]["dataset"]["partitions"])
    assert sum(map(rows_of, parts)) == done["records"]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text()) == done["dataset"]

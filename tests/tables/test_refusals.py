"""What cannot be rewritten is refused by name before anything is read, and stays as it is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import planner
from planner.errors import BadInputError, PlannerError
from tests.tables.made_tables import Made, add_deletion_vector, make, rows

LEAST = 340 << 20


def delta_with(tmp_path: Path, protocol: dict[str, Any], properties: dict[str, str] | None = None) -> Made:
    """Return a Delta table whose log asks for features."""
    made = make("delta", tmp_path, [rows(seed, 100) for seed in range(2)], by=None)
    log = Path(made.location, "_delta_log")
    first = (log / f"{0:020}.json").read_text(encoding="utf-8").splitlines()
    metadata = next(json.loads(line) for line in first if "metaData" in line)
    metadata["metaData"]["configuration"] = properties or {}
    lines = [json.dumps({"protocol": protocol}), json.dumps(metadata)]
    (log / f"{2:020}.json").write_text("\n".join(lines), encoding="utf-8")
    return made


@pytest.mark.parametrize(
    ("protocol", "properties", "named"),
    [
        ({"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}, {}, "rowTracking"),
        ({"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["icebergCompatV1"]}, {}, "icebergCompatV1"),
        ({"minReaderVersion": 1, "minWriterVersion": 6}, {}, "writers of version 6"),
        ({"minReaderVersion": 2, "minWriterVersion": 5}, {"delta.columnMapping.mode": "name"}, "mapp"),
    ],
)  # fmt: skip
def test_features_that_new_files_would_not_keep_are_refused_by_name(
    protocol: dict[str, Any], properties: dict[str, str], named: str, tmp_path: Path
) -> None:
    made = delta_with(tmp_path, protocol, properties)
    names = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadInputError, match=named):
        made.open().sort(sort_by="id", memory_bytes=LEAST)
    assert sorted(tmp_path.rglob("*")) == names


def test_a_file_with_a_deletion_vector_is_left_and_the_others_are_sorted(tmp_path: Path) -> None:
    made = make("delta", tmp_path, [rows(seed, 300) for seed in range(3)], by=None)
    add_deletion_vector(Path(made.location), [0, 7])
    before = deleted_rows(made)
    opened = made.open()
    (left,) = [file for file in opened.files if file.deletes]
    assert "deletion vector" in left.left
    (group,) = opened.sort(sort_by="id", memory_bytes=LEAST).groups
    assert group.files_before == 2
    assert left.path in {file.path for file in opened.files}
    assert deleted_rows(made) == before


def deleted_rows(made: Made) -> tuple[int, int | None]:
    found = DeltaTable(made.location).scan(columns=["id"])
    table = pa.RecordBatchReader.from_stream(found).read_all()
    return table.num_rows, pa.compute.sum(table["id"]).as_py()


def test_an_iceberg_table_of_version_3_is_refused(tmp_path: Path) -> None:
    made = make("iceberg", tmp_path, [rows(seed, 100) for seed in range(2)])
    opened = made.iceberg()
    path = Path(opened.metadata_location.removeprefix("file://"))
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | {"format-version": 3, "next-row-id": 200}), encoding="utf-8")
    with pytest.raises(BadInputError, match="row lineage"):
        made.open().sort(sort_by="id", memory_bytes=LEAST)


def test_a_metadata_file_is_looked_at_and_not_rewritten(tmp_path: Path) -> None:
    made = make("iceberg", tmp_path, [rows(seed, 100) for seed in range(2)])
    for location in (made.iceberg().metadata_location, made.iceberg().location().removeprefix("file://")):
        opened = planner.table(location)
        assert (opened.snapshot.kind, opened.rows) == ("iceberg", 200)
        with pytest.raises(BadInputError, match="--catalog"):
            opened.sort(sort_by="id", memory_bytes=LEAST)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"sort_by": "nosuch"}, "`sort_by` nosuch: there is no column 'nosuch'"),
        ({"sort_by": "pairs"}, "pairs"),
        ({"sort_by": "region"}, "one value"),
        ({}, "declares no order"),
        ({"sort_by": "id", "where": "region=mars"}, "no such partition"),
        ({"sort_by": "id", "memory_bytes": 1 << 20}, "320MiB"),
        ({"sort_by": "id", "temp_dir": "/proc/nosuch"}, "nosuch"),
    ],
)
def test_wrong_arguments_are_refused_and_the_table_is_untouched(
    asked: dict[str, Any], words: str, tmp_path: Path
) -> None:
    made = make("delta", tmp_path, [rows(seed, 100) for seed in range(2)])
    version = made.open().snapshot.version
    with pytest.raises((PlannerError, OSError), match=words):
        made.open().sort(**asked)
    assert made.open().snapshot.version == version
    assert not list(tmp_path.rglob("*_planner_sort*"))


def test_places_without_a_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such folder"):
        planner.table(tmp_path / "nosuch")
    with pytest.raises(BadInputError, match="no Parquet files"):
        planner.table(tmp_path)
    (tmp_path / "x.parquet").write_text("no table")
    with pytest.raises(BadInputError, match="planner sort FILE OUTPUT"):
        planner.table(tmp_path / "x.parquet")
    with pytest.raises(BadInputError, match=r"x\.parquet"):
        planner.table(tmp_path)
    with pytest.raises(BadInputError, match="no such table"):
        planner.table("a.b", catalog={"uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}"})


def test_a_folder_whose_files_differ_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(BadInputError, match="its files differ"):
        planner.table(tmp_path)


@pytest.mark.parametrize(
    ("location", "how"),
    [
        ("s3://", {}),
        ("gs://", {}),
        ("file://", {}),
        ("nothing://bucket/table", {}),
        ("nothing://bucket/table", {"storage": {"region": "here"}}),
        ("nothing://bucket/1.metadata.json", {}),
        ("a.b", {"catalog": {"uri": "sqlite:///none/such"}}),
        ("a.b", {"catalog": {"uri": "http://localhost:1"}}),
        ("a..b", {"catalog": {"uri": "sqlite://"}}),
    ],
)
@pytest.mark.filterwarnings("ignore:No preferred file implementation")
def test_an_address_that_is_no_table_is_named(location: str, how: dict[str, Any]) -> None:
    with pytest.raises(BadInputError) as caught:
        planner.table(location, **how)
    assert caught.value.sentence.startswith(f"{location}: ")


@pytest.mark.needs_root(why="mounts a small disk")
def test_a_disk_without_room_for_the_rows_in_memory_is_named_before_they_are_read(tmp_path: Path) -> None:
    """The files are 10 kB, their rows 80 MB, and the disk has 30 MB."""
    prepare = f"""if True:
        import pyarrow as pa, pyarrow.parquet as pq
        for number in range(2):
            table = pa.table({{"k": ["x" * 200] * 200_000}})
            pq.write_table(table, f"disk/lake/{{number}}.parquet", compression="zstd", use_dictionary=False)
        import planner
        planner.table("disk/lake").sort(sort_by="k", memory_bytes={LEAST})
    """
    (tmp_path / "disk").mkdir()
    script = 'mount -t tmpfs -o size=30m tmpfs disk && mkdir disk/lake && "$0" -c "$1"; ls -A disk/lake'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, sys.executable, prepare],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"sorting a group takes 8\d.* MB, and 3\d.* MB is free", done.stderr)
    assert done.stdout.split() == ["0.parquet", "1.parquet"]

"""Files of text and of CSV as datasets; the sizes of compressed ones are estimated from their beginnings."""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path

import pytest
import zstandard
from refusals import refused

from planner.api.input_dataset import files_dataset
from planner.distributed_sort.dataset.dataset import (
    Copy,
    CsvFormat,
    Dataset,
    Partition,
    Recipe,
    TextFormat,
    dataset_of,
    write_manifest,
)
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.errors import BadInputError
from planner.sorting.records.keys import Key
from planner.sorting.sort_job import InputFormat
from planner.sorting.text.text_job import CsvColumns

BY_TIME = CsvColumns(keys=("time:int:desc",))


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_files_and_manifests_are_text(tmp_path: Path) -> None:
    file, copies = written(tmp_path / "a.txt", b"b\na\n"), (Copy(uri="/disk/in", node="node-1"),)
    records = Dataset(partitions=(Partition(records=3, copies=copies, recipe=Recipe(start=0)),))
    write_manifest(records, tmp_path / "records.json")
    dataset = lines_of([str(file), str(tmp_path / "records.json")], TextFormat())
    assert dataset.partitions == (
        Partition(records=4, copies=(Copy(uri=str(file)),)),
        Partition(records=300, copies=copies),  # bytes, and no recipe, which makes records
    )


def test_the_header_is_no_part_of_a_partition(tmp_path: Path) -> None:
    first = written(tmp_path / "a.csv", b"\xef\xbb\xbftime,what\r\n1,x\r\n")
    second = written(tmp_path / "b.csv", b"time,what\n2,yy")
    dataset = rows_of([str(first), str(second)], BY_TIME, unique=False)
    assert dataset.partitions == (
        Partition(records=5, copies=(Copy(uri=str(first), offset=14),)),
        Partition(records=4, copies=(Copy(uri=str(second), offset=10),)),
    )
    assert dataset.layout.text is not None
    assert dataset.layout.text.keys == (Key(first_field=0, options="Ir"),)
    assert dataset.layout.text.csv == CsvFormat(
        delimiter=",", columns=2, ends_with_crlf=True, header="\xef\xbb\xbftime,what\r\n"
    )


def test_a_sorted_dataset_is_sorted_again_by_another_column(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", b"time,what\n1,x\n")
    write_manifest(rows_of([str(file)], BY_TIME, unique=False), tmp_path / "a.json")
    again = rows_of([str(tmp_path / "a.json"), str(file)], CsvColumns(keys=("what",)), unique=True)
    assert again.partitions == (Partition(records=4, copies=(Copy(uri=str(file), offset=10),)),) * 2
    assert again.layout.text is not None
    assert (again.layout.text.keys[0].first_field, again.layout.text.unique) == (1, True)
    assert dataset_of(json.loads(again.to_json())) == again


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (CsvColumns(keys=("what",), delimiter=b";"), "columns are separated by ','"),
        (CsvColumns(keys=("1",), header=False), "its files have a header"),
    ],
)
def test_a_manifest_of_other_csv_is_refused(tmp_path: Path, columns: CsvColumns, reason: str) -> None:
    file = written(tmp_path / "a.csv", b"time,what\n1,x\n")
    write_manifest(rows_of([str(file)], BY_TIME, unique=False), tmp_path / "a.json")
    with pytest.raises(BadInputError, match=reason):
        rows_of([str(tmp_path / "a.json")], columns, unique=False)


def test_headers_must_be_equal(tmp_path: Path) -> None:
    files = [written(tmp_path / "a.csv", b"time,what\n"), written(tmp_path / "b.csv", b"time,which\n")]
    with refused("header-mismatch", "column 2", "'which'", "'what'"):
        rows_of([str(file) for file in files], BY_TIME, unique=False)


def test_a_directory_is_all_its_files(tmp_path: Path) -> None:
    first, second = tmp_path / "b.csv", tmp_path / "a.csv"
    for path in (first, second, tmp_path / "_SUCCESS"):
        written(path, b"time,what\n1,a\n")
    (tmp_path / "c.csv").touch()
    dataset = rows_of([str(tmp_path)], BY_TIME, unique=False)
    copies = [Copy(uri=str(path), offset=10) for path in (second, first)]
    assert dataset.partitions == tuple(Partition(records=4, copies=(copy,)) for copy in copies)
    lines = lines_of([str(tmp_path), str(tmp_path / "c.csv")], TextFormat())
    assert [partition.records for partition in lines.partitions] == [14, 14, 0]


def test_lines_are_no_manifest_of_csv(tmp_path: Path) -> None:
    write_manifest(lines_of([str(written(tmp_path / "a", b"x\n"))], TextFormat()), tmp_path / "a.json")
    with pytest.raises(BadInputError, match="not of CSV"):
        rows_of([str(tmp_path / "a.json")], BY_TIME, unique=False)


@cache
def text() -> bytes:
    """Return the files' content, made on first use: every process of the suite loads this file."""
    draw = random.Random(1).randrange
    return b"".join(b"%d,%d\n" % (draw(10**9), n) for n in range(200_000))


def test_sizes_are_estimated_and_survive_a_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.log").write_bytes(b"x\n")
    (tmp_path / "b.log").write_bytes(gzip.compress(text()))
    packed = zstandard.compress(text())
    for number in range(20):
        (tmp_path / f"c{number:02d}").write_bytes(packed)
    dataset = files_dataset(InputFormat(), [str(tmp_path)], say=print)
    plain, gz, *zst = dataset.partitions
    assert (plain.records, plain.is_estimated, plain.copies) == (2, False, (Copy(uri=str(tmp_path / "a.log")),))
    assert gz.copies == (Copy(uri=str(tmp_path / "b.log"), compression="gz"),)
    assert {part.copies[0].compression for part in zst} == {"zst"}
    assert all(part.is_estimated and abs(part.records / len(text()) - 1) < 0.3 for part in [gz, *zst])
    assert dataset_of(json.loads(dataset.to_json())) == dataset
    assert "note: 21 of 22 files are compressed. Each is one split" in capsys.readouterr().out


def test_the_header_of_compressed_csv_is_read_and_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"k,t\n1,x\n"))
    (tmp_path / "b.csv").write_bytes(b"k,t\n2,y\n")
    dataset = rows_of([str(tmp_path)], CsvColumns(keys=("k:int",)), unique=False)
    assert [(part.records, part.copies[0].offset, part.is_estimated) for part in dataset.partitions] == [
        (4, 4, True),
        (4, 4, False),
    ]


@pytest.mark.parametrize(("kept_bytes", "after"), [(5000, b""), (60, b"damaged" * 1000)], ids=["cut", "damaged"])
def test_a_damaged_beginning_is_named(tmp_path: Path, kept_bytes: int, after: bytes) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(text())[:kept_bytes] + after)
    for reading in (
        lambda: lines_of([str(tmp_path / "a.gz")], TextFormat()),
        lambda: rows_of([str(tmp_path / "a.gz")], CsvColumns(keys=("1",), header=False), unique=False),
    ):
        with pytest.raises(BadInputError, match=r"a\.gz: the gzip data (end early|are damaged)"):
            reading()


def test_text_that_was_compressed_twice_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"b\na\n")))
    with refused("twice-compressed", "a.gz"):
        lines_of([str(path)], TextFormat())

"""Compressed text as a dataset: what files hold is estimated from their beginnings, and told to be so."""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path

import pytest
import zstandard

from planner.api.input_format import InputFormat
from planner.distributed_sort.dataset.dataset import Copy, TextFormat, dataset_of
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.errors import BadInputError
from planner.sorting.text.text_files import CsvColumns


@cache
def text() -> bytes:
    """Return what the files hold, made when a test asks for it: every process of the suite loads this file."""
    draw = random.Random(1).randrange
    return b"".join(b"%d,%d\n" % (draw(10**9), n) for n in range(200_000))


def test_sizes_are_estimated_and_survive_a_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.log").write_bytes(b"x\n")
    (tmp_path / "b.log").write_bytes(gzip.compress(text()))
    packed = zstandard.compress(text())
    for number in range(20):
        (tmp_path / f"c{number:02d}").write_bytes(packed)
    dataset = InputFormat().dataset_of([str(tmp_path)], say=print)
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

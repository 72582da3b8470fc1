"""JSON files of instruments are read whole or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.measurement.ingest.json_documents import day_of, number

DATA = Path(__file__).parent / "data"
FIO = json.loads((DATA / "fio_read.json").read_text())


def test_fio_talk_before_its_json_is_passed_over(tmp_path: Path, read: Callable[..., Any]) -> None:
    path = tmp_path / "talk.json"
    path.write_text("fio: a warning\n" + (DATA / "fio_read.json").read_text())
    assert read(path)[0].bytes_per_s == FIO["jobs"][0]["read"]["bw_bytes"]


@pytest.mark.parametrize(
    ("before", "after"),
    [("", "fio: pid=12, got signal=2\n"), ("  ", ""), ("r: (g=0): rw=read\n", "r: (groupid=0): err= 0\n")],
)
def test_what_fio_says_around_its_json_is_passed_over(
    before: str, after: str, tmp_path: Path, read: Callable[..., Any]
) -> None:
    path = tmp_path / "talk.json"
    path.write_text(before + json.dumps(FIO) + "\n" + after)
    assert [row.bytes_per_s for row in read(path)] == [FIO["jobs"][0]["read"]["bw_bytes"]]


def test_several_documents_of_one_file_all_count(tmp_path: Path, read: Callable[..., Any]) -> None:
    path = tmp_path / "both.json"
    path.write_text((DATA / "fio_read.json").read_text() + (DATA / "fio_write_plus.json").read_text())
    assert [row.quantity for row in read(path)] == ["read_only", "write_only"]


def test_a_second_document_that_is_cut_off_is_refused(tmp_path: Path, read: Callable[..., Any]) -> None:
    path = tmp_path / "both.json"
    path.write_text((DATA / "fio_read.json").read_text() + "\n" + (DATA / "fio_write_plus.json").read_text()[:900])
    with refused("not-json", "both.json"):
        read(path)


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.99])
@pytest.mark.parametrize("name", ["fio_read.json", "fio_write_plus.json", "iperf3_p4.json"])
def test_truncated_files_are_refused(tmp_path: Path, name: str, cut: float, read: Callable[..., Any]) -> None:
    text, path = (DATA / name).read_text().rstrip(), tmp_path / "cut.json"
    path.write_text(text[: int(len(text) * cut)])
    with refused("not-json", "cut.json"):
        read(path)


def test_numbers_are_plain_and_not_negative() -> None:
    path = Path("f.json")
    assert number(path, {"x": 3}, "x") == 3.0
    for holder in ({}, {"x": "3"}, {"x": True}, {"x": -1}, None):
        with pytest.raises(BadInputError, match=r"f\.json: x is"):
            number(path, holder, "x")


@pytest.mark.parametrize(
    ("seconds", "day"), [(1_795_300_000, date(2026, 11, 21)), (0, None), (True, None), ("1", None)]
)
def test_a_day_is_that_of_a_unix_time(seconds: object, day: date | None) -> None:
    assert day_of(seconds) == day

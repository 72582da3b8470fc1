"""Validation against valsort's known answers, by parts and as a whole."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.errors import BadInputError, InterruptedRunError, IoFailureError, ValidationFailedError
from planner.native import Progress, core
from planner.sorting.records.generate import generate_file
from planner.sorting.records.validate import validate_files, validate_summaries


@pytest.mark.parametrize(
    ("records", "ascii", "skew", "checksum"),
    [
        (10**6, False, False, "7a0e0d4868cd4"),
        (10**6, False, True, "79f9a7e6de673"),
        pytest.param(10**7, True, False, "4c48a881c779d5", marks=pytest.mark.soak),
    ],
)
def test_known_checksums(tmp_path: Path, records: int, ascii: bool, skew: bool, checksum: str) -> None:
    generate_file(tmp_path / "records", records=records, ascii=ascii, skew=skew)
    assert validate_files([tmp_path / "records"]).checksum == checksum


def test_unordered_records(tmp_path: Path) -> None:
    generate_file(tmp_path / "records", records=10**6)
    report = validate_files([tmp_path / "records"])
    assert (report.records, report.unordered, report.first_unordered) == (10**6, 499452, 2)
    assert report.to_dict()["sorted"] is False
    with refused("not-sorted", "499452 of 1000000", "record 3", kind=ValidationFailedError):
        report.require_sorted()


@given(
    keys=st.lists(st.binary(min_size=2, max_size=2), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=3),
    threads=st.integers(1, 5),
)
def test_parts_and_their_summaries_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory, keys: list[bytes], cuts: list[int], threads: int
) -> None:
    directory = tmp_path_factory.mktemp("parts")
    records = [b"x" + key + b"yz" for key in keys]
    edges = [0, *sorted(min(cut, len(records)) for cut in cuts), len(records)]
    names = []
    for number, (begin, end) in enumerate(pairwise(edges)):
        names.append(directory / f"{number}")
        names[-1].write_bytes(b"".join(records[begin:end]))
        validate_files(
            [names[-1]], record_size=5, key_offset=1, key_size=2, threads=1, summary=directory / f"{number}.sum"
        )
    report = validate_files(names, record_size=5, key_offset=1, key_size=2, threads=threads)
    falls = [i + 1 for i, (a, b) in enumerate(pairwise(keys)) if b < a]
    assert report.records == len(keys)
    assert report.unordered == len(falls)
    assert report.first_unordered == (falls[0] if falls else None)
    assert report.duplicates == sum(a == b for a, b in pairwise(keys))
    assert report.checksum == f"{sum(crc32(record) for record in records):x}"
    assert validate_summaries([f"{name}.sum" for name in names]) == report


def test_half_a_record(tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(bytes(250))
    with pytest.raises(BadInputError, match=r"records holds 250 bytes.*50 are left over"):
        validate_files([tmp_path / "records"])


def test_nothing_named() -> None:
    with refused("missing-argument"):
        validate_files([])


@pytest.mark.parametrize("key", [(0, 0), (95, 6), (100, 1)])
def test_key_outside_its_record(tmp_path: Path, key: tuple[int, int]) -> None:
    (tmp_path / "records").write_bytes(bytes(200))
    with pytest.raises(BadInputError, match="key"):
        validate_files([tmp_path / "records"], key_offset=key[0], key_size=key[1])


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(IoFailureError, match="missing"):
        validate_files([tmp_path / "missing"])
    with pytest.raises(BadInputError, match="not a regular file"):
        validate_files([tmp_path])


def test_no_summary(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"text")
    with refused("bad-record", "other"):
        validate_summaries([tmp_path / "other"])
    with pytest.raises(IoFailureError, match="missing"):
        validate_summaries([tmp_path / "missing"])


def test_summaries_of_different_formats(tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(bytes(200))
    validate_files([tmp_path / "records"], summary=tmp_path / "a")
    validate_files([tmp_path / "records"], key_size=5, summary=tmp_path / "b")
    with pytest.raises(BadInputError, match="different record formats"):
        validate_summaries([tmp_path / "a", tmp_path / "b"])


def test_summary_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(bytes(200))
    with pytest.raises(IoFailureError, match="summary"):
        validate_files([tmp_path / "records"], summary=tmp_path / "nowhere" / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


def test_cancelled(tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(bytes(200))
    progress = Progress()
    progress.cancel()
    with pytest.raises(InterruptedRunError):
        validate_files([tmp_path / "records"], progress=progress)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_summary_or_refused(content: bytes) -> None:
    with pytest.raises(core.RecordError):
        core.Summary.parse(b"SORTSUM1" + content)

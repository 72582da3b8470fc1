"""The generator against the published MD5 sums, and its promises about files."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import BadInputError, InterruptedRunError, IoFailureError
from planner.native import Progress, core
from planner.sorting.records.generate import generate_file, is_generated


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("ascii", "skew", "expected"),
    [
        (False, False, "11b7c8fb09c3721676093b5739e2d7b5"),
        (True, False, "dcddf6e1545f0c81bf9e37d24963be70"),
        (False, True, "a4cd19c6bf517eba86b16888beaa670a"),
        (True, True, "d23ad9e3c4b9500692bc70907ccfb6e4"),
    ],
)
def test_first_million_records(tmp_path: Path, ascii: bool, skew: bool, expected: str) -> None:
    report = generate_file(tmp_path / "records", records=10**6, ascii=ascii, skew=skew)
    assert md5(tmp_path / "records") == expected
    assert asdict(report) | {"time_s": 0} == {
        "path": str(tmp_path / "records"),
        "records": 10**6,
        "start": 0,
        "ascii": ascii,
        "skew": skew,
        "bytes_written": 10**8,
        "time_s": 0,
    }


def test_start_far_on(tmp_path: Path) -> None:
    generate_file(tmp_path / "records", records=1000, start=10**12, threads=1)
    assert md5(tmp_path / "records") == "209152ad2204bd7a0f3964df31bb2552"


@given(start=st.integers(0, 2**128 - 1), at=st.integers(0, 99), ascii=st.booleans(), skewed=st.booleans())
def test_any_record_alone_is_the_same(start: int, at: int, ascii: bool, skewed: bool) -> None:
    whole, alone = bytearray(100 * 100), bytearray(100)
    core.generate_records(whole, start=start, ascii=ascii, skewed=skewed, threads=1)
    core.generate_records(alone, start=(start + at) % 2**128, ascii=ascii, skewed=skewed, threads=1)
    assert whole[100 * at : 100 * (at + 1)] == alone


def test_nothing_is_a_file_too(tmp_path: Path) -> None:
    generate_file(tmp_path / "empty", records=0)
    assert (tmp_path / "empty").read_bytes() == b""


@pytest.mark.parametrize(("records", "start"), [(-1, 0), (1, -1), (1, 2**128), (2**70, 0), (2**63, 0)])
def test_impossible_numbers(tmp_path: Path, records: int, start: int) -> None:
    with pytest.raises(BadInputError, match="records"):
        generate_file(tmp_path / "records", records=records, start=start)
    assert list(tmp_path.iterdir()) == []


def test_unwritable_directory(tmp_path: Path) -> None:
    with pytest.raises(IoFailureError, match="nowhere"):
        generate_file(tmp_path / "nowhere" / "records", records=1)


def test_cancelled_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "records"
    target.write_bytes(b"before")
    progress = Progress()
    progress.cancel()
    with pytest.raises(InterruptedRunError):
        generate_file(target, records=10**6, progress=progress)
    assert target.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    progress = Progress()
    generate_file(tmp_path / "records", records=50_000, progress=progress)
    assert (progress.bytes_done, progress.bytes_total, progress.phase) == (5_000_000, 5_000_000, 0)


@pytest.mark.parametrize("options", [{}, {"ascii": True}, {"skew": True}, {"ascii": True, "skew": True}])
@pytest.mark.parametrize("start", [0, 2**100, 2**128 - 300])
def test_generated_records_are_told_from_others(tmp_path: Path, options: dict[str, Any], start: int) -> None:
    generate_file(tmp_path / "records", records=600, start=start, **options)
    content = (tmp_path / "records").read_bytes()
    in_order = b"".join(sorted(content[at : at + 100] for at in range(0, len(content), 100)))
    for records in (content, in_order, content[:100], content[:-7]):
        assert is_generated(records)
    for others in (content[1:], content[:-100] + bytes(100), content[:50], b"", content[:100] + b"x\n" * 50):
        assert not is_generated(others)


def test_random_bytes_are_not_taken_for_generated() -> None:
    assert not any(is_generated(np.random.default_rng(seed).bytes(100)) for seed in range(2000))

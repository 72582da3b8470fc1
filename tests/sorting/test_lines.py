"""Sorting text by lines: any bytes, in memory and in runs, in the order of sorted() and GNU sort."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import planner
from planner.compression.looks import has_magic_bytes
from planner.errors import BadInputError
from planner.sorting.records.keyed import TextReport

SMALL_MEMORY_BYTES = 24_000_000


def expected(texts: Sequence[bytes], *, key_offset: int = 0, key_size: int | None = None) -> bytes:
    """Return the lines of all texts sorted by key, equal keys in order; a missing last newline is added."""
    lines = [line for text in texts for line in text.removesuffix(b"\n").split(b"\n") if text]
    end = None if key_size is None else key_offset + key_size
    return b"".join(line + b"\n" for line in sorted(lines, key=lambda line: line[key_offset:end]))


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def log_lines(count: int, *, seed: int = 1) -> list[bytes]:
    """Return unordered lines of mixed length that start alike, with any bytes but newlines."""
    random = np.random.default_rng(seed)
    seconds = random.integers(0, 86_400, count)
    rests = random.bytes(count * 60).replace(b"\n", b"\r")
    lengths = random.integers(0, 60, count)
    return [
        b"2026-11-21T%05d host%d: %s" % (second, second % 7, rests[60 * i : 60 * i + length])
        for i, (second, length) in enumerate(zip(seconds.tolist(), lengths.tolist(), strict=True))
    ]


def many_lines(shape: str, *, count: int = 350_000) -> bytes:
    lines = log_lines(count)
    if shape == "all equal":
        lines = [b"the same line again and again, and again and again"] * count
    elif shape == "empty":
        lines = [b""] * (10 * count)
    elif shape == "nine in ten equal":
        lines[: count * 9 // 10] = [b"mostly this"] * (count * 9 // 10)
    elif shape == "long common beginning":
        lines = [b"/a/path/that/all/share/" * 20 + line[-5:] for line in lines[: count // 6]]
    elif shape == "ascending":
        lines.sort()
    elif shape == "long lines":
        lines = [line * (1 + 100 * (i % 50 == 0)) for i, line in enumerate(lines[: count // 2])]
    return b"\n".join(lines)


texts = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"\0")), max_size=40).flatmap(
    lambda lines: st.sampled_from([b"\n".join(lines), b"".join(line + b"\n" for line in lines)])
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(texts, min_size=1, max_size=3),
    key_offset=st.integers(0, 5),
    key_size=st.one_of(st.none(), st.integers(1, 10)),
)
def test_any_bytes(tmp_path: Path, parts: list[bytes], key_offset: int, key_size: int | None) -> None:
    assume(not any(map(has_magic_bytes, parts)))
    paths = [tmp_path / f"in{number}" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    range_of_bytes: dict[str, Any] = {"key_offset": key_offset, "key_size": key_size}
    planner.sort(paths, tmp_path / "out", format="lines", **range_of_bytes, force=True)
    assert (tmp_path / "out").read_bytes() == expected(parts, **range_of_bytes)


@pytest.mark.parametrize(
    "shape", ["log", "all equal", "empty", "nine in ten equal", "long common beginning", "ascending", "long lines"]
)
def test_runs_of_any_distribution_are_merged(tmp_path: Path, shape: str) -> None:
    text = many_lines(shape)
    (tmp_path / "in").write_bytes(text)
    done = sort_in_runs(tmp_path)
    output = (tmp_path / "out").read_bytes()
    assert output == expected([text])
    assert done.count == output.count(b"\n")
    assert names_in(tmp_path) == ["in", "out"]


def sort_in_runs(folder: Path, **options: Any) -> planner.SortResult:
    done = planner.sort(
        folder / "in", folder / "out", format="lines", memory_bytes=SMALL_MEMORY_BYTES, threads=2, force=True, **options
    )
    assert isinstance(done.report, TextReport)
    assert done.report.runs > 1 or (folder / "in").stat().st_size < SMALL_MEMORY_BYTES
    return done


@pytest.mark.parametrize("memory_bytes", [None, SMALL_MEMORY_BYTES])
def test_a_key_range_is_stable(tmp_path: Path, memory_bytes: int | None) -> None:
    text = many_lines("log", count=500_000)
    (tmp_path / "in").write_bytes(text)
    options: dict[str, Any] = {"key_offset": 19, "key_size": 4}
    planner.sort(tmp_path / "in", tmp_path / "out", lines=True, memory_bytes=memory_bytes, **options)
    assert (tmp_path / "out").read_bytes() == expected([text], **options)


def test_like_gnu_sort(tmp_path: Path) -> None:
    program = shutil.which("sort")
    if program is None:
        pytest.skip("there is no sort program to compare with")
    (tmp_path / "in").write_bytes(many_lines("log", count=100_000) + b"\x00\n\xff\r\n\n\n")
    planner.sort(tmp_path / "in", tmp_path / "out", format="lines", force=True)
    command = [program, "-o", str(tmp_path / "theirs"), str(tmp_path / "in")]
    subprocess.run(command, check=True, env=os.environ | {"LC_ALL": "C"})
    assert (tmp_path / "out").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_several_inputs(tmp_path: Path) -> None:
    parts = [many_lines("log", count=150_000), b"", b"\n\nno newline at the end", many_lines("log", count=90_000)]
    inputs = [tmp_path / f"in{number}" for number in range(len(parts))]
    for path, part in zip(inputs, parts, strict=True):
        path.write_bytes(part)
    done = planner.sort(inputs, tmp_path / "out", format="lines", memory_bytes=SMALL_MEMORY_BYTES)
    assert (tmp_path / "out").read_bytes() == expected(parts)
    assert done.count == expected(parts).count(b"\n")


def test_a_long_line_among_short_ones(tmp_path: Path) -> None:
    text = many_lines("log")
    with_long = text[:9_000_000] + b"\n2026" + bytes(2_000_000) + b"\n" + text[9_000_000:]
    (tmp_path / "in").write_bytes(with_long)
    sort_in_runs(tmp_path)
    assert (tmp_path / "out").read_bytes() == expected([with_long])


def test_many_empty_lines_between_long_ones(tmp_path: Path) -> None:
    text = bytearray(b"x" * 99 + b"\n") * 300_000
    for at in range(0, len(text), len(text) // 64):
        text[at + 50_000 : at + 400_000] = b"\n" * 350_000
    (tmp_path / "in").write_bytes(text)
    planner.sort(tmp_path / "in", tmp_path / "out", format="lines", memory_bytes=100_000_000)
    lines = sorted(re.findall(rb"[^\n]+", text))
    empty = text.count(b"\n") - len(lines)
    assert (tmp_path / "out").read_bytes() == b"\n" * empty + b"\n".join(lines) + b"\n"


@pytest.mark.parametrize(("shape", "message"), [({"key_size": 0}, "at least 1"), ({"key_offset": -1}, "at least 0")])
def test_impossible_keys_are_refused(tmp_path: Path, shape: dict[str, int], message: str) -> None:
    (tmp_path / "in").write_bytes(b"b\na\n")
    with pytest.raises(BadInputError, match=message):
        planner.sort(tmp_path / "in", tmp_path / "out", format="lines", **shape)
    assert names_in(tmp_path) == ["in"]

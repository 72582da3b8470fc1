"""Lines that take much of the memory: sorted within it, or refused by name before it is exceeded."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from refusals import refused

import planner
from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.records.keyed import TextOrder, sort_text
from planner.sorting.records.keys import parse_key
from planner.sorting.text.text_files import sort_text_files
from planner.sorting.text.text_job import CsvColumns, TextJob

MEMORY_BYTES = 30_000_000
SHORT = [b"%d,%s\n" % (i * 7919 % 30_011, b"x" * (i % 90)) for i in range(60_000)]
BEGIN = 20_000
"""Number of short lines before the long one."""
BY_NUMBER = TextOrder(keys=(parse_key("1,1n"),), separator=b",", stable=True)
BY_TEXT = TextOrder(keys=(parse_key("2,2f"),), separator=b",", stable=True)

PEAK = """
import sys
from planner.native import Progress
from planner.sorting.records.keyed import TextOrder
from planner.sorting.records.keys import parse_key
from planner.sorting.text.text_files import sort_text_files
from planner.sorting.text.text_job import TextJob
def peak():
    return next(int(line.split()[1]) << 10 for line in open('/proc/self/status') if line.startswith('VmHWM'))
source, output, memory, key, unique = sys.argv[1:]
keys = (parse_key(key),) if key else ()
order = TextOrder(keys=keys, separator=b",", stable=bool(key), unique=unique == "unique")
small = TextJob(inputs=("/dev/null",), output=output, order=order, threads=2)
sort_text_files(small, Progress())
before = peak()
try:
    sort_text_files(TextJob(inputs=(source,), output=output, order=order, memory_bytes=int(memory), threads=2), Progress())
finally:
    print(peak() - before)
"""  # noqa: E501


@dataclass(frozen=True)
class Text:
    """Short lines with a long one among them."""

    path: Path
    lines: list[bytes]

    @property
    def offset(self) -> int:
        return sum(map(len, self.lines[:BEGIN]))


def text_with(path: Path, *, long_bytes: int) -> Text:
    lines = [*SHORT[:BEGIN], b"500,%s\n" % (b"yZ" * (long_bytes // 2)), *SHORT[BEGIN:]]
    path.write_bytes(b"".join(lines))
    return Text(path, lines)


def sort(
    source: Text, *, order: TextOrder = BY_NUMBER, memory_bytes: int = MEMORY_BYTES, exceed: bool = False
) -> bytes:
    output = source.path.with_suffix(".out")
    sort_text(
        [str(source.path)], str(output), order=order, memory_bytes=memory_bytes, lines_may_exceed_memory=exceed,
        temp_dirs=[str(output.parent)], threads=2,
    )  # fmt: skip
    return output.read_bytes()


def in_order(source: Text, order: TextOrder) -> bytes:
    if order is BY_TEXT:
        return b"".join(sorted(source.lines, key=lambda line: line.split(b",")[1].rstrip(b"\n").upper()))
    return b"".join(sorted(source.lines, key=lambda line: int(line.split(b",")[0])))


@pytest.mark.parametrize("order", [BY_NUMBER, BY_TEXT])
def test_a_line_longer_than_memory_is_named_and_what_would_do_does(tmp_path: Path, order: TextOrder) -> None:
    source = text_with(tmp_path / "text", long_bytes=40_000_000)
    size = len(source.lines[BEGIN]) - 1
    with pytest.raises(BadInputError) as refused:
        sort(source, order=order)
    message = str(refused.value)
    assert f"{source.path}: the line that begins at byte {source.offset} has {size} bytes" in message
    assert f"do not fit into {MEMORY_BYTES} bytes of memory" in message
    assert not source.path.with_suffix(".out").exists()
    needed = re.search(r"give at least (\d+)", message)
    assert needed
    assert sort(source, order=order, memory_bytes=int(needed[1])) == in_order(source, order)


@pytest.mark.parametrize("order", [BY_NUMBER, BY_TEXT, TextOrder()])
def test_gnu_sort_exceeds_memory_and_so_may_ours(tmp_path: Path, order: TextOrder) -> None:
    source = text_with(tmp_path / "text", long_bytes=40_000_000)
    expected = b"".join(sorted(source.lines)) if not order.keys else in_order(source, order)
    assert sort(source, order=order, exceed=True) == expected


def test_several_lines_that_cannot_be_merged_all_at_once_are_merged_in_rounds(tmp_path: Path) -> None:
    source = text_with(tmp_path / "text", long_bytes=5_000_000)
    many = Text(source.path, source.lines * 3)
    many.path.write_bytes(b"".join(many.lines))
    assert sort(many) == in_order(many, BY_NUMBER)


def test_a_line_is_named_in_the_file_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "first").write_bytes(b"".join(SHORT))
    source = text_with(tmp_path / "second", long_bytes=40_000_000)
    job = TextJob(inputs=(str(tmp_path / "first"), str(source.path)), output=str(tmp_path / "out"), order=BY_NUMBER,
                  force=True, memory_bytes=MEMORY_BYTES)  # fmt: skip
    with refused("memory", "second: ", f"byte {source.offset} "):
        sort_text_files(job, Progress())


def test_a_row_of_csv_that_is_compressed_is_named_by_its_place_in_the_text(tmp_path: Path) -> None:
    row = b'7,"%s"\n' % (b'a\n""' * 10_000_000)
    text = b"key,text\n" + b"".join(SHORT[:BEGIN]) + row + b"".join(SHORT[BEGIN:])
    (tmp_path / "in.gz").write_bytes(gzip.compress(text, 1))
    job = TextJob(inputs=(str(tmp_path / "in.gz"),), output=str(tmp_path / "out"), csv=CsvColumns(keys=("key:int",)),
                  force=True, memory_bytes=MEMORY_BYTES)  # fmt: skip
    with refused("memory", "in.gz", f"byte {text.index(row)} has {len(row) - 1}"):
        sort_text_files(job, Progress())
    assert not (tmp_path / "out").exists()


def test_a_line_of_an_input_that_is_merged_is_named(tmp_path: Path) -> None:
    sources = [text_with(tmp_path / name, long_bytes=size) for name, size in (("a", 1000), ("b", 40_000_000))]
    equal = TextOrder(keys=(parse_key("9,9"),), stable=True)  # no line has 9 fields
    job = TextJob(inputs=tuple(str(source.path) for source in sources), output=str(tmp_path / "out"), merge=True,
                  force=True, memory_bytes=MEMORY_BYTES, order=equal)  # fmt: skip
    with refused("memory", "b: ", f"byte {sources[1].offset} has 40000004"):
        sort_text_files(job, Progress())


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read in /proc")
@pytest.mark.parametrize("long_bytes", [300_000, 3_000_000, 9_000_000, 14_000_000, 22_000_000, 90_000_000])
@pytest.mark.parametrize("order", ["1,1n", "2,2", "", "2,2f unique", " unique"])
def test_memory_is_not_exceeded(tmp_path: Path, long_bytes: int, order: str) -> None:
    source = text_with(tmp_path / "text", long_bytes=long_bytes)
    key, _, unique = order.partition(" ")
    command = [sys.executable, "-c", PEAK, str(source.path), str(tmp_path / "out"), str(MEMORY_BYTES), key, unique]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0 or "BadInputError" in result.stderr, result.stderr
    assert int(result.stdout) < MEMORY_BYTES * 12 // 10


def test_the_shortest_lines_fit_into_the_least_memory_of_gnu_sort(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"\n" * 3_000_000)
    sort_text([str(tmp_path / "in")], str(tmp_path / "out"), order=TextOrder(), memory_bytes=1,
              lines_may_exceed_memory=True, temp_dirs=[str(tmp_path)])  # fmt: skip
    assert (tmp_path / "out").stat().st_size == 3_000_000


def test_whole_lines_are_sorted_however_long_they_are_and_whatever_is_in_the_page_cache(tmp_path: Path) -> None:
    source = text_with(tmp_path / "in", long_bytes=1_100_000)
    for warm in (True, False):
        if not warm:
            drop_from_page_cache(source.path)
        planner.sort(source.path, tmp_path / "out", format="lines", memory_bytes=32 << 20, force=True)
        assert (tmp_path / "out").read_bytes() == b"".join(sorted(source.lines))


def test_lines_are_sorted_into_their_own_file(tmp_path: Path) -> None:
    (source := tmp_path / "in").write_bytes(b"b\na\n")
    (other := tmp_path / "other").hardlink_to(source)
    for options in ({}, {"key": "1,1"}):
        source.write_bytes(b"b\na\n")
        planner.sort(source, source, format="lines", force=True, **options)
        assert source.read_bytes() == other.read_bytes() == b"a\nb\n"


def drop_from_page_cache(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

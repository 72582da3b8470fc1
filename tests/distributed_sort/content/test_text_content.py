"""Text as the content of a dataset: every line once, however a partition is cut."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.content.text_content import Text, TextSplitting
from planner.distributed_sort.dataset.dataset import Copy, CsvFormat, Layout, Partition, TextFormat, grid_of
from planner.distributed_sort.dataset.partition_reader import Slice
from planner.sorting.records.keys import Key, parse_key

TEXTS = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=40).map(b"\n".join)


def partition_of(text: bytes, folder: Path) -> Partition:
    path = folder / "text"
    path.write_bytes(text)
    return Partition(records=len(text), copies=(Copy(uri=str(path)),))


@given(text=TEXTS, cuts=st.lists(st.integers(min_value=0, max_value=1300), max_size=8))
def test_every_line_is_in_the_slice_that_it_begins_in(
    text: bytes, cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    partition = partition_of(text, tmp_path_factory.mktemp("text"))
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    read = [
        bytes(Text(TextFormat()).read_slice(partition, Slice(number=0, partition=0, first=first, records=end - first)))
        for first, end in pairwise(edges)
    ]
    assert b"".join(read) == (text if text.endswith(b"\n") or not text else text + b"\n")
    begins = [0] + [place + 1 for place, byte in enumerate(text[:-1]) if byte == ord("\n")]
    for part, (first, end) in zip(read, pairwise(edges), strict=True):
        lines = part.removesuffix(b"\n").count(b"\n") + bool(part)
        assert lines == sum(first <= begin < end for begin in begins)


def test_a_line_longer_than_many_slices_is_read_whole(tmp_path: Path) -> None:
    text = b"a" * 200_000 + b"\nb\n"
    partition = partition_of(text, tmp_path)
    of = Text(TextFormat())
    assert bytes(of.read_slice(partition, Slice(number=0, partition=0, first=0, records=10))) == text[:200_001]
    assert bytes(of.read_slice(partition, Slice(number=1, partition=0, first=10, records=190_000))) == b""
    assert bytes(of.read_slice(partition, Slice(number=2, partition=0, first=190_010, records=9_993))) == b"b\n"


def test_groups_are_by_the_key() -> None:
    text = np.frombuffer(b"x,10\ny,9\nz,2\na,33\n", np.uint8)
    of = content_of(Layout.of_text(TextFormat(keys=(parse_key("2,2n"),), separator=",")))
    splitting = TextSplitting(boundaries=((b",9", False), (b",10", True)), pieces=(1, 1, 1), weights=(0.3, 0.4, 0.3))
    grouped, offsets = of.group(text, splitting, 1)
    # of equal keys lines compare: ",9" < "y,9" and ",10" < "x,10"
    assert bytes(grouped) == b"z,2\ny,9\nx,10\na,33\n"
    assert offsets.tolist() == [0, 4, 8, 18]


def test_a_frequent_line_is_cut_between_lines() -> None:
    text = np.frombuffer(b"b\nkk\nkk\nkk\nkk\nz\n", np.uint8)
    splitting = TextSplitting(
        boundaries=((b"kk", False), (b"kk", True)), pieces=(1, 2, 1), weights=(0.2, 0.3, 0.3, 0.2)
    )
    grouped, offsets = Text(TextFormat()).group(text, splitting, 1)
    assert bytes(grouped) == bytes(text)
    assert offsets.tolist() == [0, 2, 8, 14, 16]


def test_the_first_and_the_last_line_may_be_long() -> None:
    of = Text(TextFormat())
    for first, last in ((b"a" * 200_000, b"z" * 64_000), (b"", b"z" * 64_001), (b"b", b"")):
        text = np.frombuffer(first + b"\nm\n" + last + b"\n", np.uint8)
        summary = of.summary(text, 1)
        assert (summary.first, summary.last) == (first, last)


@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_summaries_add_up(texts: list[bytes]) -> None:
    of = Text(TextFormat())
    parts = [text if text.endswith(b"\n") or not text else text + b"\n" for text in texts]
    whole = of.summary(np.frombuffer(b"".join(parts), np.uint8), 1)
    first, *rest = [of.parse_summary(of.summary(np.frombuffer(part, np.uint8), 1).serialize()) for part in parts]
    for behind in rest:
        first.append(behind)
    assert first == whole


def test_order_is_checked_where_summaries_meet() -> None:
    of = Text(TextFormat(keys=(parse_key("1,1n"),)))
    below, above = (of.summary(np.frombuffer(text, np.uint8), 1) for text in (b"2\n9\n", b"10\n11\n"))
    above.append(of.summary(np.frombuffer(b"2\n", np.uint8), 1))
    below.append(of.summary(np.frombuffer(b"10\n", np.uint8), 1))
    assert (below.unordered, above.unordered) == (0, 1)


CSV = TextFormat(
    keys=(Key(first_field=1, options="I"),),
    csv=CsvFormat(delimiter=",", columns=2, ends_with_crlf=True, header="a,b\r\n"),
)
VALUES = st.text(alphabet='ab",\n', max_size=6).map(lambda value: '"' + value.replace('"', '""') + '"')
ROWS = st.lists(st.tuples(VALUES, st.integers(min_value=0, max_value=9)), max_size=12)


@given(rows=ROWS, step=st.integers(min_value=1, max_value=20), data=st.data())
def test_quoted_newlines_end_no_row(
    rows: list[tuple[str, int]], step: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ended = [f"{text},{number}\r\n".encode() for text, number in rows]
    text = b"".join(ended)[: -data.draw(st.integers(min_value=0, max_value=2)) or None]  # the end may be cut off
    odd = [text[at : at + step].count(b'"') % 2 for at in range(0, len(text), step)]
    partition = partition_of(text, tmp_path_factory.mktemp("csv"))
    partition = replace(partition, quotes=grid_of([bytes(odd)], step))
    edges = sorted({0, len(text)} | data.draw(st.sets(st.integers(min_value=0, max_value=len(text)), max_size=6)))
    begins = [0, *accumulate(map(len, ended))]
    for first, end in pairwise(edges):
        read = bytes(
            Text(CSV).read_slice(
                partition.for_slice(first, end - first), Slice(number=0, partition=0, first=first, records=end - first)
            )
        )
        assert read == b"".join(row for row, begin in zip(ended, begins, strict=False) if first <= begin < end)


def test_a_row_without_its_last_quote_is_refused(tmp_path: Path) -> None:
    text = b'x,1\n"y,2\n'
    partition = replace(partition_of(text, tmp_path), quotes=grid_of([b"\1"], 100))
    with refused("open-quote"):
        Text(CSV).read_slice(partition, Slice(number=0, partition=0, first=0, records=len(text)))


def test_a_wrong_row_is_shown() -> None:
    text = np.frombuffer(b"x,1\ny,2,3\n", np.uint8)
    splitting = TextSplitting(boundaries=(), pieces=(1,), weights=(1.0,))
    with refused("bad-record", "row 'y,2,3'", "3 fields"):
        Text(CSV).group(text, splitting, 1)


def test_a_sample_has_lines_of_all_parts(tmp_path: Path) -> None:
    partition = partition_of(b"".join(b"%07d\n" % number for number in range(50_000)), tmp_path)
    numbers = [int(line) for line in Text(TextFormat()).sample(partition, 400)]
    assert 200 <= len(numbers) <= 800
    assert min(numbers) < 500
    assert max(numbers) > 47_000


def test_newlines_within_quotes_need_no_memory_of_rows() -> None:
    rows = b'1,"' + b"\n" * 999 + b'"\n2,"say ""\n"""\n' + b"3,x\n" * 50_000
    content = Text(TextFormat(keys=(Key(first_field=0),), csv=CsvFormat(delimiter=",", columns=2)))
    needed = content.needed_bytes(np.frombuffer(rows, np.uint8), 1)
    assert needed == 3 * len(rows) + 50_002 * 32


@pytest.mark.parametrize("line_bytes", [10, 1_000, 30_000])
def test_a_sample_has_as_many_lines_as_it_can_however_long_they_are(line_bytes: int, tmp_path: Path) -> None:
    count = 12_000_000 // line_bytes
    lines = b"".join(b"%-*d\n" % (line_bytes - 1, number) for number in range(count))
    numbers = [int(line) for line in Text(TextFormat()).sample(partition_of(lines, tmp_path), 1000)]
    assert min(count, 1000) * 0.5 <= len(numbers) <= 2000
    middle = sorted(numbers)[len(numbers) // 2]
    assert 0.45 * count < middle < 0.55 * count


def test_a_sample_of_csv_has_whole_rows_although_newlines_lie_within_quotes(tmp_path: Path) -> None:
    rows = [b'%d,"%s"' % (number, b"x\n" * (number % 40)) for number in range(20_000)]
    text, step = b"".join(row + b"\n" for row in rows), 3_000
    odd = bytes(text[first : first + step].count(b'"') % 2 for first in range(0, len(text), step))
    partition = replace(partition_of(text, tmp_path), quotes=grid_of([odd], step))
    text_format = TextFormat(keys=(Key(first_field=0),), csv=CsvFormat(delimiter=",", columns=2))
    sample = Text(text_format).sample(partition, 500)
    assert len(sample) > 250 and set(sample) <= set(rows)
    assert int(sample[-1].split(b",")[0]) > 19_000

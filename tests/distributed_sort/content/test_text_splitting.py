"""Partitions of text have equal weight, whatever the lines."""

from __future__ import annotations

import random

import numpy as np
import pytest

from planner.distributed_sort.content.text_content import Text, split_text
from planner.distributed_sort.dataset.dataset import TextFormat
from planner.sorting.records.keys import parse_key

MANY = [b"%06d" % number for number in range(10_000)]


def sizes(lines: list[bytes], text: TextFormat, *, partitions: int) -> list[int]:
    """Return the bytes of each partition of lines split by a sample of a tenth of them."""
    splitting = split_text(random.Random(1).sample(lines, len(lines) // 10), partitions=partitions, text=text)
    _, offsets = Text(text).group(np.frombuffer(b"\n".join(lines) + b"\n", np.uint8), splitting, 1)
    assert len(offsets) == splitting.partitions + 1
    assert sum(splitting.weights) == pytest.approx(1)
    return [int(size) for size in np.diff(offsets)]


@pytest.mark.parametrize("text", [TextFormat(), TextFormat(keys=(parse_key("1,1nr"),))])
def test_partitions_are_of_equal_weight(text: TextFormat) -> None:
    parts = sizes(MANY, text, partitions=8)
    assert len(parts) == 8
    assert max(parts) < 1.3 * min(parts)


def test_a_line_of_two_thirds_is_divided_among_partitions() -> None:
    parts = sizes(MANY + [b"004999"] * 20_000, TextFormat(), partitions=10)
    assert max(parts) < 1.6 * sum(parts) / 10


def test_of_lines_with_equal_keys_one_is_kept_so_that_they_stay_together() -> None:
    text = TextFormat(keys=(parse_key("1,1"),), separator=",", unique=True)
    splitting = split_text([b"a,%d" % number for number in range(100)], partitions=4, text=text)
    lines = b"".join(b"a,%d\n" % number for number in range(50))
    _, offsets = Text(text).group(np.frombuffer(lines, np.uint8), splitting, 1)
    assert sorted(np.diff(offsets))[-1] == len(lines)


def test_without_lines_there_is_one_partition() -> None:
    assert split_text([], partitions=5, text=TextFormat()).partitions == 1


@pytest.mark.parametrize("partitions", [2, 3, 4])
@pytest.mark.parametrize("count", [5_000, 12_000, 200_000])
def test_a_frequent_line_is_divided_among_few_partitions(partitions: int, count: int) -> None:
    """It may be chosen as a boundary only once."""
    parts = sizes([b"000000", *MANY, *[b"004999"] * count], TextFormat(), partitions=partitions)
    assert max(parts) < 1.6 * sum(parts) / partitions


@pytest.mark.parametrize("partitions", [2, 3, 5])
def test_nothing_but_one_line_is_divided(partitions: int) -> None:
    parts = sizes([b"same"] * 10_000, TextFormat(), partitions=partitions)
    assert max(parts) < 1.1 * sum(parts) / partitions

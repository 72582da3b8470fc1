"""Counting the quotes of a stretch."""

from __future__ import annotations

from pathlib import Path

from planner.distributed_sort.dataset.dataset import Copy, CsvFormat, Layout, Partition, TextFormat
from planner.distributed_sort.dataset.readable_input import flips
from planner.sorting.records.keys import Key

LAYOUT = Layout.of_text(TextFormat(keys=(Key(first_field=0),), csv=CsvFormat(delimiter=",", columns=2)))


def test_every_step_says_whether_its_quotes_are_odd(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b\n"x\n"",1\n"')  # behind the header: |"x|\n"|",|1\n|"|
    partition = Partition(records=9, copies=(Copy(uri=str(path), offset=4),))
    assert flips(partition, LAYOUT, 0, 2) == b"\1\1\1\0\1"
    assert flips(partition, LAYOUT, 4, 2) == b"\1\0\1"

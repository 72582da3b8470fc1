"""Parquet whose counts contradict each other is refused: pyarrow leaves out rows, repeats them, or takes very long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import planner
from planner.sorting.tables.parquet_parts import Field, read_footer_struct
from tests.sorting.mutated import chunks, pages, with_footer, with_page

Damage = Callable[[bytes], bytes]


def less(struct: Any, number: int, by: int = 1) -> None:
    struct[number] = struct[number]._replace(value=struct[number].value - by)


def in_footer(change: Callable[[Any], None]) -> Damage:
    def damage(content: bytes) -> bytes:
        footer = read_footer_struct(content)
        change(footer)
        return with_footer(content, footer)

    return damage


def all_counts(footer: Any, by: int) -> None:
    """The counts of the file, of its first row group and of that group's columns agree, and lie."""
    group = footer[4].value.values[0]
    less(footer, 3, by)
    less(group, 3, by)
    for chunk in group[1].value.values:
        less(chunk[3].value, 5, by)


def in_page(number: int, change: Callable[[Any], None]) -> Damage:
    def damage(content: bytes) -> bytes:
        page = pages(content)[number]
        data = content[page.place + page.header_bytes :][: page.bytes]
        change(page.header)
        return with_page(content, page, page.header, data)

    return damage


DAMAGES = {
    "rows of the file": in_footer(lambda footer: less(footer, 3)),
    "rows of a group": in_footer(lambda footer: less(footer[4].value.values[0], 3)),
    "no rows of a group": in_footer(lambda footer: less(footer[4].value.values[1], 3, 20)),
    "values of a column": in_footer(lambda footer: less(chunks(footer)[1][3].value, 5)),
    "all but the pages": in_footer(lambda footer: all_counts(footer, 1)),
    "all but the pages, by a page": in_footer(lambda footer: all_counts(footer, 10)),
    "all but the pages, beyond measure": in_footer(lambda footer: all_counts(footer, -(10**12))),
    "a group twice": in_footer(lambda footer: footer[4].value.values.append(footer[4].value.values[0])),
    "a group missing": in_footer(lambda footer: footer[4].value.values.pop()),
    "values of a page": in_page(0, lambda header: less(header[5].value, 1)),
    "very many values of a page": in_page(0, lambda header: less(header[5].value, 1, -(2**31 - 100))),
    "negative values of a page": in_page(0, lambda header: less(header[5].value, 1, 20)),
    "size of a page": in_page(0, lambda header: less(header, 3, -1)),
    "size of a page beyond the file": in_page(0, lambda header: less(header, 3, -(2**20))),
    "no values of a page": in_page(0, lambda header: header.pop(5)),
    "kind of a page": in_page(0, lambda header: header.update({1: Field(5, 1)})),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_counts_that_contradict_each_other_are_refused(damage: Damage, tmp_path: Path) -> None:
    path, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pa.table({"k": [i * 7 % 60 for i in range(60)], "s": [f"{i}" for i in range(60)]})
    pq.write_table(table, path, row_group_size=20, use_dictionary=False, data_page_size=40, write_batch_size=10)
    assert len(pages(path.read_bytes())) == 12
    path.write_bytes(damage(path.read_bytes()))
    how: dict[str, Any] = {"format": "parquet", "key": "k"}
    for act in (
        lambda: planner.sort(path, output, **how),
        lambda: planner.sort([path, path], output, merge=True, **how),
        lambda: planner.sort(path, output, consume_input=True, **how),
        lambda: planner.find_disorder(path, **how),
    ):
        with refused("not-a-table", str(path)):
            act()
    assert path.exists()
    assert not output.exists()


def test_lists_have_more_values_than_rows_but_not_fewer(tmp_path: Path) -> None:
    path, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"k": [2, 1, 3], "l": [[1, 2, 3], [], None]}), path)
    planner.sort(path, output, format="parquet", key="k")
    assert pq.read_table(output).column("l").to_pylist() == [[], [1, 2, 3], None]
    path.write_bytes(in_footer(lambda footer: less(chunks(footer)[1][3].value, 5, 3))(path.read_bytes()))
    with refused("not-a-table", "2 values of 3 rows"):
        planner.sort(path, output, format="parquet", key="k", force=True)


def test_a_column_that_yields_fewer_rows_than_its_pages_count_is_refused(tmp_path: Path) -> None:
    """Levels of repetition say where rows begin; none begins here after the first."""
    path, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    how: dict[str, Any] = {"use_dictionary": False, "compression": "none", "data_page_version": "2.0"}
    pq.write_table(pa.table({"k": [[2], [1], [3]]}), path, **how)
    page = pages(path.read_bytes())[0]
    levels = page.header[8].value[6].value
    data = bytearray(path.read_bytes()[page.place + page.header_bytes :][: page.bytes])
    data[:levels] = b"\x06\x01"[:levels].ljust(levels, b"\0")
    path.write_bytes(with_page(path.read_bytes(), page, page.header, bytes(data)))
    with refused("not-a-table", "is damaged"):
        list(_rows(path))
    assert not output.exists()


def _rows(path: Path) -> Any:
    from planner.sorting.tables.parquet_rows import read_footer

    return read_footer(str(path)).batches()

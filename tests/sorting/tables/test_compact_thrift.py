"""Footers of Parquet files, read and written again."""

from __future__ import annotations

import io
import random

import pyarrow.parquet as pq
import pytest

from planner.sorting.tables.compact_thrift import Field, List, Struct, read_struct, written
from tests.sorting.arrow_tables import random_table


def test_a_footer_is_written_as_it_was_read() -> None:
    file = io.BytesIO()
    pq.write_table(random_table(random.Random(1), 40), file, row_group_size=2, write_page_index=True)
    data = file.getvalue()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    assert written(read_struct(footer)) == footer


def test_every_type_and_distant_fields() -> None:
    struct: Struct = {
        1: Field(1, True),
        2: Field(2, False),
        40: Field(6, -(2**62)),
        41: Field(5, 0),
        30: Field(4, 300),
        31: Field(8, b"text"),
        32: Field(9, List(12, [{1: Field(3, 7)}] * 20)),
        33: Field(9, List(1, [1, 2])),
        34: Field(7, b"12345678"),
        35: Field(12, {}),
    }
    same = read_struct(written(struct))
    assert list(same) == list(struct)
    assert same == {**struct, 2: Field(2, False)}


def test_a_type_that_parquet_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="the type 11"):
        read_struct(b"\x1b\x00\x00")

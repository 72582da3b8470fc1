"""Files joined from parts equal the file that one writer makes of all row groups."""

from __future__ import annotations

import io
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.sorting.tables import parquet_parts
from planner.sorting.tables.parquet_parts import Field, JoinedParts, List, Struct, read_struct, struct_bytes
from tests.sorting.arrow_tables import random_table


def parts_of(table: Any, cuts: list[int], **how: Any) -> list[bytes]:
    """Return files, each with the rows between two cuts."""
    files = []
    for first, end in pairwise(cuts):
        file = io.BytesIO()
        pq.write_table(table.slice(first, end - first), file, row_group_size=7, **how)
        files.append(file.getvalue())
    return files


@pytest.mark.parametrize("how", [{}, {"write_page_index": True}, {"use_dictionary": False, "compression": "zstd"}])
def test_rows_statistics_and_places_are_right(how: dict[str, Any], tmp_path: Path) -> None:
    table = random_table(random.Random(2), 60)
    path = tmp_path / "joined.parquet"
    with path.open("wb") as file:
        joined = JoinedParts(file)
        parts = parts_of(table, [0, 20, 20, 21, 60], **how)
        for part in parts:
            joined.add(part)
        assert joined.finish() == file.tell()
    with pq.ParquetFile(path) as whole:
        groups = [whole.metadata.row_group(i) for i in range(whole.metadata.num_row_groups)]
        assert whole.schema_arrow.equals(pq.read_schema(io.BytesIO(parts[0])), check_metadata=True)
        assert [group.num_rows for group in groups] == [7, 7, 6, 0, 1, 7, 7, 7, 7, 7, 4]
        assert str(whole.read().to_pylist()) == str(table.to_pylist())
        last = whole.read_row_group(10, columns=["row"]).column("row").to_pylist()
        assert last == [56, 57, 58, 59]
        assert groups[10].column(len(table.column_names) - 1).file_path == ""
    assert duckdb.sql(f"SELECT count(*), sum(row) FROM '{path}' WHERE row >= 30").fetchall() == [(30, 1335)]


def test_one_part_without_rows() -> None:
    file = io.BytesIO()
    joined = JoinedParts(file)
    joined.add(parts_of(pa.table({"a": pa.array([], pa.int64())}), [0, 0])[0])
    joined.finish()
    assert pq.read_table(io.BytesIO(file.getvalue())).num_rows == 0


def test_more_groups_than_ordinals_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_parts, "_MOST_ORDINAL", 1)
    file = io.BytesIO()
    joined = JoinedParts(file)
    for part in parts_of(pa.table({"a": range(30)}), [0, 10, 20, 30]):
        joined.add(part)
    joined.finish()
    assert pq.read_table(io.BytesIO(file.getvalue())).column("a").to_pylist() == list(range(30))


def test_a_footer_is_written_as_it_was_read() -> None:
    file = io.BytesIO()
    pq.write_table(random_table(random.Random(1), 40), file, row_group_size=2, write_page_index=True)
    data = file.getvalue()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    assert struct_bytes(read_struct(footer)) == footer


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
    same = read_struct(struct_bytes(struct))
    assert list(same) == list(struct)
    assert same == {**struct, 2: Field(2, False)}


def test_a_type_that_parquet_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="the type 11"):
        read_struct(b"\x1b\x00\x00")

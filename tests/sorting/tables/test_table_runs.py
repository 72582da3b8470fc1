"""The first out-of-order row of tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from planner.sorting.tables.table_keys import parse_table_keys
from planner.sorting.tables.table_runs import first_disorder

TABLE = pa.table({"a": [1, 2, 2, 3, None], "b": [-0.0, 0.0, 1.0, float("nan"), 2.0], "c": [3, 2, 2, 1, None]})


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize(
    ("keys", "unique", "expected"),
    [
        (["a"], False, None),
        (["a"], True, (3, [2])),
        (["a:desc"], False, (2, [2])),
        (["a:first"], False, (5, [None])),
        (["b"], False, (5, [2.0])),
        (["b"], True, (2, [0.0])),
        (["c:desc"], False, None),
        (["a", "c"], True, (3, [2, 2])),
        (["a", "b"], True, None),
    ],
)
def test_where_it_is(rows: int, keys: list[str], unique: bool, expected: tuple[int, list[Any]] | None) -> None:
    tables = iter([TABLE.slice(0, 0), *(TABLE.slice(first, rows) for first in range(0, 5, rows))])
    assert first_disorder(tables, parse_table_keys(keys, TABLE.schema), unique=unique) == expected


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (pa.array([2**31 - 1, -(2**31)], pa.int32()).view(pa.date32()), "-2147483648 (date32[day])"),
        (pa.array([2**62, 2**61]).view(pa.timestamp("s", "UTC")), f"{2**61} (timestamp[s, tz=UTC])"),
        (pa.array([2**62, 2**61]).view(pa.duration("s")), f"{2**61} (duration[s])"),
        (pa.array([b"b", b"a\xff"]).view(pa.string()), b"a\xff"),
    ],
)
def test_values_that_python_has_not_are_shown(values: Any, shown: Any) -> None:
    table = pa.table({"a": values})
    assert first_disorder(iter([table]), parse_table_keys(["a"], table.schema), unique=False) == (2, [shown])

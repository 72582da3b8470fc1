"""Every type as a key in every operation, as the table in docs/sort-core.md states, and in DuckDB's order."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.sort_job import SortJob
from planner.sorting.tables.parquet import find_disorder, sort_tables
from planner.sorting.tables.table import sort_table

PAGE: Final = Path(__file__).parents[3] / "docs" / "sort-core.md"
DAY: Final = dt.datetime(2020, 1, 1)
FAR: Final = [dt.datetime(1, 1, 1), DAY, dt.datetime(9999, 12, 31)]
VALUES: Final[dict[str, list[tuple[pa.DataType, list[Any]]]]] = {
    "integers": [
        (kind, [kind_min, 0, kind_max])
        for kind, kind_min, kind_max in [
            (pa.int8(), -128, 127), (pa.int64(), -(2**63), 2**63 - 1), (pa.int16(), -1, 1), (pa.int32(), -(2**31), 1),
        ]
    ] + [(pa.uint8(), [0, 1, 255]), (pa.uint64(), [0, 2**63, 2**64 - 1])],
    "floats": [(kind, [-math.inf, -1.5, 0.0, 2.0, math.inf, math.nan]) for kind in (pa.float32(), pa.float64())],
    "half floats": [(pa.float16(), [-1.5, 0.0, 2.0])],
    "decimals": [
        (pa.decimal128(38, 2), [Decimal("-1e35"), Decimal("-0.01"), Decimal("0.10"), Decimal("1e35")]),
        (pa.decimal128(5, 1), [Decimal("-2.5"), Decimal("10.1")]),
        (pa.decimal256(60, 0), [Decimal("-1e58"), Decimal(0), Decimal("1e58")]),
    ],
    "text": [(kind, ["", "A", "a", "a\0", "ab", "\u00e9", "\U0001f600"]) for kind in (pa.string(), pa.large_string())],
    "bytes": [
        (pa.binary(), [b"", b"\0", b"\x7f", b"\x80", b"\xff\xff"]), (pa.binary(2), [b"\0\0", b"a\0", b"\xff\0"]),
    ],
    "booleans": [(pa.bool_(), [False, True])],
    "dates": [(pa.date32(), [dt.date(1, 1, 1), dt.date(2020, 1, 1), dt.date(9999, 12, 31)])],
    "times of day": [(kind, [dt.time(0), dt.time(0, 1), dt.time(23)]) for kind in (pa.time32("ms"), pa.time64("us"))],
    "timestamps": [
        (pa.timestamp("us"), FAR), (pa.timestamp("ms", "UTC"), [moment.replace(tzinfo=dt.UTC) for moment in FAR]),
        (pa.timestamp("ns"), [-(2**63) + 1, 0, 2**63 - 1]),
    ],
    "timestamps of 96 bits": [(pa.timestamp("us"), FAR)],
    "durations": [(pa.duration("us"), [dt.timedelta(days=-1), dt.timedelta(0), dt.timedelta(days=1)])],
    "dictionaries": [(pa.dictionary(pa.int32(), pa.string()), ["", "a", "b"])],
    "ordered categories": [(pa.dictionary(pa.int32(), pa.string(), ordered=True), ["low", "mid", "high"])],
    "structs": [
        (pa.struct([("x", pa.int8())]), [{"x": 1}, {"x": 2}]),
        (
            pa.struct([("x", pa.string()), ("y", pa.struct([("z", pa.float64())]))]),
            [{"x": "a", "y": {"z": 2.0}}, {"x": "a", "y": {"z": 10.0}}, {"x": "b", "y": {"z": -1.0}}],
        ),
    ],
    "lists, maps": [(pa.list_(pa.int8()), [[1], [2]]), (pa.map_(pa.string(), pa.int8()), [[("a", 1)], [("b", 1)]])],
}  # fmt: skip
NOT_OF_DUCKDB: Final = ("ordered categories", "lists, maps")
"""Types not compared with DuckDB's order."""
OPERATIONS: Final = ("sort", "merge", "unique", "check", "sort_table", "cluster")


def cells() -> list[tuple[str, str, str]]:
    """Return type, operation and the page's entry for both."""
    found = re.findall(r"^\| ([^|]+) \|" + r" (yes|refused) \|" * len(OPERATIONS) + r"[^|]*\|$", PAGE.read_text(), re.M)
    return [(row[0], operation, said) for row in found for operation, said in zip(OPERATIONS, row[1:], strict=True)]


def column(kind: pa.DataType, values: list[Any]) -> Any:
    if not (pa.types.is_dictionary(kind) and kind.ordered):
        return pa.array(values, kind)
    categories = ["low", "mid", "high"]
    places = [None if value is None else categories.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), categories, ordered=True)


def write(path: Path, kind: pa.DataType, values: list[Any], *, is_int96: bool) -> str:
    table = pa.table({"k": column(kind, values)})
    pq.write_table(table, path, row_group_size=4, use_deprecated_int96_timestamps=is_int96)
    return str(path)


def read(path: str, *, as_numbers: bool = False) -> list[str]:
    values = pq.read_table(path, coerce_int96_timestamp_unit="us").column("k")
    return [str(value) for value in (values.cast("int64") if as_numbers else values).to_pylist()]


def run(operation: str, kind: pa.DataType, values: list[Any], folder: Path, *, is_int96: bool) -> list[str]:
    """Return the keys that an operation makes of shuffled ones, in order."""
    shuffled = [*values, None, *values]
    random.Random(1).shuffle(shuffled)
    as_numbers = kind == pa.timestamp("ns")
    if operation == "sort_table":
        ordered = sort_table(pa.table({"k": column(kind, shuffled)}), keys="k").column("k")
        return [str(value) for value in (ordered.cast("int64") if as_numbers else ordered).to_pylist()]
    lists = [[*values, None], values] if operation == "merge" else [shuffled[:3], shuffled[3:]]
    if operation in ("check", "cluster"):
        lists = [sorted([*values, *values], key=values.index)]
    inputs = tuple(write(folder / f"in{i}", kind, part, is_int96=is_int96) for i, part in enumerate(lists))
    if operation == "cluster":
        tables_of(inputs, ["k"])
        return []
    if operation == "check":
        assert find_disorder(SortJob(inputs=(inputs[0],), format="parquet", key=["k"]), Progress()) is None
        found = find_disorder(SortJob(inputs=(inputs[0],), format="parquet", key=["k:desc"]), Progress())
        assert found and found[0] == 3
        assert find_disorder(SortJob(inputs=(inputs[0],), format="parquet", key=["k"], unique=True), Progress())
        return []
    job = SortJob(
        inputs=inputs, output=str(folder / "out"), force=True, key=("k",), merge=operation == "merge",
        unique=operation == "unique", memory_bytes=1 << 30, temp_dirs=(str(folder),),
    )  # fmt: skip
    sort_tables(job, Progress())
    return read(job.output, as_numbers=as_numbers)


def test_the_table_has_every_type() -> None:
    assert {name for name, _, _ in cells()} == set(VALUES)


@pytest.mark.parametrize(("name", "operation", "said"), cells())
def test_a_cell_of_the_table(name: str, operation: str, said: str, tmp_path: Path) -> None:
    for number, (kind, values) in enumerate(VALUES[name]):
        folder = tmp_path / str(number)
        folder.mkdir()
        is_int96 = name == "timestamps of 96 bits"
        if said == "refused":
            with pytest.raises(BadInputError):
                run(operation, kind, values, folder, is_int96=is_int96)
            continue
        keys = run(operation, kind, values, folder, is_int96=is_int96)
        once = [str(value) for value in (values if isinstance(values[0], int) else column(kind, values).to_pylist())]
        twice = [text for text in once for _ in range(2)]
        if operation not in ("check", "cluster"):
            assert keys == [*(once if operation == "unique" else twice), "None"]


@pytest.mark.parametrize(
    "name", [name for name in VALUES if name not in ("ordered categories", "lists, maps", "structs")]
)
def test_duckdb_has_the_same_order(name: str, tmp_path: Path) -> None:
    for number, (kind, values) in enumerate(VALUES[name]):
        if kind in (pa.decimal256(60, 0), pa.duration("us")):  # DuckDB does not have them
            continue
        path = write(tmp_path / str(number), kind, values[::-1], is_int96=name == "timestamps of 96 bits")
        order = duckdb.sql(f"select file_row_number from read_parquet('{path}', file_row_number=true) order by k")
        assert [row[0] for row in order.fetchall()] == list(range(len(values)))[::-1], kind

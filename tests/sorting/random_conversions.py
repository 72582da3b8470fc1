"""Random tables written as one kind of file and sorted into another, beside Python's own sort of their rows."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.orc
import pyarrow.parquet as pq

import planner

DAYS = [datetime.date(2000 + i, 1 + i % 12, 1 + i % 28) for i in (0, 1, 26)]
TIMES = [datetime.datetime(2000 + i, 3, 4, 5, 6, i, 1000 * i) for i in (0, 1, 40)]
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "whole": (pa.int64(), [0, -1, 7, 2**63 - 1, -(2**63)]),
    "real": (pa.float64(), [0.0, 1.5, -2.25, 1e300, 1.0, 0.1]),
    "flag": (pa.bool_(), [True, False]),
    "day": (pa.date32(), DAYS),
    "time": (pa.timestamp("us"), TIMES),
    "name": (pa.string(), ["", "a", "b,c", 'say "x"', "two\nlines", "é", "007", "1e", " 5", "B", "NULL", "nan"]),
}
TEMPORAL = ("day", "time")
KINDS = {"csv": ".csv", "tsv": ".tsv", "jsonl": ".jsonl", "arrow": ".arrow", "orc": ".orc", "parquet": ".parquet"}
Rows = list[dict[str, Any]]


def random_rows(chance: random.Random, names: Sequence[str]) -> Rows:
    count = chance.choice([1, 2, 5, 40, 300])
    rows = [{name: chance.choice([None, *VALUES[name][1]]) for name in names} for _ in range(count)]
    for number, row in enumerate(rows):
        row["pair"] = {"x": chance.choice([None, 1, 2, 3])}
        row["row"] = number
    for name in names:  # a column without a value has no type in text
        rows[0][name] = rows[0][name] if rows[0][name] is not None else VALUES[name][1][-1]
    return rows


def ordered(rows: Rows, keys: Sequence[str]) -> Rows:
    """Return the rows as Python sorts them: by the last key first, as its sort is stable."""
    for key in reversed(keys):
        name, *words = key.split(":")
        nulls = [row for row in rows if value_of(row, name) is None]
        others = [row for row in rows if value_of(row, name) is not None]
        others.sort(key=lambda row: value_of(row, name), reverse="desc" in words)  # called at once
        rows = [*nulls, *others] if "first" in words else [*others, *nulls]
    return rows


def value_of(row: dict[str, Any], name: str) -> Any:
    value = row["pair"]["x"] if name == "pair.x" else row[name]
    return value.encode() if isinstance(value, str) else value


def table_of(rows: Rows, names: Sequence[str]) -> Any:
    types = {name: VALUES[name][0] for name in names}
    types |= {"row": pa.int64(), "pair": pa.struct({"x": pa.int64()})}
    return pa.table({name: pa.array([row[name] for row in rows], of) for name, of in types.items() if name in rows[0]})


def text_of(value: Any, separator: str, chance: random.Random) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=chance.choice("T "), timespec="microseconds")
    text = value.isoformat() if isinstance(value, datetime.date) else repr(value) if isinstance(value, float) else value
    if isinstance(text, str) and (not text or set(text) & set(f'"\n\r{separator}') or chance.random() < 0.2):
        return '"' + text.replace('"', '""') + '"'
    return str(text)


def write_csv(rows: Rows, path: Path, chance: random.Random, separator: str = ",") -> None:
    lines = [list(rows[0]), *([text_of(value, separator, chance) for value in row.values()] for row in rows)]
    end = chance.choice(["\n", "\r\n"])
    path.write_text("".join(separator.join(line) + end for line in lines), encoding="utf-8", newline="")


def json_of(row: dict[str, Any], chance: random.Random) -> str:
    kept = {name: value for name, value in row.items() if value is not None or chance.random() < 0.5}
    gap = chance.choice([(",", ":"), (", ", ": ")])
    return json.dumps(kept, default=lambda value: value.isoformat(), ensure_ascii=chance.random() < 0.5, separators=gap)


def write_json(rows: Rows, path: Path, chance: random.Random) -> None:
    path.write_text("".join(json_of(row, chance) + "\n" for row in rows), encoding="utf-8")


def write_arrow(rows: Rows, path: Path, chance: random.Random) -> None:
    table = table_of(rows, [name for name in rows[0] if name in VALUES])
    new = chance.choice([pyarrow.ipc.new_file, pyarrow.ipc.new_stream])
    with new(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=chance.choice([7, 1000]))


def write(rows: Rows, kind: str, path: Path, chance: random.Random) -> None:
    names = [name for name in rows[0] if name in VALUES]
    writers: dict[str, Callable[[], None]] = {
        "csv": lambda: write_csv(rows, path, chance),
        "tsv": lambda: write_csv(rows, path, chance, "\t"),
        "jsonl": lambda: write_json(rows, path, chance),
        "arrow": lambda: write_arrow(rows, path, chance),
        "orc": lambda: pyarrow.orc.write_table(table_of(rows, names), path),
        "parquet": lambda: pq.write_table(table_of(rows, names), path),
    }
    writers[kind]()


def read(path: Path, kind: str, names: Sequence[str]) -> Rows:
    if kind == "jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    if kind in ("csv", "tsv"):
        convert = pyarrow.csv.ConvertOptions(
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
            column_types={name: pa.string() if name in TEMPORAL else VALUES[name][0] for name in names},
        )  # fmt: skip
        parse = pyarrow.csv.ParseOptions(delimiter="\t" if kind == "tsv" else ",", newlines_in_values=True)
        rows: Rows = pyarrow.csv.read_csv(path, parse_options=parse, convert_options=convert).to_pylist()
        return rows
    table = pq.read_table(path) if kind == "parquet" else pyarrow.ipc.open_file(path).read_all()
    for number, field in enumerate(table.schema):
        if field.type == pa.timestamp("ns"):  # as ORC has it
            table = table.set_column(number, field.name, table.column(number).cast(pa.timestamp("us")))
    return list(table.to_pylist())


def plain(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a row with times as such, whatever a kind of file makes of them."""
    values = {name: row.get(name) for name in (*names, "row")}
    for name in names:
        if name in TEMPORAL and isinstance(values[name], str):
            time = datetime.datetime.fromisoformat(values[name])
            values[name] = time.date() if name == "day" else time
    return values


def conversions(chance: random.Random, folder: Path) -> str | None:
    """Sort a table of one kind into another kind."""
    before, after = chance.choice(list(KINDS)), chance.choice(["csv", "tsv", "jsonl", "arrow", "parquet"])
    if before == after and before in ("parquet", "csv", "tsv"):
        after = "jsonl"
    names = chance.sample(list(VALUES), chance.randint(1, len(VALUES)))
    rows = random_rows(chance, names)
    if {before, after} & {"csv", "tsv", "orc"}:
        for row in rows:
            del row["pair"]
    pieces = [rows] if len(rows) < 3 or chance.random() < 0.5 else [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    paths = [folder / f"{number}{KINDS[before]}" for number in range(len(pieces))]
    for piece, path in zip(pieces, paths, strict=True):
        write(piece, before, path, chance)
    able = [*names, *(["pair.x"] if "pair" in rows[0] else [])]
    drawn = chance.sample(able, chance.randint(1, min(3, len(able))))
    keys = [name + chance.choice(["", ":asc", ":desc"]) + chance.choice(["", ":first", ":last"]) for name in drawn]
    output = folder / f"out{KINDS[after]}"
    planner.sort(paths, output, key=keys)
    if before == "jsonl" == after:
        found = output.read_text("utf-8")
        every = [line for path in paths for line in path.read_text("utf-8").splitlines()]
        wanted = "".join(every[row["row"]] + "\n" for row in ordered(rows, keys))
        return None if found == wanted else f"other lines by {keys}: {found!r} instead of {wanted!r}"
    result = [plain(row, names) for row in read(output, after, names)]
    expected = [plain(row, names) for row in ordered(rows, keys)]
    if result == expected:
        return None
    wrong = next((pair for pair in zip(result, expected, strict=False) if pair[0] != pair[1]), (len(result), len(rows)))
    return f"{before} to {after} by {keys}: {wrong}"

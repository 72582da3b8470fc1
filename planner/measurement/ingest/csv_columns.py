"""Reader of CSV files of measurements with any columns; their fields and units are never guessed.

A rate's unit comes from the mapping (`--column bytes_per_s=speed:MB/s`), from the column's name (`speed_MBps`,
`baseline_Gbps`, `read_bytes_per_s`), or from the cells (`250 MB/s`); two units at once are refused, and so are cells
without any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from planner.catalog.measurements import MEASUREMENTS
from planner.catalog.tables.reading import Rows, convert, rows_of
from planner.config.user_files import read_user_file
from planner.errors import BadInputError, bad_input, nearest
from planner.measurement.ingest.measurement import Reading
from planner.units import parse_rate

FIELDS: Final = tuple(name for name in MEASUREMENTS.names if name != "source")
_CELLS: Final = {column.name: column for column in MEASUREMENTS.columns}
_UNIT_IN_NAME: Final = re.compile(
    r"(?:_|\b)(bytes_per_s|[kKMGT]?i?Bps|[kKMGT]bps|"
    r"([kKMGT]?i?B(?:ytes?)?|[kKMGT]?bits?)(?:/|_per_| per )s(?:ec(?:ond)?)?)[)\]]?$"
)
_LIKE_RATE: Final = re.compile("bit|bps|rate|speed|through|bandwidth|[kmg]b", re.IGNORECASE)
_PLAIN_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

KNOWN: Final = "known: fio, iperf3, ioping, PerfKitBenchmarker, planner bench; sysbench fileio as text; CSV"

PAIRS: Final = {("instance_read_MBps", "instance_write_MBps"): ("read_only", "write_only")}
"""Columns of a wide table that each hold a measurement."""


def parse_mapping(texts: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return field -> (column, unit or '') from texts such as `bytes_per_s=speed:MB/s`.

    Raises BadInputError for anything else, or an unknown field.
    """
    mapping = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        column, _, unit = rest.partition(":")
        if not equals or not column:
            raise BadInputError(f"--column {text!r}: write FIELD=COLUMN or FIELD=COLUMN:UNIT", code="malformed")
        if name not in FIELDS:
            hint = nearest(name, FIELDS)
            raise BadInputError(
                f"--column {text!r}: {name} is no field.{hint} Fields: {', '.join(FIELDS)}", code="unknown-field"
            )
        if unit and name != "bytes_per_s":
            raise BadInputError(f"--column {text!r}: only bytes_per_s takes a unit", code="no-unit-here")
        mapping[name] = (column, unit)
    return mapping


def parse_choices(texts: Sequence[str]) -> dict[str, str]:
    """Return column -> value from texts such as `cloud=aws`. Raises BadInputError for anything else."""
    pairs = [text.partition("=") for text in texts]
    if any(not equals for _, equals, _ in pairs):
        raise BadInputError("--only: write COLUMN=VALUE, such as cloud=aws", code="malformed")
    return {column: value for column, _, value in pairs}


def read_columns(
    path: Path, mapping: Mapping[str, tuple[str, str]], only: Mapping[str, str] | None = None
) -> list[Reading]:
    """Return a reading for each row (and for each rate, where a row has a read and a write rate) whose cells match
    `only`.

    Raises BadInputError listing every bad cell with its line.
    """
    header, rows = rows_of(path, read_user_file(path))
    rows = _select_rows(path, header, rows, only or {})
    plans = _plans(path, header, mapping)
    problems: list[str] = []
    readings = []
    for line, row in rows:
        for plan in plans:
            reading = _reading_of_row(plan, row, f"{path}:{line}", problems)
            if reading.get("bytes_per_s") is not None:
                readings.append({**reading, "source": path.name, "row": f"line {line}"})
    if problems:
        raise bad_input(path, problems, code="bad-cell")
    if not readings:
        raise BadInputError(f"{path}: no row has a rate", code="no-rate")
    return readings


def _select_rows(path: Path, header: list[str], rows: Rows, only: Mapping[str, str]) -> Rows:
    for column in only:
        if column not in header:
            raise BadInputError(
                f"{path}: --only {column}: no such column.{nearest(column, header)}", code="unknown-column"
            )
    return [(line, row) for line, row in rows if all(row[column] == value for column, value in only.items())]


def _plans(
    path: Path, header: list[str], mapping: Mapping[str, tuple[str, str]]
) -> list[tuple[dict[str, tuple[str, str]], Reading]]:
    """Return (field -> (column, unit), constants) for each measurement in a row."""
    absent = [column for column, _ in mapping.values() if column not in header]
    if absent:
        hint = nearest(absent[0], header)
        raise BadInputError(
            f"{path}: no column {absent[0]!r}.{hint} Columns: {', '.join(header)}", code="unknown-column"
        )
    named = {name: (name, "") for name in FIELDS if name in header} | dict(mapping)
    for columns, quantities in PAIRS.items():
        if "bytes_per_s" not in named and set(columns) <= set(header):
            wide = zip(columns, quantities, strict=True)
            return [({**named, "bytes_per_s": (column, "")}, {"quantity": quantity}) for column, quantity in wide]
    rates = [name for name in header if _UNIT_IN_NAME.search(name)] if len(header) > 1 else []
    if "bytes_per_s" not in named and len(rates) != 1:
        raise _no_rate_error(path, header)
    named.setdefault("bytes_per_s", (rates[0] if rates else "", ""))
    return [(named, {})]


def _no_rate_error(path: Path, header: Sequence[str]) -> BadInputError:
    if len(header) > 1 or re.fullmatch(r"(?!null)[A-Za-z]\w*", header[0]):
        text = f"{path}: which column is the rate? Say --column bytes_per_s=COLUMN:UNIT"
        likely = next((name for name in header if _LIKE_RATE.search(name)), "COLUMN")
        hints = [f"columns: {', '.join(header)}", f"for example --column bytes_per_s={likely}:Gbit/s"]
        return BadInputError(text, hints, code="no-rate")
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if separator in header[0]:
            return BadInputError(
                f"{path}: its columns are apart by {name}; write them with commas, numbers with points",
                code="other-separator",
            )
    return BadInputError(f"{path}: neither the JSON of a known instrument nor a table", [KNOWN], code="unknown-format")


def _reading_of_row(
    plan: tuple[dict[str, tuple[str, str]], Reading], row: Mapping[str, str], where: str, problems: list[str]
) -> Reading:
    named, constants = plan
    reading: Reading = dict(constants)
    for name, (column, unit) in named.items():
        cell = row[column].strip()
        if not cell:
            continue
        try:
            reading[name] = _rate(cell, column, unit) if name == "bytes_per_s" else _value(name, cell)
        except (BadInputError, ValueError) as error:
            problems.append(f"{where}, column {column}: {cell!r}: {error}")
    return reading


def _rate(cell: str, column: str, unit: str) -> float:
    named_unit = _UNIT_IN_NAME.search(column)
    units = [u for u in (unit, _spell_unit(named_unit[1]) if named_unit else "") if u]
    if len({parse_rate(f"1{u}") for u in units}) > 1:
        raise BadInputError(f"two units: {units[0]} was asked for, the column's name says {units[1]}", code="two-units")
    if not _PLAIN_NUMBER.fullmatch(cell):
        if units and not any(character.isalpha() for character in cell.lower().replace("nan", "").replace("inf", "")):
            raise BadInputError("not a number, without signs between its digits", code="not-a-number")
        if units:
            raise BadInputError(
                f"two units: the cell must be a number, for its column is in {units[0]}", code="two-units"
            )
        return parse_rate(cell)
    if not units:
        raise BadInputError(
            "no unit; say it with --column bytes_per_s=COLUMN:UNIT, such as MB/s or Gbit/s", code="no-unit"
        )
    return parse_rate(f"{cell}{units[0]}")


def _spell_unit(unit: str) -> str:
    """Return a unit from a column's name in the spelling of planner.units: Gbps are bits, MBps bytes."""
    if unit == "bytes_per_s":
        return "B/s"
    size, per, _ = re.sub(r"bytes?", "B", unit, flags=re.IGNORECASE).replace("bits", "bit").partition("/")
    return f"{size}/s" if per else re.sub(r"(_| )per\1.*", "/s", size)


def _value(name: str, cell: str) -> Any:
    """Return a cell as the catalog reads it. Raises BadInputError for one that the catalog would refuse."""
    column = _CELLS[name]
    values, bad = convert(column, [cell])
    if bad:
        raise BadInputError(f"expected {column.expected}", code="bad-cell")
    value = values.tolist()[0]
    return int(value) if column.kind == "whole" else value

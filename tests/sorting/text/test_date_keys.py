"""Keys that are dates in a column of CSV: in the order of time, in any format; other values are refused."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refused

import planner
from planner.api.validate import validate_rows

FORMATS = (
    "%d/%m/%Y", "%m/%d/%y", "%b %d, %Y", "%A, %d %B %Y %I:%M %p", "%Y%m%d%H%M%S", "%d.%m.%Y %H:%M:%S,%f",
    "%Y-%m-%dT%H:%M:%S.%f%z", "%m/%d/%Y %I:%M:%S.%f %p",
)  # fmt: skip
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31))  # years of two digits
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def sorted_values(folder: Path, values: list[str], key: str, **options: Any) -> list[str]:
    """Return the values of a column of CSV in the order of a sort."""
    source, output = folder / "in.csv", folder / "out.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([["when", "row"], *([value, str(row)] for row, value in enumerate(values))])
    planner.sort(
        source, output, format="csv", key=[key, "row:int"], separator=",", no_header=False, force=True, **options
    )
    with output.open(newline="") as file:
        return [row[0] for row in csv.reader(file)][1:]


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(times=st.lists(st.tuples(TIMES, ZONES), max_size=20))
def test_dates_are_in_the_order_of_time(tmp_path: Path, format: str, times: list[tuple[datetime, timezone]]) -> None:
    texts = [time.replace(tzinfo=zone).strftime(format) for time, zone in times]

    def read(text: str) -> datetime:
        time = datetime.strptime(text, format)  # some have a zone
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)

    assert sorted_values(tmp_path, texts, f"when:date={format}") == sorted(texts, key=read)
    falling = sorted(texts, key=read, reverse=True)  # equal ones keep their order, too
    assert list(map(read, sorted_values(tmp_path, texts, f"when:date={format}:desc"))) == list(map(read, falling))


def test_iso_dates_need_no_format(tmp_path: Path) -> None:
    rising = ["1965-07-01", "2025-12-31 23:59", "2026-01-01T00:30:00+01:00", "2025-12-31T23:59:59.25Z", "2026-01-01",
              "2026-01-01T00:00:00.000000001"]  # fmt: skip
    rising[2], rising[1] = rising[1], rising[2]
    assert sorted_values(tmp_path, ["", *rising[::-1]], "when:date") == [*rising, ""]
    assert sorted_values(tmp_path, rising[::-1], "when:date", consume_input=True) == rising


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("30/02/2026", "when:date=%d/%m/%Y"), ("1/2/2026 ", "when:date=%d/%m"), ("2026-13-01", "when:date"),
        ("03/02/2026", "when:date"), ("2026-01-01T25:00", "when:date"), ("2026-01-01T", "when:date"),
        ("05-06-26", "when:date"), ("05/06/26", "when:date=%d/%m/%Y"),
        ("x", "when:date"), ("2026-01-01 12:00:00.", "when:date"), ("12:00:00.1234567890", "when:date=%H:%M:%S.%f"),
    ],
)  # fmt: skip
def test_other_values_are_refused_with_file_and_row(tmp_path: Path, value: str, key: str) -> None:
    source = tmp_path / "in.csv"
    source.write_text(f"when,n\n,1\n{value},2\n")
    doing: list[Callable[[], object]] = [
        lambda: planner.sort(source, tmp_path / "out.csv", key=key),
        lambda: planner.find_disorder(source, key=key),
        lambda: validate_rows([source], key=key),
    ]
    for do in doing:
        with refused("bad-record", "in.csv: row 3", f"{value[:12]}", "is no date as"):
            do()
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("key", "code", "sentence"),
    [
        ("when:date=%Q", "bad-format", "%Q is no part of a date"),
        ("when:date=%Y-%", "bad-format", "no part of a date"),
        ("when:date=day", "bad-format", "it has no part of a date"),
        ("when:date=", "bad-format", "it has no part of a date"),
        ("when:date=%S.%f %f", "bad-format", "%f twice"),
        ("when:date:int", "contradiction", "exclude each other"),
        ("when:data", "unknown-word", "Did you mean date"),
        ("when:%d/%m/%Y", "unknown-word", "Did you mean date=%d/%m/%Y?"),
        ("when:date(%d/%m/%Y)", "unknown-word", "Did you mean date=%d/%m/%Y?"),
        ("when:dd/mm/yyyy", "unknown-word", "Did you mean date=%d/%m/%Y?"),
        ("when:date=DD.MM.YY", "bad-format", "Did you mean date=%d.%m.%y?"),
        ("then:date=%H:%M", "unknown-column", "there is no column 'then'"),
    ],
)
def test_formats_without_a_date_are_refused(tmp_path: Path, key: str, code: str, sentence: str) -> None:
    source = tmp_path / "in.csv"
    source.write_text("when,n\n2026-01-01,1\n")
    with refused(code, sentence, field="key"):
        planner.sort(source, tmp_path / "out.csv", key=key)


def test_keys_after_a_format_with_commas_are_keys(tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text('when,n\n"Feb 1, 2026",2\n"Feb 1, 2026",10\n"Jan 9, 2026",1\n')
    planner.sort(source, output, key="when:date=%b %d, %Y,n:int:desc")
    assert output.read_text() == 'when,n\n"Jan 9, 2026",1\n"Feb 1, 2026",10\n"Feb 1, 2026",2\n'
    validate_rows([output], key="when:date=%b %d, %Y,n:int:desc", input=[source]).require()


def test_a_pipe_is_refused_as_it_would_be_read_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with refused("pipe"):
        validate_rows([pipe], format="csv", key="when:date", looked=None)


def test_columns_of_dates_in_tables_are_dates_and_text_is_none(tmp_path: Path) -> None:
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    days = [datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 1, 9, tzinfo=UTC)]
    pyarrow.parquet.write_table(pyarrow.table({"when": days, "text": ["09/01/2026", "01/02/2026"]}), source)
    planner.sort(source, output, key="when:date")
    assert pyarrow.parquet.read_table(output)["when"].to_pylist() == days[::-1]
    with refused("wrong-kind", "dates in text are keys of CSV alone", field="key"):
        planner.sort(source, output, key="text:date=%d/%m/%Y", force=True)

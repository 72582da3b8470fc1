"""The CSV dialect is detected, reported, and can be overridden."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve

import planner
from planner.api.contents.csv_dialect import Dialect, detect_dialect, dialect_of
from planner.compression.text_codecs import look_at
from planner.errors import BadInputError

SEMICOLONS = "name;price;n\nb;1,5;2\na;2,5;1\n"


@pytest.mark.parametrize(
    ("text", "keys", "separator", "no_header"),
    [
        (SEMICOLONS, ["name"], ";", False),
        ("a\tb\n1\t2\n", ["1"], "\t", False),
        ("a|b\n1|2\n", ["1"], "|", False),
        ("a,b\n1,2\n", ["1"], ",", False),
        ("3,b\n1,2\n", ["1"], ",", False),
        ("3,b\n1,c\n", ["1"], ",", True),
        ("2020,2021\n1,2\n", ["2"], ",", True),
        ("2020,2021\n1,2\n", ["2021:desc"], ",", False),
        ("sep=^\na^b,c\n1^2,3\n", ["1"], "^", False),
        ('"sep=\t"\r\n1\t2\r\n', ["1"], "\t", False),
        ("2020,2021\n1,2\n", ["b"], ",", False),
        ("one\ntwo\n", ["1"], ",", False),
        ("text;with\nno;such,thing\n", ["1"], ";", False),
        ('a,"b;c"\n1,"2;3"\n', ["a"], ",", False),
        ("a,b,c\n1,2\n", ["a"], ",", False),
        ("c,d0;e:f1\n1,2;3\n", ["e:f1:num", "c,d0:num"], ";", False),
        ("n,v\na b,1\na,2\n", ["n,v"], ",", False),
        ("a\tb\n1\t2\n", ["a\tb"], "\t", False),
        ('c,d0;"c,d1";"a ""b"""\n', ["c,d1"], ";", False),
        ("c,d0;c,d1\n2,5;1,6\n", ["c,d0"], ";", False),
        ("c,d0;c,d1\n2,5;1,6\n", ["c:num", "d1"], ",", False),
        ("k\tv,w\n1\t2,3\n", ["v,w", "k:num"], "\t", False),
        ("a b|c;d\n1|2;3\n", ["a b"], "|", False),
        ("a b|c;d\n1|2;3\n", ["d"], ";", False),
        ("c,d0;c,d1\n1;2\n", ["d1"], ";", False),  # the columns of rows decide before a key that may be mistyped
        ("a;b\n1; 'x;y'\n", ["a"], ";", False),
    ],
)
def test_what_makes_equal_rows_separates(text: str, keys: list[str], separator: str, no_header: bool) -> None:
    assert dialect_of(text, keys) == Dialect(separator=separator, no_header=no_header)


def sort(tmp_path: Path, text: str, **options: Any) -> tuple[str, list[str]]:
    messages: list[str] = []
    source = tmp_path / "in.csv"
    source.write_text(text, encoding="utf-8")
    planner.sort(source, tmp_path / "out", say=messages.append, force=True, **options)
    return (tmp_path / "out").read_text(encoding="utf-8"), messages


def test_what_is_found_is_said_and_overridden(tmp_path: Path, approve: Approve) -> None:
    out, messages = sort(tmp_path, "\ufeff" + SEMICOLONS, key="name")
    assert out == "\ufeffname;price;n\na;2,5;1\nb;1,5;2\n"
    approve(messages)
    out, messages = sort(tmp_path, "2,b\n1,a\n", key="1:num")
    assert out == "1,a\n2,b\n"
    assert any("--header says otherwise" in text for text in messages)
    assert sort(tmp_path, "2,b\n3,c\n1,a\n", key="1:num", no_header=False)[0] == "2,b\n1,a\n3,c\n"
    out, messages = sort(tmp_path, "b;1\na;2\n", key="1", separator=",", format="csv", no_header=True)
    assert (out, messages) == ("a;2\nb;1\n", [])


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("a,b\n'x','1'\n'y','2'\n", "'"),
        ("a,b\n1,'x,y'\n2,z\n", "'"),
        ("a,b\n1,'x'\n2,z\n", '"'),  # only one of many values happens to be quoted so
        ("a,b\n1,'tis\n2,o'clock\n", '"'),
        ("a,b\n\"1\",'x'\n\"2\",'y'\n", '"'),
        ('pipe,n\n5" pipe,1\n6" pipe,2\n', "none"),
        ('a,b\n"x ""y""",1\nz,2\n', '"'),
        ('a,b\n"x \\"y\\"",1\nz,2\n', '"'),  # backslash escapes, which the sort refuses
        ("a,b\n1,2\n", '"'),
    ],
)
def test_the_quote_is_what_encloses_values(text: str, quote: str) -> None:
    assert dialect_of(text, ["b"]).quote == quote


def test_a_quote_that_is_found_is_said_and_overridden(tmp_path: Path, approve: Approve) -> None:
    text = "n,text\n'10','a''b'\n'9','c,d\ne'\n"
    out, messages = sort(tmp_path, text, key="n:int")
    assert out == "n,text\n'9','c,d\ne'\n'10','a''b'\n"
    approve(messages)
    with pytest.raises(BadInputError, match=r"row \d"):
        sort(tmp_path, text, key="n:int", quote='"')
    inches = 'pipe,n\n6" pipe,2\n5" pipe,1\n'
    out, messages = sort(tmp_path, inches, key="pipe")
    assert out == 'pipe,n\n5" pipe,1\n6" pipe,2\n'
    approve(messages)
    assert sort(tmp_path, "a,b\n|x,y|,1\n|c|,2\n", key="a", quote="|")[0] == "a,b\n|c|,2\n|x,y|,1\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "csv", "key": "1", "quote": "ab"}, "`quote` is one byte"),
        ({"format": "csv", "key": "1", "quote": ","}, "cannot enclose"),
        ({"format": "lines", "quote": "'"}, "`quote` applies only with `format=csv`"),
        ({"format": "csv", "key": "1", "quote": "'", "ray": "auto"}, "`quote` does not go with `ray`"),
    ],
    ids=["long", "separator", "lines", "ray"],
)
def test_a_quote_that_cannot_be_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    (tmp_path / "in.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInputError, match=message):
        planner.sort(tmp_path / "in.csv", tmp_path / "out", **options)


def test_text_without_quotes_that_has_nul_is_refused(tmp_path: Path, approve: Approve) -> None:
    with pytest.raises(BadInputError, match=r"in\.csv: the last row") as error:
        sort(tmp_path, "a,b\n1,2\n0,\0x\n", key="a", quote="none", format="csv")
    approve(error.value.details)


def test_compressed_files_have_dialects_too(tmp_path: Path) -> None:
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(SEMICOLONS.encode()))
    planner.sort(tmp_path / "in.csv.gz", tmp_path / "out", key="n:num")
    assert (tmp_path / "out").read_text() == "name;price;n\na;2,5;1\nb;1,5;2\n"
    assert planner.find_disorder(tmp_path / "out", format="csv", key="n:num") is None


def test_rows_that_the_beginning_cuts_do_not_count(tmp_path: Path) -> None:
    row = 'a;"' + "long, and\n" * 200 + '";1\n'
    (tmp_path / "in.csv").write_text("x;y;n\n" + row * 50)
    messages: list[str] = []
    planner.sort(tmp_path / "in.csv", tmp_path / "out", key="3:num", say=messages.append)
    assert any("semicolons" in text for text in messages)


def test_a_heading_alone_leaves_the_dialect_to_the_next_file(tmp_path: Path) -> None:
    for name, text in {"1.csv": "", "2.csv": "c,d|id\n", "3.csv": "c,d|id\n3|2\n1|4\n"}.items():
        (tmp_path / name).write_text(text)
    given = {"separator": None, "no_header": False, "quote": None}
    sources = sorted(tmp_path.iterdir())
    looks = [look_at(str(source)) for source in sources]
    assert detect_dialect(looks, given, ["id"], say=None)["separator"] == "|"
    assert detect_dialect(looks[:2], given, ["id"], say=None)["separator"] == "|", "its key is a column only so"
    assert detect_dialect(looks[:2], given, ["2"], say=None)["separator"] is None, "a comma"
    planner.sort(sources[1:], tmp_path / "out", format="csv", key="id:num:desc")
    assert (tmp_path / "out").read_text() == "c,d|id\n1|4\n3|2\n"


@pytest.mark.parametrize(
    ("row", "is_said"),
    [('"a\\"b"', True), ('"C:\\dir\\","b"', False), ('"a""b"', False)],
    ids=["escaped", "folder", "doubled"],
)
def test_quotes_behind_backslashes_are_named(tmp_path: Path, row: str, is_said: bool) -> None:
    """DuckDB and MySQL write such quotes, but a Windows folder also ends with a backslash before its quote."""
    columns = row.count(",") + 1
    (tmp_path / "a.csv").write_text(f"{','.join('xy'[:columns])}\n{row}\n")
    messages: list[str] = []
    detect_dialect(
        [look_at(str(tmp_path / "a.csv"))],
        {"separator": None, "no_header": None, "quote": None},
        [],
        say=messages.append,
    )
    assert any("quotes behind backslashes are not taken" in line for line in messages) is is_said


@pytest.mark.parametrize(
    ("text", "key", "advice"),
    [
        ("k,x\na,9.5\nb,10\n", "k,x:desc", "x has numbers, and is compared as text; --key x:num"),
        ("k,x\na,1.0\nb,2\n", "x", ""),  # in text the same order
        ("k,x\na,9.5\nb,10\n", "x:num", ""),
        ("k,x\na,9.5\nb,10\n", "x:bytes", ""),
        ("k,x\na,9.5\nb,none\n", "x", ""),
        ("day\n31/01/2024\n01/02/2024\n", "day", "day has dates, and is compared as text; --key day:date=%d/%m/%Y"),
        ("day\n2024-01-31\n2024-02-01\n", "day", ""),
    ],
)
def test_a_key_of_numbers_or_dates_that_is_compared_as_text_is_told(
    text: str, key: str, advice: str, tmp_path: Path
) -> None:
    source = tmp_path / "in.csv"
    source.write_text(text)
    notes: list[str] = []
    planner.sort(source, tmp_path / "out.csv", key=key, format="csv", say=notes.append)
    told = [note for note in notes if "compared as text" in note]
    assert told == ([f"note: {advice} says otherwise"] if advice else [])

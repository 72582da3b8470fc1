"""The dialect of CSV is found out, said, and can be overridden."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.api.contents.csv_dialect import Dialect, dialect_of

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
        ("2020,2021\n1,2\n", ["2021"], ",", True),
        ("2020,2021\n1,2\n", ["b"], ",", False),
        ("one\ntwo\n", ["1"], ",", False),
        ("text;with\nno;such,thing\n", ["1"], ";", False),
        ('a,"b;c"\n1,"2;3"\n', ["a"], ",", False),
        ("a,b,c\n1,2\n", ["a"], ",", False),
        ("c,d0;e:f1\n1,2;3\n", ["e:f1:num", "c,d0:num"], ";", False),
    ],
)
def test_what_makes_equal_rows_separates(text: str, keys: list[str], separator: str, no_header: bool) -> None:
    assert dialect_of(text, keys) == Dialect(separator=separator, no_header=no_header)


def sort(tmp_path: Path, text: str, **options: Any) -> tuple[str, list[str]]:
    said: list[str] = []
    source = tmp_path / "in.csv"
    source.write_text(text, encoding="utf-8")
    planner.sort(source, tmp_path / "out", say=said.append, force=True, **options)
    return (tmp_path / "out").read_text(encoding="utf-8"), said


def test_what_is_found_is_said_and_overridden(tmp_path: Path) -> None:
    out, said = sort(tmp_path, "\ufeff" + SEMICOLONS, key="name")
    assert out == "\ufeffname;price;n\na;2,5;1\nb;1,5;2\n"
    assert any("semicolons separate its columns; --separator says otherwise" in text for text in said)
    out, said = sort(tmp_path, "2,b\n1,a\n", key="1:num")
    assert out == "1,a\n2,b\n"
    assert any("--header says otherwise" in text for text in said)
    assert sort(tmp_path, "2,b\n3,c\n1,a\n", key="1:num", no_header=False)[0] == "2,b\n1,a\n3,c\n"
    out, said = sort(tmp_path, "b;1\na;2\n", key="1", separator=",", format="csv", no_header=True)
    assert (out, said) == ("a;2\nb;1\n", [])


def test_compressed_files_have_dialects_too(tmp_path: Path) -> None:
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(SEMICOLONS.encode()))
    planner.sort(tmp_path / "in.csv.gz", tmp_path / "out", key="n:num")
    assert (tmp_path / "out").read_text() == "name;price;n\na;2,5;1\nb;1,5;2\n"
    assert planner.find_disorder(tmp_path / "out", format="csv", key="n:num") is None


def test_rows_that_the_beginning_cuts_do_not_count(tmp_path: Path) -> None:
    row = 'a;"' + "long, and\n" * 200 + '";1\n'
    (tmp_path / "in.csv").write_text("x;y;n\n" + row * 50)
    said: list[str] = []
    planner.sort(tmp_path / "in.csv", tmp_path / "out", key="3:num", say=said.append)
    assert any("semicolons" in text for text in said)

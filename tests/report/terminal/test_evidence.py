"""A type's facts in readable form."""

from __future__ import annotations

from typer.testing import CliRunner

from planner.cli.app import build
from planner.report.terminal.evidence import render_facts


def test_values_have_their_units_and_sources_are_listed_once() -> None:
    shown = CliRunner().invoke(build(), ["catalog", "show", "i2.8xlarge", "--catalog", "aws-2014"]).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[0] == "i2.8xlarge in aws-2014"
    assert any(line.startswith("memory 262 GB spec") for line in lines)
    assert any(line.startswith("prices price [us-east-1, on-demand] 6.82 USD/h spec 2014-09-06 [2]") for line in lines)
    assert any(
        line.startswith("rate [simultaneous, slowest of n] 1.515 GB/s measured 5 2015-08-27 [3]") for line in lines
    )
    assert sum("SoCC 2015" in line for line in lines) == 1 and lines[-1].startswith("[3] Conley")


def test_what_is_not_known_is_said_and_tables_are_by_catalog() -> None:
    fact = {"catalog": "a", "kind": "instances", "field": "cores", "value": None, "unit": "", "evidence": "spec"}
    fact |= {"cloud_truth": None, "as_of": "2026-01-01", "source": "by hand", "note": ""}
    *tables, sources = render_facts("x1", [fact, fact | {"catalog": "b", "value": True}])
    assert [table.title for table in tables] == ["x1 in a", "x1 in b"] and sources == "[1] by hand"
    assert [[row[2] for row in table.rows] for table in tables] == [["unknown"], ["yes"]]

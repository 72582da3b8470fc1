"""`planner sizes --data 3TB,6TB`: a row for each size, in the forms that hold a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from refusals import refused
from typer.testing import CliRunner

from planner import recommend
from planner.cli.app import build
from planner.cli.plan.request_options import RequestOptions
from planner.errors import BadInputError, InfeasibleError

NARROW = ("--instance", "i4i.4xlarge")


def sizes(*options: str) -> str:
    made = CliRunner().invoke(build(only="sizes"), ["sizes", *NARROW, *options])
    if made.exception is not None:
        raise made.exception
    return made.stdout


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        ("3TB,6TB", ["3TB", "6TB"]),
        ("3TB, 600GB", ["3TB", "600GB"]),
        ("10,000GB", ["10,000GB"]),
        ("10,000GB,20,000GB", ["10,000GB", "20,000GB"]),
        (None, [""]),
    ],
)
def test_only_a_unit_ends_a_size(data: str | None, parts: list[str]) -> None:
    assert RequestOptions(data=data).sizes == parts


@pytest.mark.parametrize("data", ["3TB,", "3TB,,6TB"])
def test_a_size_left_out_is_refused(data: str) -> None:
    with refused("empty", field="--data"):
        RequestOptions(data=data).sizes  # noqa: B018


def test_the_table_has_a_row_for_each_size_within_80_columns() -> None:
    heading, *rows = sizes("--data", "2TB,1TB").splitlines()
    assert heading.split()[0] == "data" and [row.split("  ")[0] for row in rows] == ["1 TB", "2 TB"]
    assert all(len(line) <= 80 for line in (heading, *rows))


def test_a_size_too_large_has_its_reason_below_the_table() -> None:
    lines = sizes("--data", "1TB,900TB", "--nodes", "8").splitlines()
    assert lines[2].split()[2:] == ["none"] and lines[3].startswith("900 TB: nothing feasible")


def test_several_numbers_of_nodes_have_a_row_each_beside_those_of_one(tmp_path: Path) -> None:
    chart = tmp_path / "nodes.svg"
    lines = sizes("--data", "3TB", "--nodes", "16, 2,8", "--chart", str(chart)).splitlines()
    assert ["none of 2 nodes" in lines[1], "8 x i4i.4xlarge" in lines[2], "16 x i4i.4xlarge" in lines[3]] == [True] * 3
    assert lines[4].startswith("3 TB on 2 nodes: nothing feasible")
    assert "2 times the nodes cost" in chart.read_text()
    alone = json.loads(sizes("--data", "3TB", "--nodes", "8,16", "--json"))["plans"][0]["best"]
    best = recommend("3TB", instance="i4i.4xlarge", nodes=8).best
    assert best is not None and alone["time_s"]["expected"] == pytest.approx(best.time_s.expected)
    table = sizes("--data", "3TB,6TB", "--nodes", "2,8", "--show", "csv").splitlines()
    assert [row.split(",")[table[0].split(",").index("nodes")] for row in table[1:]] == ["2", "8"] * 2


@pytest.mark.parametrize(
    ("nodes", "code", "field"),
    [("8,8", "repeated", "--data"), ("8,x", "not-a-number", "--nodes"), ("8,,9", "not-a-number", "--nodes")],
)
def test_wrong_numbers_of_nodes_are_refused(nodes: str, code: str, field: str) -> None:
    with refused(code, field=field):
        sizes("--data", "3TB", "--nodes", nodes)


def test_without_any_cluster_the_command_fails_as_for_one_size() -> None:
    with pytest.raises(InfeasibleError):
        sizes("--data", "900TB,800TB", "--nodes", "8")


def test_json_and_files_have_the_plans(tmp_path: Path) -> None:
    file = tmp_path / "sizes.json"
    shown = json.loads(sizes("--data", "1TB,2TB", "--json", "--out", str(file)))
    assert [made["request"]["data_bytes"] for made in shown["plans"]] == [10**12, 2 * 10**12]
    assert json.loads(file.read_text()) == shown


def test_csv_and_markdown_have_a_row_for_each_size() -> None:
    assert len(sizes("--data", "1TB,2TB", "--show", "csv").splitlines()) == 3
    assert sizes("--data", "1TB,2TB", "--show", "markdown").count("\n| ") == 3


def test_one_size_is_of_plan_and_several_of_sizes() -> None:
    with pytest.raises(BadInputError, match="`plan` is for one"):
        sizes("--data", "1TB")
    error = CliRunner().invoke(build(only="plan"), ["plan", "--data", "1TB,2TB"]).exception
    assert isinstance(error, BadInputError) and "planner sizes" in str(error)


def test_a_chart_has_a_point_for_each_size(tmp_path: Path) -> None:
    chart = tmp_path / "sizes.svg"
    sizes("--data", "1TB,2TB", "--nodes", "8", "--chart", str(chart))
    drawn = chart.read_text()
    assert "2 times the data costs" in drawn and drawn.count("8 x i4i.4xlarge") >= 4
    with pytest.raises(BadInputError, match="exists"):
        sizes("--data", "1TB,2TB", "--nodes", "8", "--chart", str(chart))
    sizes("--data", "1TB,900TB", "--nodes", "8", "--chart", str(chart), "--force")
    assert chart.read_text() != drawn


def test_a_chart_of_sizes_without_a_cluster_says_why(tmp_path: Path) -> None:
    chart = tmp_path / "sizes.svg"
    with pytest.raises(InfeasibleError):
        sizes("--data", "900TB,800TB", "--nodes", "8", "--chart", str(chart))
    assert "Nothing to draw" in chart.read_text()

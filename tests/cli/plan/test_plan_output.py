"""`plan --show`: forms for people and for other programs, at the width given by COLUMNS."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest
from approvals import Approve
from refusals import require
from typer.testing import CliRunner, Result

from planner.cli.app import build
from planner.report.frames import MAIN_COLUMNS

ASKED = ("plan", "--data", "1TB", "--instance", "i4i.*", "--top", "4")


def call(*words: str, model: str = "indy", columns: str = "80") -> Result:
    return CliRunner().invoke(build(), [*ASKED, "--model", model, *words], env={"COLUMNS": columns})


def test_the_answer_takes_the_columns_that_there_are() -> None:
    for columns in ("60", "80"):
        shown = call(columns=columns).output
        assert shown.startswith("Rent ")
        assert max(map(len, shown.splitlines())) <= int(columns)


def test_csv_has_one_row_per_candidate_with_the_columns_asked_for_in_order() -> None:
    shown = call("--show", "csv", "--set", "columns=instance_type,nodes", "--set", "sort=nodes").stdout
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert list(rows[0]) == ["instance_type", "nodes"]
    assert [int(row["nodes"]) for row in rows] == sorted(int(row["nodes"]) for row in rows)
    assert len(rows) == 4


def test_csv_has_main_figures_machine_and_bill_unless_all_columns_are_asked_for(tmp_path: Path) -> None:
    shown = call("--show", "csv")
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert tuple(rows[0])[: len(MAIN_COLUMNS)] == MAIN_COLUMNS
    assert len(rows) == 4  # the number given by --top
    for row in rows:
        bill = [float(usd or 0) for name, usd in row.items() if name.startswith("bill_usd.")]
        assert sum(bill) == pytest.approx(float(row["cost_usd.total"]), rel=1e-5)
        assert float(row["machine.vcpus"]) > 0 and float(row["machine.local_disks"]) > 0
    assert re.search(r"4 of (\d+) types are shown", shown.stderr)
    file = tmp_path / "four.csv"
    everything = list(csv.reader(io.StringIO(call("--show", "csv", "--set", "columns=all", "--out", str(file)).stdout)))
    header, *cells = everything
    assert len(set(header)) == len(header) > 40
    assert not any(name.startswith(f"{other}.") for name in header for other in header)
    bill = json.loads(cells[0][header.index("bill")])
    assert bill[0]["name"] == "job"
    assert list(csv.reader(file.read_text().splitlines())) == everything


def test_markdown_of_columns_is_a_table() -> None:
    lines = call("--show", "markdown", "--set", "columns=instance_type,nodes").stdout.splitlines()
    assert lines[:2] == ["| instance_type | nodes |", "| --- | --- |"]
    assert all(line.startswith("| i4i.") for line in lines[2:])


def test_markdown_is_a_document_unless_columns_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "plan.md"
    document = call("--show", "markdown", "--out", str(file))
    assert "types are shown" not in document.stderr
    shown = document.stdout
    plan = json.loads(call("--json").stdout)
    assert shown == file.read_text()
    best = plan["best"]
    assert shown.startswith(f"## {best['nodes']} x {best['instance_type']} to sort 1 TB\n\nRent ")
    assert not re.search(r"\d\.\d{5}", shown), "figures are rounded"
    tables = [block for block in shown.split("\n\n") if block.startswith("|")]
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert len(tables) == 2 and f"${best['cost_usd']['total']:.2f}" in tables[0]
    assert "Assumed: the nodes generate the data and keep the result" in shown


def test_data_that_is_in_the_store_already_saves_writing_it_there(approve: Approve) -> None:
    shown = " ".join(call(model="object-store").stdout.split())
    approve(re.sub(r"\d+ days old", "NNN days old", shown))


def test_json_is_the_plan_and_wide_has_everything() -> None:
    plan = json.loads(call("--show", "json").output)
    assert plan == json.loads(call("--json").output)
    wide = call("--show", "wide").output
    assert all(part in wide for part in ("Candidates", "Phases", "Frontier", plan["best"]["instance_type"]))
    assert call("--show", "wide").output == wide


def test_wide_calls_resources_as_the_explanation_does() -> None:
    wide, explained = call("--show", "wide", columns="160").stdout, call("--explain").stdout
    assert "processors" in wide and "handing out tasks" in wide
    assert "processors" in explained
    assert not re.search(r"\b(cpu|driver)\b", wide)


def test_a_narrow_table_keeps_whole_words() -> None:
    table = call("--show", "table").output
    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in table


@pytest.mark.parametrize("columns", ["80", "160"])
def test_of_several_regions_each_row_says_its_own(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    words = "plan 1TB --cloud azure --instance Standard_L8s_v3 --region eastus,westus2 --show table"
    shown = CliRunner().invoke(build(only="plan"), words.split()).stdout
    assert "eastus" in shown and "westus2" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--show", "tabl"), "Did you mean table?"),
        (("--show", "csv,json"), "give one of them"),
        (("--set", "sort=nodes"), "are for --show csv"),
        (("--show", "csv", "--set", "columns=node"), "Did you mean nodes"),
        (("--show", "csv", "--set", "columns=instance"), "Did you mean instance_type"),
        (("--show", "csv", "--set", "columns=zzz"), "--set columns=all shows all"),
        (("--show", "csv", "--set", "columns=price"), "Did you mean price_usd_per_hour or price_as_of?"),
        (("--out", "four.csv"), "add --show csv, or name a .json file"),
        (("--out", "page.html"), "--html page.html writes a page"),
        (("--show", "json", "--set", "columns=nodes"), "are for --show csv"),
        (("--chart", "plan.pdf"), "ends with .png or .svg"),
        (("--set", "dark"), "--set dark is for --chart"),
    ],
)
def test_what_cannot_be_shown_is_refused(words: tuple[str, ...], message: str) -> None:
    outcome = call(*words)
    assert outcome.exit_code != 0
    assert message in f"{outcome.output} {outcome.exception}"


def test_a_what_if_says_what_it_changes() -> None:
    shown = " ".join(call("--what-if", "price=2").output.split())
    assert shown.startswith("What if: before, ")
    assert re.search(r"; now cost \+\d+%, time [+-]\d+%\.", shown)


def test_a_page_is_refused_before_anything_is_planned_where_charts_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    outcome = call("--html", str(tmp_path / "page.html"), model="nonsense")
    require(outcome.exception, "missing-package", "altair", field="--html")


@pytest.mark.parametrize(("name", "start"), [("plan.png", b"\x89PNG"), ("plan.svg", b"<svg")])
def test_a_chart_is_written_in_the_format_of_its_name(tmp_path: Path, name: str, start: bytes) -> None:
    outcome = call("--chart", str(tmp_path / name))
    assert outcome.exit_code == 0 and outcome.stdout.startswith("Rent ")
    assert (tmp_path / name).read_bytes().startswith(start)
    assert "exists" in str(call("--chart", str(tmp_path / name)).exception)

"""The table of options that differ in Python is complete and true."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import typer.main

import planner
from planner.cli.app import build

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reports.md"
ROW = re.compile(r"^\| `--(?:set )?([a-z-]+)` \| (.*) \|$", re.MULTILINE)


def test_an_option_of_plan_is_an_argument_unless_the_table_says_what_it_is_in_python() -> None:
    group = typer.main.get_command(build())
    options = {
        parameter.name
        for parameter in group.commands["plan"].params
        if parameter.opts[0][0] == "-" and parameter.name != "set"
    }  # type: ignore[attr-defined]
    rows = {name.replace("-", "_"): cell for name, cell in ROW.findall(PAGE.read_text("utf-8"))}
    arguments = inspect.signature(planner.recommend).parameters
    assert rows.keys() <= options <= {*rows, *arguments}
    for name, cell in rows.items():
        members = re.findall(r"`answer\.(?:plan\.)?(\w+)", cell)
        assert (f"`{name}`" in cell and name in arguments) or members or cell.startswith("none: "), name
        assert name not in arguments or f"`{name}`" in cell, name
        assert all(hasattr(planner.Recommendation, m) or m == "to_json" for m in members), name

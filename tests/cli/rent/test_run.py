"""The words of a command line reach the report as they were given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from planner.api.run_job import Work
from planner.cli.app import build


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--data", "1GB", "--model=indy", "--set", "threads=1"),
        ("run", "--cloud", "emulated", "--data", "1GB", "--rate", "400Mbit", "--memory", "1GB", "--set", "skew"),
        ("run", "--cloud", "aws", "--input", "s3://b/in", "--format", "csv", "--key", "a b:desc", "--model", "indy"),
        ("run", "--on", "r1", "--data", "1GB", "--model", "indy"),
        ("cluster", "run", "r1", "--data", "1GB", "--model", "indy", "--take-down"),
        (
            "cluster",
            "run",
            "r1",
            "--model",
            "indy",
            "--input",
            "s3://b",
            "--format",
            "csv",
            "--key",
            "a",
            "--separator",
            ";",
        ),
    ],
    ids=" ".join,
)
def test_a_run_keeps_the_words_that_asked_for_it(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Work] = []

    def note(*positional: Any, **named: Any) -> None:
        asked.extend(value for value in positional if isinstance(value, Work))

    for name in (
        "run.run_here",
        "run.run_emulated",
        "run.run_rented",
        "run.run_on_machines",
        "cluster_run.run_on_machines",
    ):
        monkeypatch.setattr(f"planner.cli.rent.{name}", note)
    monkeypatch.setattr("planner.clusters.provisioning.run_directory.RunDirectory.open", Path)
    done = CliRunner().invoke(build(), list(words))
    assert done.exit_code == 0, done.output
    assert [work.asked for work in asked] == [words]

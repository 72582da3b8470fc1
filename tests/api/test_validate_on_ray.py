"""Requests that `planner validate --ray` refuses before it looks for a cluster, and merging of the nodes' results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from typer.testing import CliRunner

from planner.api.validate import DatasetValidation
from planner.cli.app import build
from planner.errors import BadInputError, ValidationFailedError

SOUND: dict[str, Any] = {"records": 3, "sorted": True, "duplicates": 0, "checksum": "ff", "problems": []}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("a.json --lines", "the manifest says what the data is"),
        ("a.json --key-size 4", "the manifest says what the data is"),
        ("a.json --threads 2", "the manifest says what the data is"),
        ("a.json --input a.json", "the manifest says what the data is"),
        ("a.json a.json", "one file"),
        ("a.json", "is not one that"),
    ],
)
def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, reason: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    done = CliRunner().invoke(build(), ["validate", *words.split(), "--ray", "127.0.0.1:1"])
    assert isinstance(done.exception, BadInputError)
    assert reason in str(done.exception)


def test_sound_copies_pass() -> None:
    DatasetValidation(counted="lines", copies=(SOUND, SOUND), expected=0xFF).require()
    DatasetValidation(counted="lines", copies=(SOUND,), expected=None).require()


def test_every_fault_of_every_copy_is_listed(approve: Approve) -> None:
    copies: list[dict[str, Any]] = [
        SOUND | {"checksum": "fe"},
        SOUND | {"sorted": False, "problems": ["copy 2 of partition 0: gone"]},
    ]
    with pytest.raises(ValidationFailedError) as caught:
        DatasetValidation(counted="records", copies=tuple(copies), expected=0xFF).require()
    approve(caught.value.details)

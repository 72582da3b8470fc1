"""Every model's plan on a small made-up cloud is, field by field, what it was when somebody last looked at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.config.model_files import model_names

TOP = Path(__file__).resolve().parents[2]
GOLDEN = TOP / "tests" / "golden"
SCRIPT = TOP / "scripts" / "write_golden_plans.py"


def test_plans_are_what_they_were(tmp_path: Path) -> None:
    alone = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    outcome = subprocess.run(
        [sys.executable, SCRIPT, "--check"], cwd=TOP, capture_output=True, text=True, check=False, env=alone
    )
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize("model", model_names())
def test_every_model_has_a_plan(model: str) -> None:
    plan = json.loads((GOLDEN / f"{model}.json").read_text())
    assert plan["best"]["model"] == model
    assert plan["rejected"]

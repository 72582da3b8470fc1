"""Every model's plan on a small made-up cloud is, field by field, what it was when somebody last looked at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.config.paths import model_names

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from write_golden_plans import GOLDEN, TOP, differences

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


@pytest.mark.parametrize(
    ("old", "new"), [(3.984266669e-06, 3.984266668e-06), (1.0, 1), ([{"usd": 2.5}], [{"usd": 2.5}]), (None, None)]
)
def test_the_last_digits_of_another_processor_are_no_difference(old: object, new: object) -> None:
    assert not list(differences(old, new))


@pytest.mark.parametrize(
    ("old", "new"), [(3.98426667, 3.98426660), (0.0, 1e-12), (1.0, None), ([1.0], [1.0, 2.0]), ({"usd": 1.0}, {})]
)
def test_whatever_else_differs_is_named(old: object, new: object) -> None:
    assert next(differences(old, new, where="plan")).startswith("plan")

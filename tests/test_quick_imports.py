"""Commands load heavy packages only where they need them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PLAN = ["plan", "--data", "100TB", "--model", "indy", "--catalog", "aws-2014", "--json"]
RUN_PLAN = f"""
sys.argv = {PLAN}
from planner.cli.app import plan_main
try:
    plan_main()
except SystemExit as exit:
    assert not exit.code, exit.code
"""
RUN_SORT = """
import os, tempfile
os.chdir(tempfile.mkdtemp())
open("in", "wb").write(bytes(1000))
sys.argv = ["planner", "sort", "in", "out", "--json"]
from planner.cli.app import main
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
"""


def loaded_by(statements: str) -> set[str]:
    """Return the top-level modules that are in memory after a new interpreter ran `statements`."""
    code = f"import sys\n{statements}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize(
    ("statements", "absent"),
    [
        pytest.param("import planner", {"pandas", "numpy", "typer", "rich"}, id="import planner"),
        pytest.param("import planner.cli.app", {"pandas", "numpy"}, id="import planner.cli.app"),
        pytest.param(RUN_PLAN, {"pandas"}, id="plan"),
        pytest.param(RUN_SORT, {"pandas", "numpy"}, id="planner sort"),
    ],
)
def test_heavy_packages_are_loaded_when_needed_and_not_before(statements: str, absent: set[str]) -> None:
    assert not loaded_by(statements) & (absent | {"ray", "boto3"})

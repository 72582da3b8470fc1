"""The computed pages and the picture of the architecture are what the code gives now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.marks import QUICK_SOAK


@pytest.mark.parametrize(
    "name",
    [
        "write_papers_page",
        "write_tritonsort_page",
        "write_variation_page",
        "write_lee_fox_page",
        "write_measured_page",
        "write_leave_one_out_page",
        "write_man_pages",
        "draw_architecture",
        pytest.param("write_shown_answers", marks=QUICK_SOAK),  # a hundred commands
    ],
)
def test_what_the_script_writes_is_current(name: str) -> None:
    root = Path(__file__).resolve().parent.parent
    script = root / "scripts" / f"{name}.py"
    outcome = subprocess.run([sys.executable, script, "--check"], cwd=root, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr

"""The pages of computed figures are what the code computes now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("page", ["papers", "tritonsort", "variation"])
def test_the_page_is_current(page: str) -> None:
    root = Path(__file__).resolve().parent.parent
    script = root / "scripts" / f"write_{page}_page.py"
    outcome = subprocess.run([sys.executable, script, "--check"], cwd=root, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr

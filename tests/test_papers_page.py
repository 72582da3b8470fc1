"""The page of recomputed figures is what the code computes now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_page_is_current() -> None:
    root = Path(__file__).resolve().parent.parent
    script = root / "scripts" / "write_papers_page.py"
    outcome = subprocess.run([sys.executable, script, "--check"], cwd=root, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr

"""A user's data directory of each test's own; modules that these tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests share the modules beside them


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where refreshed catalogs of this test lie."""
    monkeypatch.setenv("PLANNER_CATALOGS", str(tmp_path / "catalogs"))
    monkeypatch.setenv("PLANNER_SETTINGS", str(tmp_path / "settings.toml"))
    return tmp_path / "catalogs"

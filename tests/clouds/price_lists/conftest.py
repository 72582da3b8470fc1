"""A separate user data directory for each test, and modules shared by these tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests share the modules next to them


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of this test's refreshed catalogs."""
    monkeypatch.setenv("PLANNER_CATALOGS", str(tmp_path / "catalogs"))
    monkeypatch.setenv("PLANNER_SETTINGS", str(tmp_path / "settings.toml"))
    return tmp_path / "catalogs"

"""The platforms' page has a row for each platform."""

from __future__ import annotations

import re
from pathlib import Path

from planner.exports.platform import PLATFORMS

PAGE = Path(__file__).parents[2] / "docs" / "platforms.md"


def test_each_platform_has_a_row() -> None:
    assert re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), flags=re.M) == list(PLATFORMS)

"""Every path that docs/architecture.md names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PAGE = (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8")
TOP_FOLDERS = "planner|native|models|catalogs|scripts|tests|notebooks|benchmarks|docs"
PATHS = sorted(set(re.findall(rf"`((?:{TOP_FOLDERS})/[\w./-]*)`", PAGE)))
JOURNEYS = ("plan", "run", "record", "measurement")
FEWEST_STOPS, MOST_STOPS = 5, 8


@pytest.mark.parametrize("path", PATHS)
def test_path_exists(path: str) -> None:
    target = CHECKOUT / path
    assert target.is_dir() if path.endswith("/") else target.is_file()


@pytest.mark.parametrize("journey", JOURNEYS)
def test_journey_names_a_file_at_every_stop(journey: str) -> None:
    section = re.search(rf"^### The journey of a {journey}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, journey
    stops = re.findall(r"^\d+\. (.*?)(?=^\d+\. |^\n|\Z)", section[1], re.MULTILINE | re.DOTALL)
    assert FEWEST_STOPS <= len(stops) <= MOST_STOPS
    assert not [stop for stop in stops if not re.search(rf"`(?:{TOP_FOLDERS})/[\w./-]+`", stop)]

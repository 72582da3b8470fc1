"""A missing optional package is named, with the extra that installs it."""

from __future__ import annotations

import json

import pytest

from planner.errors import PlannerError
from planner.extras import optional


def test_a_package_that_is_there_is_returned() -> None:
    assert optional("json", extra="plots", purpose="a chart") is json


def test_a_package_that_is_absent_is_named_with_its_extra() -> None:
    words = r"a chart needs the package nosuch, which is not installed: pip install 'sortplanner\[plots\]'"
    with pytest.raises(PlannerError, match=words):
        optional("nosuch.part", extra="plots", purpose="a chart")

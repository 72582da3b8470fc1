"""All tests of emulated clusters begin without what a killed test run left."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def without_earlier_ones(swept: None) -> None:
    del swept

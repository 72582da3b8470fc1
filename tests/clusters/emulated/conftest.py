"""All tests of emulated clusters start without leftovers of a killed test run."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def without_earlier_ones(swept: None) -> None:
    del swept

"""Marks that several test files share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import pytest

QUICK_SOAK: Final = (pytest.mark.soak, pytest.mark.quick)
"""For parameters of a test that take seconds of a processor and rarely fail: `make soak-quick` runs them."""

F = TypeVar("F", bound=Callable[..., object])


def quick_soak(test: F) -> F:
    """Leave a test that takes seconds of a processor and rarely fails to `make soak-quick`."""
    marked: F = pytest.mark.soak(pytest.mark.quick(test))
    return marked

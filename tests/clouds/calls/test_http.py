"""Calls over plain HTTP without a network."""

from __future__ import annotations

import time

import pytest
from refusals import refused

from planner.clouds.calls.http import get_json
from planner.clouds.calls.reading import READING
from planner.errors import IoFailureError


def test_a_name_that_nobody_knows_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """No resolver knows a name in `.invalid` (RFC 2606), with or without a network."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with refused("broken-answer", "network", "proxy", kind=IoFailureError) as raised:
        get_json("http://prices.invalid/index.json", what="prices", policy=READING)
    assert "tried" not in str(raised.value)
    assert not pauses

"""The callback that receives the events of a running job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Emit = Callable[[dict[str, Any]], None]
"""Receives events as JSON-able values."""


def ignore(_: dict[str, Any]) -> None:
    """Ignore an event."""

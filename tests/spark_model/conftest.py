"""Applications to plan with, read from small logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from spark_events import lines

from planner import spark_log
from planner.spark_application.application import Application

Reader = Callable[[Sequence[dict[str, Any]]], Application]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    def of(events: Sequence[dict[str, Any]]) -> Application:
        path = tmp_path / "log"
        path.write_bytes(lines(events))
        return spark_log.read(path).only()

    return of

"""Applications read from small logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from spark_events import lines

from planner.spark import log as spark_log
from planner.spark.application.application import Application


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Sequence[dict[str, Any]]], Application]:
    """Return a reader of the only application in some events."""

    def of(events: Sequence[dict[str, Any]]) -> Application:
        path = tmp_path / "log"
        path.write_bytes(lines(events))
        return spark_log.read(path).only()

    return of

"""Applications to plan with, read from small logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from spark_events import lines

from planner.spark import log as spark_log
from planner.spark.application.application import Application
from planner.spark.model.machines import NodeType

Reader = Callable[[Sequence[dict[str, Any]]], Application]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    def of(events: Sequence[dict[str, Any]]) -> Application:
        path = tmp_path / "log"
        path.write_bytes(lines(events))
        return spark_log.read(path).only()

    return of


@pytest.fixture
def machine() -> Callable[..., NodeType]:
    def of(instance_type: str = "m.4", **figures: Any) -> NodeType:
        usual = {
            "cloud": "aws",
            "instance_type": instance_type,
            "arch": "x86_64",
            "vcpu": 4,
            "siblings": False,
            "clock_ghz": 2.0,
            "memory_bytes": 16e9,
            "network_bytes_per_s": 1e9,
            "disk_bytes_per_s": 1e9,
            "price_usd_per_hour": 1.0,
        }
        return NodeType(**{**usual, **figures})

    return of

"""Machine types for plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planner.spark.model.machines import NodeType


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

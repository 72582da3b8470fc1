"""What an application says of its tasks' slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from spark_events import small_job

from planner.spark.application.application import Application
from planner.spark.model.timeline import cpu_share, timeline

Reader = Callable[[Sequence[dict[str, Any]]], Application]


@pytest.mark.parametrize(
    ("limit", "share"), [("", None), ("2", 0.5), ("500m", 0.125), ("1.0", 0.25), ("8", 1.0), ("two", None), ("0", None)]
)
def test_a_limit_of_kubernetes_is_shared_by_the_cores_of_an_executor(
    read: Reader, limit: str, share: float | None
) -> None:
    application = read(small_job())
    assert application.cluster.cores_per_executor == 4
    limited = replace(application, properties={"spark.kubernetes.executor.limit.cores": limit})
    assert cpu_share(limited) == share
    assert {step.cpu_share for step in timeline(limited).steps} == {share}

"""Made-up machines and a made-up framework with known true times, for the calibration tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from planner.calibration.history import parse_jobs
from planner.calibration.machines import machine
from planner.calibration.physics import Shape, Stream, log_seconds, unit_seconds
from planner.calibration.priors import ONE_STREAM
from planner.calibration.workloads import workload

CORE = next(family for family in ONE_STREAM if family.stream == "core")
SPECS: dict[str, dict[str, float]] = {
    "small": {"vcpu": 4, "mem_gib": 16, "ghz": 2.5, "ebs_mbps": 750, "net_base_gbps": 1, "price_usd_h": 0.2},
    "large": {"vcpu": 16, "mem_gib": 64, "ghz": 2.5, "ebs_mbps": 2000, "net_base_gbps": 4, "price_usd_h": 0.8},
    "fast": {"vcpu": 8, "mem_gib": 16, "ghz": 3.5, "nvme_r_MBps": 1500, "nvme_w_MBps": 800, "net_base_gbps": 5},
}


def job(instance_type: str = "small", nodes: int = 4, data_gb: float = 20.0, **options: Any) -> dict[str, Any]:
    """Return a query row."""
    return {"instance_type": instance_type, "nodes": nodes, "data_gb": data_gb, **options}


def grid(
    types: Iterable[str] = ("small",), nodes: Iterable[int] = (2, 4, 6, 8, 12), sizes: Iterable[float] = (10, 20, 40)
) -> list[dict[str, Any]]:
    """Return query rows for every combination."""
    return [job(machine_type, count, size) for machine_type in types for size in sizes for count in nodes]


def true_seconds(
    rows: list[dict[str, Any]], coefficients: np.ndarray | None = None, *, stream: Stream = "core"
) -> np.ndarray:
    """Return the times of the physics for the given coefficients (logarithms except the last). By default, a framework
    away from the prior whose single stream is limited by a core.
    """
    shifts = np.array([0.5, 0.0, 0.4, 0.0, -0.3, 0.3, 0.0, 0.0, 0.03])
    chosen = CORE.mean + shifts if coefficients is None else coefficients
    jobs = parse_jobs(rows, what="query", timed=False)
    machines = {name: machine(name, spec) for name, spec in SPECS.items()}
    return np.exp(log_seconds(chosen, unit_seconds(workload(jobs, machines), Shape(stream)))[0])


def runs(
    rows: list[dict[str, Any]],
    *,
    noise: float = 0.02,
    seed: int = 0,
    coefficients: np.ndarray | None = None,
    stream: Stream = "core",
) -> list[dict[str, Any]]:
    """Return the rows with their true times, with random scatter of `noise`."""
    rng = np.random.default_rng(seed)
    times = true_seconds(rows, coefficients, stream=stream) * np.exp(noise * rng.standard_normal(len(rows)))
    return [{**row, "runtime_s": float(time)} for row, time in zip(rows, times, strict=True)]

"""Sampled activity of a node."""

from __future__ import annotations

import os
import time

from planner.distributed_sort.node_tasks.node_service import Counters, Sample, mean_usage, read_counters


def test_means_are_differences_over_seconds() -> None:
    before = Counters(at_s=10, processes={1: (5.0, 100, 10), 2: (9.0, 7, 7)}, received_bytes=50, sent_bytes=20)
    after = Counters(at_s=12, processes={1: (6.0, 300, 10), 3: (0.5, 0, 40)}, received_bytes=70, sent_bytes=80)
    assert mean_usage(before, after) == Sample(
        at_s=12,
        cpu_cores=0.75,
        disk_read_bytes_per_s=100,
        disk_write_bytes_per_s=20,
        network_in_bytes_per_s=10,
        network_out_bytes_per_s=30,
    )


def test_this_process_is_counted() -> None:
    before = read_counters()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    after = read_counters()
    spent = after.processes[os.getpid()][0] - before.processes[os.getpid()][0]
    assert spent >= 0.15
    assert mean_usage(before, after).cpu_cores > 0

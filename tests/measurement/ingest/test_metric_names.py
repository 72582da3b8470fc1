"""Better direction of a metric: from its name, unknown from its name, or from the user."""

from __future__ import annotations

import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.measurement.ingest.metric_names import good_direction, is_context, parse_better

TIMES = [
    "clat_p99_us",
    "clat_ns_p99",
    "read_ms",
    "boot_s",
    "Latency",
    "read4K_latency_p99_s",
    "time (ms)",
    "rtt",
    "p99",
    "ops_p99_ms",
    "read_ops_time_us",
    "ns_per_op",
    "usec",
    "runtime",
]
COUNTS = [
    "fail_rate",
    "miss_rate",
    "iops_stddev",
    "bw_dev",
    "retr",
    "slow_ops",
    "errors",
    "retransmits",
    "error_rate",
    "cpu_steal",
    "tcp_retransmits_per_s",
]
RATES = [
    "read_bytes_per_s", "net_MBps", "iops", "operations_per_s", "gbits", "mb_s", "MiB/s", "GB per second", "rows_s",
    "events_per_second", "transactions_per_sec", "msgs_per_s", "pps", "goodput", "p99_iops",
    "bw", "req_per_sec", "mem_bandwidth", "disk_MBps", "read",
]  # fmt: skip
CONTEXT = [
    "threads", "block_size", "queue_depth", "iteration", "kernel_version", "private_ip", "memory_total_bytes",
    "disk_gb", "price", "uptime_s", "vcpu", "mem_gib", "cores", "zone", "instance_type", "disks", "host",
]  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "way"),
    [
        *[(name, "lower") for name in (*TIMES, *COUNTS)],
        *[(name, "higher") for name in RATES],
        *[(name, None) for name in (*CONTEXT, "quality", "x", "core_temp", "disk_quality", "cpu_util", "avg")],
    ],
)
def test_words_and_units_say_which_way_is_better(metric: str, way: str | None) -> None:
    assert good_direction(metric) == way
    assert is_context(metric) == (metric in CONTEXT)


def test_what_no_name_says_is_asked() -> None:
    with refused("direction-unknown", "quality"):
        parse_better([], ["mb_s", "quality"])


def test_what_the_user_says_counts_before_the_name() -> None:
    told = parse_better(["lower", "mb_s=lower", "p99=higher"], ["mb_s", "p99", "rtt", "quality"])
    assert told == {"mb_s": "lower", "p99": "higher", "rtt": "lower", "quality": "lower"}


@pytest.mark.parametrize(("text", "says"), [("more", "write higher, lower"), ("mbs=lower", "Did you mean mb_s")])
def test_a_wrong_word_or_metric_is_refused(text: str, says: str) -> None:
    with pytest.raises(BadInputError, match=says):
        parse_better([text], ["mb_s"])

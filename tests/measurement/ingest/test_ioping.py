"""ioping's files give operations and latency, and unusable ones give the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

PING = json.loads((Path(__file__).parent / "data" / "samples" / "ioping.json").read_text())


def written(tmp_path: Path, items: list[Any]) -> Path:
    path = tmp_path / "ping.json"
    path.write_text(json.dumps(items))
    return path


def test_the_statistics_at_the_end_are_the_measurement(tmp_path: Path, read: Callable[..., Any]) -> None:
    stat = {"count": 20, "size": 81920, "time": 4_000_000, "iops": 5000, "bps": 20_480_000, "avg": 200_000}
    (row,) = read(written(tmp_path, [PING[0], {**PING[-1], "stat": stat}]))
    assert (row.quantity, row.operations_per_s, row.bytes_per_s, row.block_bytes) == (
        "read_only",
        5000,
        20_480_000,
        4096,
    )
    assert (row.latency_mean_s, row.seconds) == (pytest.approx(200e-6), pytest.approx(4e-3))


@pytest.mark.parametrize(
    ("items", "says"),
    [
        (PING[:-1], "was ioping interrupted"),
        ([{**PING[-1], "stat": {"count": 0, "size": 0}}], "no request counted"),
        ([1, 2], "no known instrument"),
        ([], "no known instrument"),
    ],
)
def test_other_files_say_why(tmp_path: Path, refusal: Callable[..., str], items: list[Any], says: str) -> None:
    assert says in refusal(written(tmp_path, items))


def test_without_single_requests_the_direction_is_asked_for(tmp_path: Path, read: Callable[..., Any]) -> None:
    with refused("missing-field"):
        read(written(tmp_path, PING[-1:]))


@pytest.mark.parametrize(
    "text",
    ["4 KiB <<< . (ext4): request=1 time=228.0 us\n\n--- . (ext4) ioping statistics ---\n2 requests completed\n",
     "99 30214142 3277 13422015 205456 305193 698123 41012 100 99010203441\n"],
)  # fmt: skip
def test_output_for_people_is_named(text: str, tmp_path: Path, refusal: Callable[..., str]) -> None:
    path = tmp_path / "ping.txt"
    path.write_text(text)
    assert "run it with -J" in refusal(path)

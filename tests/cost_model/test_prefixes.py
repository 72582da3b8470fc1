"""Prefixes of a store: each takes so many requests; by default there are as many as the size suggests."""

from __future__ import annotations

from typing import Any

import pytest

from planner import recommend
from planner.schemas.plan import Candidate

IN_STORE: dict[str, Any] = {
    "model": "object-store", "cloud": "aws", "input": "s3://a/b", "output": "s3://a/c", "instance": "c6gn.16xlarge",
    "nodes": 80,
}  # fmt: skip


def best_of(data: str, **asked: Any) -> Candidate:
    best = recommend(data, **(IN_STORE | asked)).best
    assert best is not None
    return best


def requests_s(best: Candidate) -> float:
    return sum(
        phase.resources["object_requests"].time_s for phase in best.phases if "object_requests" in phase.resources
    )


@pytest.mark.parametrize(("data", "suggested"), [("1TB", 1), ("2.5TB", 1), ("3TB", 2), ("100TB", 40)])
def test_the_size_suggests_one_for_each_two_and_a_half_tb(data: str, suggested: int) -> None:
    """CloudSort's 100 TB lay in 40 buckets."""
    asked = best_of(data, prefixes=suggested)
    assert best_of(data).time_s == asked.time_s
    (note,) = (text for text in best_of(data).warnings if "--prefixes N" in text)
    assert f"over {suggested} prefix" in note and "as its size suggests" in note
    assert any("as you say" in text for text in asked.warnings)


def test_twice_as_many_take_twice_the_requests_in_a_second() -> None:
    """20 TB in parts of 16 MiB and 100 MB at 5,500 reads and 3,500 writes a second: 274 s on one prefix."""
    one, two = (best_of("20TB", prefixes=count) for count in (1, 2))
    assert requests_s(one) == pytest.approx(20e12 / 16777216 / 5500 + 20e12 / 1e8 / 3500, rel=0.02)
    assert requests_s(two) == pytest.approx(requests_s(one) / 2)
    assert two.time_s.expected <= one.time_s.expected


def test_a_single_file_has_a_single_prefix() -> None:
    assert best_of("20TB", files=1).time_s == best_of("20TB", files=1, prefixes=1).time_s

"""Sources of the caps on emulated links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.catalog.bandwidth_distributions import distribution
from planner.clusters.emulated.shaping import Cap, parse_shaping
from planner.errors import BadInputError


def test_one_rate_is_that_of_all_nodes() -> None:
    assert parse_shaping(rate="400Mbit").draws(3).draw() == [Cap(bytes_per_s=50e6)] * 3


def test_a_list_has_one_rate_for_each_node() -> None:
    draws = parse_shaping(rate="400Mbit, 100Mbit/s").draws(2)
    assert draws.draw() == [Cap(bytes_per_s=50e6), Cap(bytes_per_s=12.5e6)]
    with pytest.raises(BadInputError, match="2 rates for 3 nodes"):
        parse_shaping(rate="400Mbit,100Mbit").draws(3)


def test_no_rate_leaves_links_uncapped() -> None:
    assert parse_shaping().draws(2).draw() == [None, None]


def test_draws_follow_the_distribution_and_repeat_with_a_seed() -> None:
    shaping = parse_shaping(distribution="A", rate_factor=0.1, seed=7)
    drawn = [cap.bytes_per_s for cap in shaping.draws(4000).draw() if cap]
    for quantile in (0.25, 0.5, 0.75):
        expected = 0.1 * float(distribution("A").quantile(quantile))
        assert float(np.quantile(drawn, quantile)) == pytest.approx(expected, rel=0.05)
    assert shaping.draws(5).draw() == shaping.draws(5).draw()
    draws = shaping.draws(5)
    assert draws.draw() != draws.draw()


def test_a_token_bucket_has_two_rates() -> None:
    (cap,) = parse_shaping(rate="100Mbit", bucket="50MB", burst_rate="400Mbit").draws(1).draw()
    assert cap is not None
    assert cap.bucket is not None
    assert (cap.bytes_per_s, cap.bucket.burst_bytes_per_s, cap.bucket.size_bytes) == (12.5e6, 50e6, 50_000_000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": "400Mbit", "distribution": "A"}, "exclude each other"),
        ({"rate": "400Mbit", "redraw": 10.0}, "needs `distribution`"),
        ({"distribution": "Z"}, "unknown network distribution"),
        ({"distribution": "A", "rate_factor": 0.0}, "is not positive"),
        ({"rate": "1bit"}, "no node would survive"),
        ({"rate": "fast"}, "not a number"),
        ({"rate": "100Mbit", "bucket": "50MB"}, "needs --bucket, --burst-rate and --rate"),
        ({"rate": "100Mbit", "bucket": "50MB", "burst_rate": "50Mbit"}, "must exceed --rate"),
        ({"rate": "100Mbit", "bucket": "50GB", "burst_rate": "1Gbit"}, "kernel cannot represent"),
    ],
)
def test_contradictions_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        parse_shaping(**options)

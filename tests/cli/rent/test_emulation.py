"""Options of emulated clusters become the shaping of their links."""

from __future__ import annotations

from typing import Any

import pytest

from planner.cli.rent.emulation import Links
from planner.clusters.emulated.shaping import Bucket, Shaping, parse_shaping
from planner.errors import BadInputError


def shaping_of(**typed: Any) -> Shaping:
    return parse_shaping(**Links(**typed))


def test_without_options_links_are_not_shaped() -> None:
    assert not shaping_of().shapes


def test_options_are_read_in_the_users_units() -> None:
    shaping = shaping_of(rate="100Mbit", bucket="50MB", burst_rate="400Mbit")
    assert shaping.rates_bytes_per_s == (12.5e6,)
    assert shaping.bucket == Bucket(size_bytes=50_000_000, burst_bytes_per_s=50e6)
    drawn = shaping_of(distribution="A", redraw="10s", seed=3, rate_factor=0.1)
    assert (drawn.distribution, drawn.redraw_s, drawn.seed, drawn.rate_factor) == ("A", 10.0, 3, 0.1)


def test_contradictions_are_refused() -> None:
    with pytest.raises(BadInputError, match="exclude each other"):
        shaping_of(rate="100Mbit", distribution="A")

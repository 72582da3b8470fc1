"""Observations of spot machines, and the rates that follow from them."""

from __future__ import annotations

import pytest

from planner.clusters.spot.availability import SpotHistory, SpotRates


def test_what_was_seen_adds_up() -> None:
    """Up for 60 s, lost, down for 120 s, back, up for 60 s."""
    seen = SpotHistory().extend(was_up=True, for_s=60, is_up=False)
    seen = seen.extend(was_up=False, for_s=120, is_up=True).extend(was_up=True, for_s=60, is_up=True)
    assert seen == SpotHistory(up_s=120, down_s=120, losses=1, returns=1)


def test_rates_begin_with_the_prior_and_follow_what_was_seen() -> None:
    """The prior of one loss in 3,600 s, then three in 1,800 s: (1 + 3) / (3,600 + 1,800)."""
    prior = SpotRates(losses_per_s=1 / 3600, returns_per_s=1 / 600)
    assert prior.update(SpotHistory()) == prior
    later = prior.update(SpotHistory(up_s=1800, losses=3, down_s=600, returns=1))
    assert later.losses_per_s == pytest.approx(4 / 5400)
    assert later.returns_per_s == pytest.approx(2 / 1200)

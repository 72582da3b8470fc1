"""Metadata in every instrument's result, and choice of settings."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import pytest

from planner.measurement.instruments.instrument import Origin, series_per_s, smallest_good_enough


def test_the_smallest_setting_within_five_percent_of_the_best_is_chosen() -> None:
    assert smallest_good_enough([(8, 100.0), (1, 94.9), (2, 95.0), (4, 99.0)]) == 2
    with pytest.raises(ValueError, match="empty"):
        smallest_good_enough([])


def test_a_series_is_in_bytes_per_second() -> None:
    assert series_per_s([10, 20], interval_s=0.5) == (20.0, 40.0)


def test_an_origin_notes_host_version_and_time() -> None:
    origin = asdict(Origin(instrument="x", method="y", machine_type=None, nodes=1, repeats=2))
    assert datetime.fromisoformat(origin["measured_at"]).tzinfo is not None
    assert origin["host"] and origin["planner_version"]

"""Trends of one job over weeks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.spark.fleet.rows import FleetRow
from planner.spark.fleet.trends import at_twice_the_data, trends

WEEK_S = 7 * 86400.0


def runs(name: str, *, weeks: int, growth: float, headroom: float | None = None) -> list[FleetRow]:
    return [
        FleetRow(
            log=f"{name}-{week}", name=f"{name} 2026-{week:02}", started_at_s=1.7e9 + week * WEEK_S,
            duration_s=600 * growth**week, input_bytes=1e9 * growth ** (2 * week), data_headroom=headroom,
        )
        for week in range(weeks)
    ]  # fmt: skip


def test_growth_is_a_factor_for_each_week() -> None:
    (trend,) = trends(runs("etl", weeks=6, growth=1.1, headroom=3.0))
    assert (trend.job, len(trend.runs), trend.weeks) == ("etl #-#", 6, pytest.approx(5))
    assert trend.time_growth == pytest.approx(1.1)
    assert trend.data_growth == pytest.approx(1.21)
    assert 1.21 ** (trend.weeks_until_spill or 0) == pytest.approx(3.0)
    assert trend.twice == "fits"


def test_the_fastest_growing_comes_first_and_few_runs_say_nothing() -> None:
    rows = [*runs("slow", weeks=4, growth=1.01), *runs("fast", weeks=4, growth=1.3), *runs("new", weeks=2, growth=2)]
    assert [trend.job for trend in trends(rows)] == ["fast #-#", "slow #-#"]


def test_the_data_of_logs_that_lost_tasks_do_not_count() -> None:
    rows = runs("etl", weeks=5, growth=1.1)
    lost = replace(rows[-1], input_bytes=1e6, complete_share=0.7)
    (trend,) = trends([*rows[:-1], lost])
    assert trend.data_growth == pytest.approx(1.21)
    assert lost.data_bytes is None


def test_the_time_of_logs_without_an_end_does_not_count() -> None:
    rows = runs("etl", weeks=5, growth=1.1)
    (trend,) = trends([*rows[:-1], replace(rows[-1], duration_s=1.0, ended=False)])
    assert trend.time_growth == pytest.approx(1.1)


def test_shrinking_or_unknown_data_never_spill() -> None:
    (shrinking,) = trends(runs("a", weeks=4, growth=0.9, headroom=1.2))
    (unknown,) = trends(runs("a", weeks=4, growth=1.1))
    assert (shrinking.weeks_until_spill, unknown.weeks_until_spill) == (None, None)


@pytest.mark.parametrize(
    ("headroom", "words"),
    [(None, "unknown"), (0.9, "already spills"), (1.5, "no longer fits: tasks spill"), (2.0, "fits")],
)
def test_twice_the_data(headroom: float | None, words: str) -> None:
    assert at_twice_the_data(headroom) == words

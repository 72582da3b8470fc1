"""At which cluster sizes a page has tables, and what stands in them."""

from __future__ import annotations

import pytest

from planner.planning.formula_tables import table_sizes
from planner.statistics.scaling_curve import ScalingCurve


def test_every_size_to_a_thousand_and_then_a_hundredth_more_each() -> None:
    """From 1,000 to 2,000 there are ceil(ln 2 / ln 1.01) = 70 steps, each by 2^(1/70)."""
    sizes = table_sizes(2000.0, [])
    assert sizes[:1000].tolist() == list(range(1, 1001))
    assert (sizes[1000], sizes[-1], len(sizes)) == (pytest.approx(1000 * 2 ** (1 / 70)), 2000, 1070)


def test_many_curves_have_few_sizes_each_and_those_at_which_they_bend() -> None:
    """30,000 numbers for 100 curves of 15 tables are 20 sizes: at least 40 have every one."""
    curve = ScalingCurve.through([2, 97.5], [1e9, 9e8])
    sizes = table_sizes(200.0, [[curve]] * 100)
    assert sizes[:40].tolist() == list(range(1, 41))
    assert 41 not in sizes and 97.5 in sizes

"""Rows of a catalog that contradict their own family, other sources or the vendor's lists.

The rules need no list of right values, and so hold for any catalog. A row that breaks one is wrong, or has a reason in
reviews.csv.
"""

from planner.catalog.plausibility.prices import implausible_prices
from planner.catalog.plausibility.rows import implausible_rows, not_accepted
from planner.catalog.plausibility.shapes import shapes
from planner.catalog.plausibility.suspicion import Suspicion

__all__ = ["Suspicion", "implausible_prices", "implausible_rows", "not_accepted", "shapes"]

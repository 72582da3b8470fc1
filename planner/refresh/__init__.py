"""Catalogs made anew from what a cloud says today: specifications from its API, prices from its price list."""

from planner.refresh.access import Access
from planner.refresh.reading import Reading
from planner.refresh.refreshing import CLOUDS, Refreshed, refresh

__all__ = ["CLOUDS", "Access", "Reading", "Refreshed", "refresh"]

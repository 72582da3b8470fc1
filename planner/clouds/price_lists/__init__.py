"""Catalogs updated from a cloud's current data: specifications from its API, prices from its price list."""

from planner.clouds.price_lists.reading import Access, Reading
from planner.clouds.price_lists.refreshing import CLOUDS, Refreshed, refresh

__all__ = ["CLOUDS", "Access", "Reading", "Refreshed", "refresh"]

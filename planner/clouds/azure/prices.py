"""What a size costs now, from Azure's public price list."""

from __future__ import annotations

from collections import Counter

from planner.clouds.price_lists.access import Access
from planner.clouds.price_lists.azure_prices import retail_prices


class Prices:
    """The price lists of regions as of now, each read when it is first asked for."""

    def __init__(self, *, prices_url: str) -> None:
        self._access = Access(prices_url=prices_url)
        self._regions: dict[str, dict[tuple[str, str], float]] = {}

    def of(self, size: str, region: str, pricing: str) -> float | None:
        """Return US dollars per hour, on demand or spot; None when the list has no single price. Raises as
        `retail_prices`.
        """
        if region not in self._regions:
            self._regions[region] = retail_prices(
                region, access=self._access, watch=lambda _what, _count: None, left_out=Counter()
            )
        return self._regions[region].get((size, pricing))

"""What a machine type costs now, summed up from Google's price list of its parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from planner.clouds import price_lists as refresh
from planner.clouds.gcp.access import Access
from planner.clouds.price_lists.gcp import hourly_usd, price_list
from planner.clouds.price_lists.gcp_prices import UnitPrices
from planner.errors import PlannerError


class Prices:
    """The price list as of now, read when the first price is asked for; without it, every price is unknown."""

    def __init__(self, *, access: Access, regions: Sequence[str]) -> None:
        self._access, self._regions = access, tuple(regions)
        self._units: UnitPrices | None = None
        self._read = False

    def of(self, description: dict[str, Any], region: str, added_disks: int, pricing: str) -> float | None:
        """Return US dollars per hour of a machine type, as machineTypes tells it, with local disks added; `pricing`
        says how it is bought.
        """
        from google.cloud import compute_v1

        units = self._list()
        if units is None:
            return None
        machine_type = compute_v1.MachineType.from_json(json.dumps(description), ignore_unknown_fields=True)
        return hourly_usd(machine_type, units, region=region, added_disks=added_disks, pricing=pricing)

    def _list(self) -> UnitPrices | None:
        if not self._read:
            self._read = True
            access = refresh.Access(
                account=self._access.project, credentials=self._access.credentials, prices_url=self._access.prices_url
            )
            try:
                self._units = price_list(self._regions, access=access, watch=lambda _what, _count: None)
            except PlannerError:
                self._units = None
        return self._units

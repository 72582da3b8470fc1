"""Prices of traffic out of a zone or a cloud, in bands: the price per GiB falls with the month's traffic."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog.columns import EVIDENCE
from planner.catalog.tables import Table


@dataclass(frozen=True, kw_only=True, eq=False)
class TransferPrice:
    """Bands of a price list, (B,), from the least traffic up: `usd_per_gib` applies to a month's traffic beyond
    `from_gib`. Without a band from 0 the price is unknown. `evidence` is the weakest of all bands.
    """

    from_gib: Floats
    usd_per_gib: Floats
    evidence: str = ""
    note: str = ""

    @classmethod
    def of(cls, table: Table | None, transfer: str) -> TransferPrice:
        """Return the price of a kind of transfer in `transfers.csv`; a blank start is 0."""
        if table is None:
            return UNKNOWN
        rows = np.flatnonzero(table["transfer"] == transfer)
        if not len(rows):
            return UNKNOWN
        from_gib = np.nan_to_num(table["from_gib"][rows])
        order = np.argsort(from_gib)
        return cls(
            from_gib=from_gib[order],
            usd_per_gib=table["price_usd_per_gib"][rows][order],
            evidence=max(table["evidence"][rows].tolist(), key=EVIDENCE.index),
            note=str(table["note"][rows[order][0]]),
        )

    def usd(self, moved_gib: Floats) -> Floats:
        """Return the cost of traffic in a month without other traffic; NaN if the price is unknown."""
        moved = np.asarray(moved_gib, dtype=np.float64)
        if not len(self.from_gib) or self.from_gib[0] > 0:
            return np.full(moved.shape, np.nan)
        width_gib = np.diff(self.from_gib, append=np.inf)
        in_band_gib = np.clip(moved[..., None] - self.from_gib, 0.0, width_gib)
        return np.asarray((in_band_gib * self.usd_per_gib).sum(axis=-1))


def transfer_between(cloud: str, region: str, other: str) -> str:
    """Return the kind of traffic between two regions of a cloud: `region` within North America or within Europe,
    `continent` between these; '' elsewhere, for which no catalog has a price.
    """
    places = {_continent(cloud, region), _continent(cloud, other)}
    return "" if "" in places else "region" if len(places) == 1 else "continent"


_AMERICA: Final = re.compile(r"us-(?!gov)|ca-|northamerica-northeast|.*us\d?$|canada")
_EUROPE: Final = re.compile(
    r"eu-|europe-|uk-|.*europe$|uk(south|west)|(france|germany|norway|sweden|switzerland|italy|poland|spain|austria|belgium|denmark)"
)
"""Names of regions of North America and Europe in any of the clouds."""


def _continent(cloud: str, region: str) -> str:
    del cloud  # no two clouds share names for regions of different continents
    return "america" if _AMERICA.match(region) else "europe" if _EUROPE.match(region) else ""


UNKNOWN = TransferPrice(from_gib=np.array([]), usd_per_gib=np.array([]))

"""The user's own prices laid over list prices: discounts, negotiated prices, reservations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from planner.catalog import Catalog
from planner.cost_model.prices import Reservations
from planner.planning.request.offer import Offer
from planner.schemas.plan import OwnPrice
from planner.units import format_usd


def with_own_prices(offer: Offer, catalog: Catalog, own: Sequence[OwnPrice]) -> Offer:
    """Return the offer with the first of `own` that fits a type in place of its list price.

    A price for a limited number of nodes needs the list price for the others: without one it does not count, and the
    type stays unpriced. A type without a list price may have a negotiated one.
    """
    fitting = [p for p in own if _fits(p.cloud, catalog.cloud) and _fits(p.region, offer.region)]
    fitting = [p for p in fitting if p.pricing == offer.pricing]
    if not fitting:
        return offer
    listed, price = offer.price_usd_per_hour, offer.price_usd_per_hour.copy()
    limit, above = np.full(len(price), np.inf), np.zeros(len(price))
    words, notes = list(offer.evidence), {}
    for type_row, name in enumerate(catalog.instances.instance_type.tolist()):
        mine = next((p for p in fitting if _fits(p.instance, name) or _fits(p.instance, name.partition("+")[0])), None)
        if mine is None or (np.isnan(listed[type_row]) and (mine.price_usd_per_hour is None or mine.nodes)):
            continue
        price[type_row] = _amount(mine, float(listed[type_row]))
        words[type_row] = "assumed" if mine.price_usd_per_hour is not None else words[type_row]
        notes[type_row] = _note(mine, float(listed[type_row]))
        if mine.nodes is not None:
            limit[type_row], above[type_row] = mine.nodes, listed[type_row] - price[type_row]
    limits = Reservations(nodes=limit, above_usd_per_hour=above) if np.isfinite(limit).any() else None
    return replace(offer, price_usd_per_hour=price, evidence=tuple(words), reservations=limits, notes=notes)


def _fits(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern)


def _amount(mine: OwnPrice, listed: float) -> float:
    return mine.price_usd_per_hour if mine.price_usd_per_hour is not None else listed * (1 - (mine.discount or 0.0))


def _note(mine: OwnPrice, listed: float) -> str:
    origin = f" ({mine.note})" if mine.note else ""
    less = mine.price_usd_per_hour is None
    what = f"{100 * (mine.discount or 0.0):.3g}% off the list price" if less else "your own"
    count = "" if mine.nodes is None else f" for {mine.nodes} nodes"
    return f"price: {what}{count}{origin}; the list says {format_usd(listed)} per node-hour"

"""Offers of a region, independent of the cost model: its prices, the volumes to attach, the requested types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats
from planner.catalog import Catalog
from planner.cost_model.evidence import assumed_range
from planner.cost_model.object_store import choose_object_store
from planner.cost_model.prices import Offer, Reservations
from planner.cost_model.rates import catalog_rates, evidence_codes, evidence_name, half_rates
from planner.cost_model.volumes.block_volumes import VolumeChoice, choose_volumes, has_credit
from planner.errors import some_of
from planner.planning.request.filters import wanted
from planner.schemas.plan import OwnPrice, Rejection, Request
from planner.schemas.request_forms import PER_VCPU
from planner.units import count_text, format_usd

OWN_PRICE: Final = "price: "
"""Prefix of the note about one of the user's own prices."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """Offers of a region for any model: nodes without volumes, the volumes to take with them, and the types (T,) that
    pass the request's filters, with a rejection for each other.
    """

    catalog: Catalog
    offer: Offer
    volumes: VolumeChoice
    volumes_on_credit: VolumeChoice | None
    passed: Flags
    unasked: list[Rejection]

    @classmethod
    def of(cls, request: Request, catalog: Catalog, name: str) -> Region:
        """Return the region called `name`. Raises BadInputError if the catalog has no prices. Except for the papers,
        types at a bandwidth weighting are included.
        """
        catalog = catalog if request.paper else catalog.with_weightings
        offer = _offer(catalog, name, request)
        assumed = [request.assume[rate] for rate in ("volume_read", "volume_write") if rate in request.assume]
        wanted_rate = max(assumed) if assumed and not request.paper else None
        with_credit = has_credit(catalog) and not request.paper and not assumed
        sustained, on_credit = _volumes(catalog, offer, wanted_bytes_per_s=wanted_rate, with_credit=with_credit)
        passed, unasked = wanted(request, catalog)
        return cls(
            catalog=catalog, offer=offer, volumes=sustained, volumes_on_credit=on_credit, passed=passed, unasked=unasked
        )


@lru_cache(maxsize=64)
def _volumes(
    catalog: Catalog, offer: Offer, *, wanted_bytes_per_s: float | None, with_credit: bool
) -> tuple[VolumeChoice, VolumeChoice | None]:
    """Return the volumes to take with each type, and those on burst credit if that is another choice."""
    choose = partial(
        choose_volumes,
        catalog,
        region=offer.region,
        price_usd_per_hour=offer.price_usd_per_hour,
        wanted_bytes_per_s=wanted_bytes_per_s,
    )
    faster = choose(with_credit=with_credit)
    return (choose(), faster) if faster.on_credit.any() else (faster, None)


def _offer(catalog: Catalog, region: str, request: Request) -> Offer:
    """Price a node without its volumes."""
    factor, size = request.scale.get("price", 1.0), len(catalog.instances)
    if "price" in request.assume:
        price = np.full(size, request.assume["price"] * factor)
        return Offer(region=region, pricing=request.pricing, price_usd_per_hour=price, evidence=("assumed",) * size)
    own = () if request.paper else request.own_prices
    unpriced = _unpriced(catalog, region, request.pricing)
    if catalog.is_free and not with_own_prices(unpriced, catalog, own).notes:
        return replace(unpriced, price_usd_per_hour=np.zeros(size))
    offer = offer_of(catalog, region, pricing=request.pricing, own_prices=own)
    return offer if factor == 1 else offer.times(factor)


def offer_of(catalog: Catalog, region: str, *, pricing: str, own_prices: Sequence[OwnPrice] = ()) -> Offer:
    """Return the list prices of a region, replaced by the user's own where given.

    Raises BadInputError as `prices` does, unless a type has one of the user's own prices, which needs no list.
    """
    if region not in catalog.regions(pricing):
        offer = with_own_prices(_unpriced(catalog, region, pricing), catalog, own_prices)
        if offer.notes:
            return offer
    offer = _listed(catalog, region, pricing)
    return with_own_prices(offer, catalog, own_prices) if own_prices else offer


@lru_cache(maxsize=64)
def _listed(catalog: Catalog, region: str, pricing: str) -> Offer:
    listed, most = catalog.prices(region, pricing), None
    words = tuple(evidence_name(code) for code in evidence_codes(listed.evidence).tolist())
    price = listed.price_usd_per_hour
    head = None
    if pricing == "spot":
        is_listed = region in catalog.regions()
        head = catalog.prices(region).price_usd_per_hour if is_listed else np.full(len(price), np.nan)
    if head is not None and "derived" in words:
        doubtful = np.array([word == "derived" for word in words])
        most = np.where(doubtful, np.fmax(np.fmin(price * assumed_range("spot_price").high, head), price), price)
    return Offer(
        region=region, pricing=pricing, price_usd_per_hour=price, evidence=words, as_of=listed.as_of,
        most_usd_per_hour=most, head_usd_per_hour=head,
    )  # fmt: skip


def known_rates(region: Region, name: str) -> Floats:
    """Return the rate of every type (T,) that `--assume` changes under a name; NaN where unknown."""
    store = choose_object_store(region.catalog).device
    rates = catalog_rates(region.catalog, volumes=region.volumes.device, objects=store, cpu={}, assume={})
    if name == "network":
        return rates.network.flat
    device, _, way = name.partition("_")
    of = {"local": rates.local, "volume": rates.volumes, "object": rates.objects}[device]
    return half_rates(of)[("read", "write").index(way)]


def _unpriced(catalog: Catalog, region: str, pricing: str) -> Offer:
    """Return an offer of all types at unknown prices."""
    size = len(catalog.instances)
    return Offer(region=region, pricing=pricing, price_usd_per_hour=np.full(size, np.nan), evidence=("assumed",) * size)


def with_own_prices(offer: Offer, catalog: Catalog, own: Sequence[OwnPrice]) -> Offer:
    """Return the offer with the first of `own` that fits a type replacing its list price.

    A price for a limited number of nodes needs the list price for the others: without one it is ignored, and the type
    stays unpriced. A type without a list price may have a negotiated one.
    """
    chosen = _own_by_row(offer, catalog, own)
    if not chosen:
        return offer
    listed, price = offer.price_usd_per_hour, offer.price_usd_per_hour.copy()
    limit, above = np.full(len(price), np.inf), np.zeros(len(price))
    words, notes = list(offer.evidence), {}
    for type_row, mine in chosen.items():
        negotiated = mine.negotiated_usd_per_hour(float(catalog.instances.vcpu[type_row]))
        if np.isnan(listed[type_row]) and (negotiated is None or np.isnan(negotiated) or mine.nodes):
            continue
        price[type_row] = listed[type_row] * (1 - (mine.discount or 0.0)) if negotiated is None else negotiated
        words[type_row] = words[type_row] if negotiated is None else "spec"
        notes[type_row] = _note(mine, float(listed[type_row]))
        if mine.nodes is not None:
            limit[type_row], above[type_row] = mine.nodes, listed[type_row] - price[type_row]
    limits = Reservations(nodes=limit, above_usd_per_hour=above) if np.isfinite(limit).any() else None
    return replace(offer, price_usd_per_hour=price, evidence=tuple(words), reservations=limits, notes=notes)


def priced_alike(region: Region, own: Sequence[OwnPrice]) -> Iterator[str]:
    """Yield notes on the user's prices that are one for types of several sizes, with the form that scales with size."""
    catalog = region.catalog
    chosen = _own_by_row(region.offer, catalog, own)
    for mine in dict.fromkeys(chosen.values()):
        rows = [row for row, price in chosen.items() if price is mine]
        vcpu = catalog.instances.vcpu[rows]
        if mine.price_usd_per_hour is None or not np.nanmax(vcpu, initial=0) > np.nanmin(vcpu, initial=np.inf):
            continue
        sizes = [catalog.instances.names[rows[place]] for place in np.argsort(vcpu, kind="stable").tolist()]
        price = f"{mine.note or 'own price'} {mine.instance}={mine.amount_text}"
        yield f"{price} prices {some_of(sizes, most=4)} alike; '{mine.instance}=USD{PER_VCPU}' grows with the size"


def _own_by_row(offer: Offer, catalog: Catalog, own: Sequence[OwnPrice]) -> dict[int, OwnPrice]:
    """Return the first of the user's prices that fits each type, by its row."""
    fitting = [p for p in own if _fits(p.cloud, catalog.cloud) and _fits(p.region, offer.region)]
    fitting = [p for p in fitting if p.pricing == offer.pricing]
    names = catalog.instances.instance_type.tolist() if fitting else []
    first = (
        next((p for p in fitting if _fits(p.instance, name) or _fits(p.instance, name.partition("+")[0])), None)
        for name in names
    )
    return {row: mine for row, mine in enumerate(first) if mine is not None}


def _fits(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern)


def _note(mine: OwnPrice, listed: float) -> str:
    origin = f" ({mine.note})" if mine.note else ""
    what = "your own" if mine.discount is None else f"{100 * mine.discount:.3g}% off the list price"
    count = "" if mine.nodes is None else f" for {count_text(mine.nodes, 'node')}"
    return f"{OWN_PRICE}{what}{count}{origin}; the list says {format_usd(listed)} per node-hour"

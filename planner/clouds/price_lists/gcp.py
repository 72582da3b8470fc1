"""Compute Engine: machine types from machineTypes.aggregatedList, prices from the Cloud Billing catalog.

The API states neither network nor volume limits; those cells stay blank, and the shipped figures fill them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.catalog import Source
from planner.clouds.calls.gcp import PROJECT_HINT, failure_of, found_credentials
from planner.clouds.calls.reading import read_cloud, read_pages, sdk
from planner.clouds.price_lists.reading import Access, Reading, Row, Watch, price_row
from planner.errors import BadInputError, ProviderRefusedError

_COMPUTE_ENGINE: Final = "services/6F81-5844-456A"
_PARTITION_BYTES: Final = 375 * 10**9
_LARGER_PARTITIONS: Final = ("z3",)
"""Families whose bundled disks are larger than one partition; the API does not state their size."""
_BILLED_VCPU: Final = {"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1.0}
"""Billed vCPUs of types that share processors, which the API does not state."""
_REFUSED: Final = ("OBSOLETE", "DELETED")
"""States of a type in which a request for a new machine "will be rejected" (reference of Compute Engine's API,
DeprecationStatus.state, read on 2026-11-27).
"""
_TIMEOUT_S: Final = 60
SPECS: Final = Source(
    title="Compute Engine machineTypes.aggregatedList; what it does not state (network, sizes of z3 disks) as shipped",
    url="https://cloud.google.com/compute/docs/reference/rest/v1/machineTypes",
)
PRICES: Final = Source(
    title="Cloud Billing catalog: cores, memory and local SSD of each machine type, on demand and spot",
    url="https://cloud.google.com/billing/docs/reference/rest/v1/services.skus",
)


def read(regions: Sequence[str], *, access: Access, watch: Watch, catalog_rows: Mapping[str, Row]) -> Reading:
    """Return the machine types and prices of `regions`; `catalog_rows` are rows of the current catalog, by type.

    Raises as `read_cloud` does, and BadInputError without Google's libraries.
    """
    offered: dict[str, set[str]] = {region: set() for region in regions}
    shapes: dict[str, Row] = {}
    parts: dict[str, Row] = {}
    refused: set[str] = set()
    for zone, machine_type in _types(access=access, watch=watch):
        region = zone.removeprefix("zones/").rpartition("-")[0]
        if region in offered and machine_type.deprecated.state in _REFUSED:
            refused.add(machine_type.name)
        elif region in offered:
            offered[region].add(machine_type.name)
            shapes[machine_type.name] = shape(machine_type, catalog_rows=catalog_rows)
            parts[machine_type.name] = _parts(shapes[machine_type.name], machine_type, catalog_rows=catalog_rows)
    units = price_list(regions, access=access, watch=watch)
    left_out = Counter(units.left_out) + Counter({"types of which no new machine is made": len(refused)})
    prices = list(_prices(offered, parts, units, left_out=left_out))
    return Reading(
        shapes=list(shapes.values()),
        prices=prices,
        offered=offered,
        specs_source=SPECS,
        prices_source=PRICES,
        left_out=dict(+left_out),
    )


def shape(machine_type: Any, *, catalog_rows: Mapping[str, Row]) -> Row:
    """Return a row of instances.csv for a machine type; the share of shared processors is not stated."""
    family = machine_type.name.partition("-")[0]
    before = catalog_rows.get(machine_type.name, {})
    disks = machine_type.bundled_local_ssds.partition_count if machine_type.bundled_local_ssds else 0
    sized = disks and family not in _LARGER_PARTITIONS
    return {
        "instance_type": machine_type.name,
        "family": family,
        "arch": {"X86_64": "x86_64", "ARM64": "arm64"}.get(machine_type.architecture),
        "vcpu": None if machine_type.is_shared_cpu else machine_type.guest_cpus,
        "memory_bytes": machine_type.memory_mb * 2**20,
        "local_disks": disks,
        "local_disk_bytes": _PARTITION_BYTES if sized else None,
        "local_disk_kind": "nvme" if disks else None,
        "volume_link": "nic",
        "placement_group": bool(before.get("placement_group", False)),
        "current_generation": machine_type.deprecated.state in ("", "ACTIVE"),
    }


def price_list(regions: Sequence[str], *, access: Access, watch: Watch) -> UnitPrices:
    """Return today's prices of the parts of machine types in `regions`. Raises as `read_cloud` does."""
    return unit_prices(_skus(access=access, watch=watch), regions=regions)


def hourly_usd(
    machine_type: Any, units: UnitPrices, *, region: str, added_disks: int = 0, pricing: str = "on-demand"
) -> float | None:
    """Return the price of a machine type, with local disks of one partition added; None when not known."""
    parts = _parts(shape(machine_type, catalog_rows={}), machine_type, catalog_rows={})
    if parts["accelerated"] or parts["disk_gb"] is None:
        return None
    parts |= {"disk_gb": parts["disk_gb"] + added_disks * _PARTITION_BYTES / 1e9}
    return units.hourly_usd(parts, region=region, pricing=pricing)


def _parts(row: Row, machine_type: Any, *, catalog_rows: Mapping[str, Row]) -> Row:
    """Return the billed parts of a machine type; None where unknown."""
    before = catalog_rows.get(machine_type.name, {})
    disk_bytes = row["local_disk_bytes"] or before.get("local_disk_bytes")
    disk_gb = row["local_disks"] * disk_bytes / 1e9 if row["local_disks"] and disk_bytes else 0.0
    return {
        "family": row["family"],
        "cores": row["vcpu"] or _BILLED_VCPU.get(machine_type.name),
        "memory_gib": row["memory_bytes"] / 2**30,
        "disk_gb": None if row["local_disks"] and not disk_bytes else disk_gb,
        "accelerated": bool(machine_type.accelerators),
    }


def _prices(
    offered: Mapping[str, set[str]], parts: Mapping[str, Row], units: UnitPrices, *, left_out: Counter[str]
) -> Iterator[Row]:
    for region, names in offered.items():
        for name in sorted(names):
            if parts[name]["accelerated"]:
                left_out["types with accelerators, whose price is not summed up"] += 1
                continue
            for pricing in ("on-demand", "spot"):
                usd = units.hourly_usd(parts[name], region=region, pricing=pricing)
                if usd is None:
                    left_out[f"types without all parts of their {pricing} price"] += 1
                else:
                    yield price_row(name, region=region, pricing=pricing, usd_per_hour=usd)


def _types(*, access: Access, watch: Watch) -> Iterator[tuple[str, Any]]:
    """Yield (scope, machine type) of every zone."""
    client, project = _client("compute_v1", "MachineTypesClient", access.specs_url, access=access)
    count = 0

    def fetch(token: str) -> tuple[list[tuple[str, Any]], str]:
        asked = {"project": project, "max_results": 500, "page_token": token}
        page = next(iter(client.aggregated_list(asked, retry=None, timeout=_TIMEOUT_S).pages))
        return [(zone, machine_type) for zone, listed in page.items.items() for machine_type in listed.machine_types], (
            page.next_page_token
        )

    what = "Compute Engine machine types (compute.machineTypes.list)"
    for page in read_pages(fetch, what=what, failure_of=failure_of, policy=access.retry_policy):
        count += len(page)
        watch("machine types of all zones", count)
        yield from page


def _skus(*, access: Access, watch: Watch) -> Iterator[Any]:
    client, _ = _client("billing_v1", "CloudCatalogClient", access.prices_url, access=access)
    count = 0

    def fetch(token: str) -> tuple[list[Any], str]:
        asked = {"parent": _COMPUTE_ENGINE, "page_size": 5000, "page_token": token, "currency_code": "USD"}
        page = next(iter(client.list_skus(asked, retry=None, timeout=_TIMEOUT_S).pages))
        return list(page.skus), page.next_page_token

    for page in read_pages(
        fetch, what="Cloud Billing catalog (cloudbilling.skus.list)", failure_of=failure_of, policy=access.retry_policy
    ):
        count += len(page)
        watch("items of the price list", count)
        yield from page


def _client(package: str, name: str, url: str, *, access: Access) -> tuple[Any, str]:
    """Return a client over REST, and its project."""
    library = sdk(f"google.cloud.{package}", extra="gcp")

    def make() -> tuple[Any, str]:
        credentials, project = access.credentials, access.account
        if credentials is None:
            credentials, usual = found_credentials()
            project = project or usual or ""
        options = {"api_endpoint": url} if url else None
        return getattr(library, name)(credentials=credentials, transport="rest", client_options=options), project

    client, project = read_cloud(make, what="Google Cloud", failure_of=failure_of, policy=access.retry_policy)
    if not project:
        raise ProviderRefusedError("Google Cloud: no project is named", [PROJECT_HINT], code="no-account")
    return client, project


_HOURS_PER_MONTH: Final = 730
_SPOT: Final = "Spot Preemptible "
_PART: Final = re.compile(
    r"(?:(?P<family>[A-Z]\d+[A-Z]?) )?(?P<words>(?:AMD |Arm |Predefined |Memory-optimized |Compute optimized )*)"
    r"(?:Instance )?(?P<part>Core|Ram) running in .+"
)
_UNNAMED: Final = {"Predefined ": "n1", "Compute optimized ": "c2", "Memory-optimized ": "m1"}
"""Families whose items do not name them."""
_PREMIUM: Final = re.compile(r"Memory Optimized Upgrade Premium for Memory-optimized Instance (?P<part>Core|Ram) .+")
"""Surcharge of an m2 machine over an m1 one."""
_DISK: Final = re.compile(
    r"(?:(?P<family>[A-Z]\d+[A-Z]?) Instance Local SSD running in .+"
    r"|SSD backed Local Storage(?P<spot> attached to Spot Preemptible VMs?)?(?: (?:running )?in .+)?)"
)
_ALWAYS_GENERIC_DISK: Final = ("z3",)
"""Families with their own disk items, which are not used to bill their machine types."""
_UNITS: Final = {"core": "h", "ram": "GiBy.h", "disk": "GiBy.mo"}

Key = tuple[str, str, str, str]
"""Region, pricing, family ('' for any) and part: core, ram, disk, premium core, premium ram."""


@dataclass(frozen=True, kw_only=True)
class UnitPrices:
    """USD per hour of one core, GiB of memory or GB of disk; `left_out` counts unusable items."""

    usd_per_hour: Mapping[Key, float]
    left_out: Mapping[str, int]

    def hourly_usd(self, parts: Row, *, region: str, pricing: str) -> float | None:
        """Return the price of a machine type with these parts; None when one part's price is unknown."""
        family = parts["family"]
        amounts = {"core": parts["cores"], "ram": parts["memory_gib"], "disk": parts["disk_gb"]}
        if any(amount is None for amount in amounts.values()):
            return None
        prices = {part: self._unit(part, family, region, pricing) for part, amount in amounts.items() if amount}
        parts_usd = [amounts[part] * price for part, price in prices.items() if price is not None]
        return sum(parts_usd) if len(parts_usd) == len(prices) else None

    def _unit(self, part: str, family: str, region: str, pricing: str) -> float | None:
        at = (region, pricing)
        if part == "disk":
            own, usual = self.usd_per_hour.get((*at, family, part)), self.usd_per_hour.get((*at, "", part))
            first, second = (usual, own) if family in _ALWAYS_GENERIC_DISK else (own, usual)
            return second if first is None else first
        if family == "m2":
            base, more = (self.usd_per_hour.get((*at, "m1", name)) for name in (part, f"premium {part}"))
            return None if base is None or more is None else base + more
        return self.usd_per_hour.get((*at, family, part))


def unit_prices(skus: Iterable[Any], *, regions: Sequence[str]) -> UnitPrices:
    """Return the prices of parts in `regions`. Of several items for a region the one for the fewest regions counts; if
    those still differ in price, none counts. Raises BadInputError for prices in another currency.
    """
    candidates: dict[Key, list[tuple[int, float]]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for sku in skus:
        named = _part_of_sku(sku)
        if named is None:
            continue
        pricing, family, part = named
        usd = _usd_per_hour(sku, part.removeprefix("premium "), left_out=left_out)
        for region in set(sku.service_regions).intersection(regions) if usd is not None else ():
            candidates[region, pricing, family, part].append((len(sku.service_regions), usd or 0.0))
    prices = {key: _of_fewest_regions(items) for key, items in candidates.items()}
    left_out["parts with several prices"] += sum(usd is None for usd in prices.values())
    return UnitPrices(usd_per_hour={k: usd for k, usd in prices.items() if usd is not None}, left_out=dict(+left_out))


def _part_of_sku(sku: Any) -> tuple[str, str, str] | None:
    """Return the (pricing, family, part) that an item prices, None for all other items."""
    text = sku.description
    spot = text.startswith(_SPOT)
    text = text.removeprefix(_SPOT)
    if disk := _DISK.fullmatch(text):
        return "spot" if spot or disk["spot"] else "on-demand", (disk["family"] or "").lower(), "disk"
    if sku.category.usage_type != ("Preemptible" if spot else "OnDemand"):
        return None
    pricing = "spot" if spot else "on-demand"
    if premium := _PREMIUM.fullmatch(text):
        return pricing, "m1", f"premium {premium['part'].lower()}"
    part = _PART.fullmatch(text)
    family = (part["family"] or "").lower() or _UNNAMED.get(part["words"], "") if part else ""
    return (pricing, family, part["part"].lower()) if part and family else None


def _usd_per_hour(sku: Any, part: str, *, left_out: Counter[str]) -> float | None:
    if not sku.pricing_info or not sku.pricing_info[0].pricing_expression.tiered_rates:
        left_out["items without a price"] += 1
        return None
    terms = sku.pricing_info[0].pricing_expression
    if terms.usage_unit != _UNITS[part]:
        left_out[f"prices per {terms.usage_unit or 'nothing'}"] += 1
        return None
    amounts = [rate.unit_price for rate in terms.tiered_rates]
    amount = next((price for price in amounts if price.units or price.nanos), amounts[0])  # a first tier may be free
    if amount.currency_code not in ("", "USD"):
        raise BadInputError(
            f"Cloud Billing catalog: {sku.description} is priced in {amount.currency_code}; prices are not converted",
            code="other-currency",
        )
    usd = float(amount.units) + float(amount.nanos) / 1e9
    if usd <= 0:  # means not set yet: the sum of the other prices would win every ranking
        left_out["items without a price"] += 1
        return None
    return usd / _HOURS_PER_MONTH if part == "disk" else usd


def _of_fewest_regions(items: Sequence[tuple[int, float]]) -> float | None:
    fewest = min(count for count, _ in items)
    prices = {usd for count, usd in items if count == fewest}
    return prices.pop() if len(prices) == 1 else None

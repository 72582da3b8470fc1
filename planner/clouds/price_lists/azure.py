"""Azure: VM sizes from the resource SKUs, prices from the public retail price list.

The API states no network rates, and for some sizes no number of NVMe disks; the shipped figures fill these.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from planner.catalog import Source
from planner.clouds.calls.azure import (
    SUBSCRIPTION_HINT,
    SUBSCRIPTION_VARIABLE,
    client_arguments,
    failure_of,
    found_credentials,
)
from planner.clouds.calls.http import get_json
from planner.clouds.calls.reading import pages, read_cloud, sdk
from planner.clouds.price_lists.reading import Access, Reading, Row, Watch, price_row
from planner.errors import BadInputError, IoFailureError, ProviderRefusedError

SPECS: Final = Source(
    title="Azure resource SKUs; what they do not state (network, some disk counts) as shipped",
    url="https://learn.microsoft.com/rest/api/compute/resource-skus/list",
)
PRICES: Final = Source(
    title="Azure retail prices: Linux, pay as you go and spot",
    url="https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices",
)


def read(regions: Sequence[str], *, access: Access, watch: Watch, catalog_rows: Mapping[str, Row]) -> Reading:
    """Return the sizes and prices of `regions`; `catalog_rows` are rows of the current catalog, by size.

    Raises as `read_cloud` does, and BadInputError without Azure's libraries.
    """
    shapes: dict[str, Row] = {}
    everywhere: dict[str, set[str]] = {}
    prices: list[Row] = []
    left_out: Counter[str] = Counter()
    for region in regions:
        offered: dict[str, Row] = {}
        for sku in _sizes(region, access=access, watch=watch):
            if _closed_to_subscription(sku):
                left_out[f"sizes not open to this subscription in {region}"] += 1
            elif _retired(sku):
                left_out[f"sizes retired in {region}"] += 1
            else:
                offered[sku.name] = shape(sku, catalog_rows=catalog_rows)
        shapes |= offered
        everywhere[region] = set(offered)
        for (name, pricing), usd in retail_prices(region, access=access, watch=watch, left_out=left_out).items():
            if name in offered:
                prices.append(price_row(name, region=region, pricing=pricing, usd_per_hour=usd))
            else:
                left_out[f"prices of sizes not offered in {region}"] += 1
    return Reading(
        shapes=list(shapes.values()),
        prices=prices,
        offered=everywhere,
        specs_source=SPECS,
        prices_source=PRICES,
        left_out=dict(+left_out),
    )


def shape(sku: Any, *, catalog_rows: Mapping[str, Row]) -> Row:
    """Return a row of instances.csv for a resource SKU of a virtual machine; its MB and GB mean MiB and GiB."""
    stated = {capability.name: capability.value for capability in sku.capabilities or ()}
    before = catalog_rows.get(sku.name, {})
    volume_bytes_per_s = _capability_value(stated, "UncachedDiskBytesPerSecond")
    memory_gib = _capability_value(stated, "MemoryGB")
    family = (sku.family or "").removeprefix("standard").removesuffix("Family")
    return {
        "instance_type": sku.name,
        "family": before.get("family") or family or sku.name,
        "arch": {"x64": "x86_64", "Arm64": "arm64"}.get(stated.get("CpuArchitectureType", "")),
        "vcpu": _capability_value(stated, "vCPUsAvailable") or _capability_value(stated, "vCPUs"),
        "memory_bytes": None if memory_gib is None else round(memory_gib * 2**30),
        **_disks(stated),
        "volume_bytes_per_s": volume_bytes_per_s,
        "volume_iops": _capability_value(stated, "UncachedDiskIOPS"),
        "volumes_max": _capability_value(stated, "MaxDataDiskCount"),
        "volume_link": "own" if volume_bytes_per_s else None,
        "placement_group": True,
        "current_generation": bool(before.get("current_generation", True)),
    }


def _disks(stated: Mapping[str, str]) -> Row:
    """Return the NVMe disks if the size has any, else the temporary disk; blank where their number is not stated."""
    whole, per_disk = (_capability_value(stated, f"Nvme{name}InMiB") for name in ("DiskSize", "SizePerDisk"))
    if whole and not per_disk:
        return {"local_disks": None, "local_disk_bytes": None, "local_disk_kind": None}
    if whole and per_disk:
        return {
            "local_disks": round(whole / per_disk),
            "local_disk_bytes": round(per_disk * 2**20),
            "local_disk_kind": "nvme",
        }
    temporary = _capability_value(stated, "MaxResourceVolumeMB")
    if temporary is None:
        return {"local_disks": None, "local_disk_bytes": None, "local_disk_kind": None}
    return {
        "local_disks": 1 if temporary else 0,
        "local_disk_bytes": round(temporary * 2**20) if temporary else None,
        "local_disk_kind": None,
    }


def _capability_value(stated: Mapping[str, str], name: str) -> float | None:
    """Return a capability as a number; None when not stated, not a number, or zero where that means none."""
    try:
        value = float(stated[name])
    except (KeyError, ValueError):
        return None
    return value if value > 0 or name == "MaxResourceVolumeMB" else None


def _closed_to_subscription(sku: Any) -> bool:
    return any(r.type == "Location" and r.reason_code == "NotAvailableForSubscription" for r in sku.restrictions or ())


def _retired(sku: Any) -> bool:
    """Return whether Azure's end date of a size has passed; retired sizes stay listed."""
    day = next((of.value for of in sku.capabilities or () if of.name == "RetirementDateUtc"), None)
    try:
        return day is not None and datetime.strptime(day, "%m/%d/%Y").replace(tzinfo=UTC) < datetime.now(UTC)
    except ValueError:
        return False


def _sizes(region: str, *, access: Access, watch: Watch) -> Iterator[Any]:
    """Yield the resource SKUs that are virtual machines."""
    client = _client(access)
    listed = client.resource_skus.list(filter=f"location eq '{region}'").by_page()
    what, count = f"Azure sizes of {region} (Microsoft.Compute/skus/read)", 0
    while True:
        page = read_cloud(
            lambda: next(listed, None), what=what, failure_of=failure_of, policy=access.retry_policy
        )  # a failed page is fetched again
        if page is None:
            return
        for sku in page:
            if sku.resource_type == "virtualMachines":
                count += 1
                yield sku
        watch(f"sizes of {region}", count)


def _client(access: Access) -> Any:
    compute = sdk("azure.mgmt.compute", extra="azure")
    subscription = access.account or os.environ.get(SUBSCRIPTION_VARIABLE, "")
    if not subscription:
        raise ProviderRefusedError("Azure: no subscription is named", [SUBSCRIPTION_HINT], code="no-account")
    credentials = access.credentials or found_credentials()
    return compute.ComputeManagementClient(credentials, subscription, **client_arguments(access.specs_url))


_URL: Final = "https://prices.azure.com/api/retail/prices"
_OTHER_PRODUCTS: Final = ("Windows", "Cloud Services", "CloudServices", "Dedicated Host")
_FIELDS: Final = {"armSkuName": str, "productName": str, "skuName": str, "unitOfMeasure": str, "retailPrice": float}


def retail_prices(region: str, *, access: Access, watch: Watch, left_out: Counter[str]) -> dict[tuple[str, str], float]:
    """Return USD per hour by (size, pricing); items of another unit or with several prices are counted in `left_out`.

    Raises BadInputError for prices in another currency, IoFailureError for a malformed page.
    """
    start = access.prices_url or _URL
    what = f"Azure retail prices of {region}"
    chosen = f"serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and armRegionName eq '{region}'"
    first = f"{start}?{urlencode({'currencyCode': 'USD', '$filter': chosen})}"

    def fetch(url: str) -> tuple[list[Any], str]:
        page = get_json(url or first, what=what, policy=access.retry_policy)
        if not isinstance(page, dict) or not isinstance(page.get("Items"), list):
            raise IoFailureError(f"{what}: a page has no list of items; nothing was changed", code="broken-answer")
        return page["Items"], _same_host(page.get("NextPageLink") or "", start, what=what)

    amounts: dict[tuple[str, str], set[float]] = defaultdict(set)
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    for page in pages(fetch, what=what):
        for item in page:
            _take(item, amounts, what=what, left_out=left_out, now=now)
        watch(f"prices of {region}", len(amounts))
    left_out["sizes with several prices"] += sum(len(prices) > 1 for prices in amounts.values())
    return {key: prices.pop() for key, prices in amounts.items() if len(prices) == 1}


def _take(
    item: Any, amounts: dict[tuple[str, str], set[float]], *, what: str, left_out: Counter[str], now: str
) -> None:
    _check(item, what=what)
    if any(word in item["productName"] for word in _OTHER_PRODUCTS) or "Low Priority" in item["skuName"]:
        return
    if not item["armSkuName"] or item.get("type", "Consumption") != "Consumption":
        return
    if item["unitOfMeasure"] != "1 Hour":
        left_out[f"prices per {item['unitOfMeasure']}"] += 1
    elif not (item.get("effectiveStartDate") or "") <= now < (item.get("effectiveEndDate") or "9999"):
        left_out["prices not in effect today"] += 1
    elif item["retailPrice"] > 0 and item.get("isPrimaryMeterRegion", True):
        amounts[item["armSkuName"], "spot" if item["skuName"].endswith("Spot") else "on-demand"].add(
            item["retailPrice"]
        )


def _check(item: Any, *, what: str) -> None:
    for name, expected in _FIELDS.items():
        value = item.get(name) if isinstance(item, Mapping) else None
        if not isinstance(value, int | float if expected is float else expected):
            raise IoFailureError(
                f"{what}: an item has no {name}: {str(item)[:200]}; nothing was changed", code="broken-answer"
            )
    if item.get("currencyCode", "USD") != "USD":
        raise BadInputError(
            f"{what}: prices are in {item['currencyCode']}, and are not converted to USD", code="other-currency"
        )


def _same_host(link: str, start: str, *, what: str) -> str:
    """Return the link to the next page. Raises IoFailureError when it leads elsewhere."""
    if link and urlsplit(link).hostname != urlsplit(start).hostname:
        raise IoFailureError(
            f"{what}: the next page is said to be at {link[:100]}, another host; nothing was changed", code="other-host"
        )
    return link

"""EC2: types from DescribeInstanceTypes, prices from the Price List Query API, spot prices from their history."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from statistics import median
from typing import Any, Final

from planner.catalog import Source
from planner.clouds.calls.aws import client, failure_of
from planner.clouds.calls.reading import CutOffError, read_cloud, read_pages
from planner.clouds.price_lists.reading import Access, Reading, Row, Watch, price_row
from planner.errors import BadInputError, IoFailureError, ProviderRefusedError

_PLAIN: Final = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
"""Attributes of an instance's plain price, unlike those with licences, of dedicated hosts or of unused reservations."""


def price_filters(**attributes: str) -> list[dict[str, str]]:
    """Return the GetProducts filters for plain on-demand Linux prices with these additional attributes."""
    wanted = {**_PLAIN, **attributes}
    return [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]


def hourly_usd(items: Sequence[Any], *, region: str, what: str, left_out: Counter[str]) -> Iterator[tuple[str, float]]:
    """Yield (instance type, USD per hour); items of another unit or region are counted in `left_out`.

    Raises BadInputError for prices in another currency, IoFailureError for a malformed item.
    """
    for text in items:
        try:
            item = json.loads(text) if isinstance(text, str) else text
            attributes = item["product"]["attributes"]
            dimensions = [d for term in _on_demand_terms(item) for d in term["priceDimensions"].values()]
            of_here = attributes.get("regionCode", region) == region and "instanceType" in attributes
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise IoFailureError(
                f"{what}: an item is cut off or not as it should be ({error!r})", code="broken-answer"
            ) from error
        for dimension in dimensions if of_here else ():
            if dimension.get("unit") != "Hrs":
                left_out[f"prices per {dimension.get('unit')}"] += 1
            elif (usd := _usd(dimension, what=what)) > 0:
                yield attributes["instanceType"], usd


def _on_demand_terms(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(item.get("terms", {}).get("OnDemand", {}).values())


def _usd(dimension: Mapping[str, Any], *, what: str) -> float:
    amounts = dimension.get("pricePerUnit", {})
    if "USD" not in amounts:
        raise BadInputError(
            f"{what}: prices are in {', '.join(amounts) or 'no currency'}, and are not converted to USD",
            code="other-currency",
        )
    try:
        return float(amounts["USD"])
    except ValueError as error:
        raise IoFailureError(f"{what}: {amounts['USD']!r} is no price", code="not-a-price") from error


_BYTES_PER_GBIT: Final = 1e9 / 8
_PRICING_REGION: Final = "us-east-1"
SPECS: Final = Source(title="EC2 DescribeInstanceTypes", url="https://aws.amazon.com/ec2/")
PRICES: Final = Source(
    title="AWS price list: Linux, shared tenancy, on demand; spot: median over the zones of the region",
    url="https://aws.amazon.com/ec2/pricing/",
)


def read(regions: Sequence[str], *, access: Access, watch: Watch, catalog_rows: Mapping[str, Row]) -> Reading:
    """Return the types and prices of `regions`. EC2 states every figure of a type, so `catalog_rows` is not used.

    Raises as `read_cloud` does, and BadInputError without boto3.
    """
    shapes: dict[str, Row] = {}
    everywhere: dict[str, set[str]] = {}
    prices: list[Row] = []
    left_out: Counter[str] = Counter()
    notes: list[str] = []
    pricing = _client("pricing", _PRICING_REGION, access=access, url=access.prices_url)
    for region in regions:
        ec2 = _client("ec2", region, access=access, url=access.specs_url)
        offered = {t["InstanceType"]: shape(t) for t in _types(ec2, region, access=access, watch=watch)}
        shapes |= offered
        everywhere[region] = set(offered)
        listed = _on_demand(pricing, region, access=access, watch=watch, left_out=left_out)
        left_out[f"prices of types not offered in {region}"] += len(listed.keys() - offered.keys())
        priced = {"on-demand": listed, "spot": _spot(ec2, region, access=access, watch=watch, notes=notes)}
        prices += (
            price_row(name, region=region, pricing=pricing_model, usd_per_hour=usd)
            for pricing_model, of_type in priced.items()
            for name, usd in of_type.items()
            if name in offered
        )
    return Reading(
        shapes=list(shapes.values()),
        prices=prices,
        offered=everywhere,
        specs_source=SPECS,
        prices_source=PRICES,
        left_out=dict(+left_out),
        notes=tuple(notes),
    )


def shape(described: Mapping[str, Any]) -> Row:
    """Return a row of instances.csv for one item of DescribeInstanceTypes.

    With one network card its stated rate counts; where that is missing or there are several cards, whose rates
    sometimes repeat the total, the label counts.
    """
    volumes = described.get("EbsInfo", {})
    limits = volumes.get("EbsOptimizedInfo", {})
    baseline, peak = _network(described.get("NetworkInfo", {}))
    return {
        "instance_type": described["InstanceType"],
        "family": described["InstanceType"].partition(".")[0],
        "arch": _arch(described.get("ProcessorInfo", {}).get("SupportedArchitectures", [])),
        "vcpu": described["VCpuInfo"]["DefaultVCpus"],
        "cores": described["VCpuInfo"].get("DefaultCores"),
        "memory_bytes": described["MemoryInfo"]["SizeInMiB"] * 2**20,
        **_disks(described.get("InstanceStorageInfo", {})),
        "network_baseline_bytes_per_s": _times(baseline, _BYTES_PER_GBIT),
        "network_peak_bytes_per_s": _times(peak, _BYTES_PER_GBIT),
        "volume_bytes_per_s": _times(limits.get("BaselineThroughputInMBps"), 1e6),
        "volume_peak_bytes_per_s": _times(limits.get("MaximumThroughputInMBps"), 1e6),
        "volume_iops": limits.get("BaselineIops"),
        "volumes_max": _without_root(volumes.get("MaximumEbsAttachments")),
        "volume_link": "own" if limits.get("BaselineThroughputInMBps") else None,
        "placement_group": "cluster" in described.get("PlacementGroupInfo", {}).get("SupportedStrategies", []),
        "current_generation": bool(described.get("CurrentGeneration")),
    }


def _network(network: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return baseline and peak in Gbit/s."""
    cards = network.get("NetworkCards", [])
    if len(cards) == 1 and "BaselineBandwidthInGbps" in cards[0]:
        return cards[0].get("BaselineBandwidthInGbps"), cards[0].get("PeakBandwidthInGbps")
    stated = re.fullmatch(r"(?:(\d+)x )?(\d+(?:\.\d+)?) Gigabit", network.get("NetworkPerformance", ""))
    total = int(stated[1] or 1) * float(stated[2]) if stated else None
    return total, total


def _disks(storage: Mapping[str, Any]) -> Row:
    """Return count, capacity and kind of the disks; disks of several sizes have no single capacity."""
    disks = storage.get("Disks", [])
    sizes, disk_kinds = {disk["SizeInGB"] for disk in disks}, {disk["Type"] for disk in disks}
    disk_kind = disk_kinds.pop() if len(disk_kinds) == 1 else None
    if disk_kind == "ssd" and storage.get("NvmeSupport") in ("required", "supported"):
        disk_kind = "nvme"
    return {
        "local_disks": sum(disk["Count"] for disk in disks),
        "local_disk_bytes": sizes.pop() * 10**9 if len(sizes) == 1 else None,
        "local_disk_kind": disk_kind,
    }


def _arch(architectures: Sequence[str]) -> str | None:
    supported = [
        name.removesuffix("_mac") for name in architectures if name.removesuffix("_mac") in ("x86_64", "arm64")
    ]
    return supported[0] if supported else None


def _without_root(attachments: int | None) -> int | None:
    """Return how many volumes can be attached in addition to the root, which EC2's number includes."""
    return None if attachments is None else attachments - 1


def _times(amount: float | None, factor: float) -> float | None:
    return None if amount is None else round(amount * factor)


def _types(ec2: Any, region: str, *, access: Access, watch: Watch) -> Iterator[Mapping[str, Any]]:
    count = 0

    listed = partial(ec2.describe_instance_types, MaxResults=100)
    what = f"EC2 types of {region} (ec2:DescribeInstanceTypes)"
    for page in _pages(listed, "InstanceTypes", what=what, access=access):
        count += len(page)
        watch(f"types of {region}", count)
        yield from page


def _on_demand(pricing: Any, region: str, *, access: Access, watch: Watch, left_out: Counter[str]) -> dict[str, float]:
    """Return the hourly price of each type; types with several different prices are left out and counted."""
    amounts: dict[str, set[float]] = defaultdict(set)
    what = f"AWS price list of {region} (pricing:GetProducts)"

    listed = partial(
        pricing.get_products, ServiceCode="AmazonEC2", Filters=price_filters(regionCode=region), MaxResults=100
    )
    for page in _pages(listed, "PriceList", what=what, access=access):
        for name, usd in hourly_usd(page, region=region, what=what, left_out=left_out):
            amounts[name].add(usd)
        watch(f"prices of {region}", len(amounts))
    left_out["types with several on-demand prices"] += sum(len(prices) > 1 for prices in amounts.values())
    return {name: prices.pop() for name, prices in amounts.items() if len(prices) == 1}


def _spot(ec2: Any, region: str, *, access: Access, watch: Watch, notes: list[str]) -> dict[str, float]:
    """Return the median of the zones' latest prices of each type; a refusal to read them is a note, not a failure."""
    now, rows = datetime.now(UTC), list[Mapping[str, Any]]()

    history = partial(
        ec2.describe_spot_price_history, ProductDescriptions=["Linux/UNIX"], StartTime=now, MaxResults=1000
    )
    try:
        what = f"spot prices of {region} (ec2:DescribeSpotPriceHistory)"
        for page in _pages(history, "SpotPriceHistory", what=what, access=access):
            rows += page
            watch(f"spot prices of {region}", len(rows))
    except ProviderRefusedError as refused:
        notes.append(f"spot prices of {region} stay as they were: {refused.message}")
        return {}
    return spot_usd(rows)


_ZONE: Final = re.compile(r"[a-z]+(-[a-z]+)+-\d+[a-z]")


def is_in_region(zone: str) -> bool:
    """Return whether a zone is one of its region's own, us-east-1a, and no Local Zone, which has other prices:
    us-east-1-bos-1a.
    """
    return _ZONE.fullmatch(zone) is not None


def spot_usd(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return USD per hour by type: the median of the latest prices of a region's zones, without Local Zones."""
    of_type: dict[str, dict[str, float]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: row["Timestamp"]):
        if is_in_region(row["AvailabilityZone"]) and float(row["SpotPrice"]) > 0:
            of_type[row["InstanceType"]][row["AvailabilityZone"]] = float(row["SpotPrice"])
    return {name: median(zones.values()) for name, zones in of_type.items()}


def _pages(listing: Callable[..., Any], name: str, *, what: str, access: Access) -> Iterator[list[Any]]:
    """Yield the list of each page; boto3 takes a truncated JSON text for an empty one."""

    def fetch(token: str) -> tuple[list[Any], str]:
        answer = listing(**({"NextToken": token} if token else {}))
        if name not in answer:
            raise CutOffError(f"the answer has no {name}, it may be cut off")
        return answer[name], answer.get("NextToken") or ""

    return read_pages(fetch, what=what, failure_of=failure_of, policy=access.retry_policy)


def _client(service: str, region: str, *, access: Access, url: str) -> Any:
    def make() -> Any:
        return client(service, region, profile=access.account, credentials=access.credentials, url=url)

    return read_cloud(make, what=f"AWS {service}", failure_of=failure_of, policy=access.retry_policy)

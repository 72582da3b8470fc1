"""Compute Engine: machine types from machineTypes.aggregatedList, prices from the Cloud Billing catalog.

The API states neither network nor volume limits; those cells stay blank, and the shipped figures fill them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from planner.catalog import Source
from planner.clouds.calls.gcp import failure_of
from planner.clouds.calls.reading import read_cloud, read_pages
from planner.clouds.calls.sdk import sdk
from planner.clouds.price_lists.access import Access
from planner.clouds.price_lists.gcp_prices import UnitPrices, unit_prices
from planner.clouds.price_lists.reading import Reading, Row, Watch, price_row
from planner.errors import ProviderRefusedError

_COMPUTE_ENGINE: Final = "services/6F81-5844-456A"
_PARTITION_BYTES: Final = 375 * 10**9
_LARGER_PARTITIONS: Final = ("z3",)
"""Families whose bundled disks are larger than one partition; how large, the API does not say."""
_BILLED_VCPU: Final = {"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1.0}
"""Types that share processors are billed for a part of them, which the API does not say."""
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
    """Return the machine types and prices of `regions`; `catalog_rows` are rows of the catalog so far, by type.

    Raises as `read_cloud` does, and BadInputError without Google's libraries.
    """
    offered: dict[str, set[str]] = {region: set() for region in regions}
    shapes: dict[str, Row] = {}
    parts: dict[str, Row] = {}
    for zone, machine_type in _types(access=access, watch=watch):
        region = zone.removeprefix("zones/").rpartition("-")[0]
        if region in offered:
            offered[region].add(machine_type.name)
            shapes[machine_type.name] = shape(machine_type, catalog_rows=catalog_rows)
            parts[machine_type.name] = _parts(shapes[machine_type.name], machine_type, catalog_rows=catalog_rows)
    units = price_list(regions, access=access, watch=watch)
    left_out = Counter(units.left_out)
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
    """Return a row of instances.csv for a machine type; how much of shared processors it has is not stated."""
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
        "current_generation": not (machine_type.deprecated and machine_type.deprecated.state),
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
    """Return what a machine type is billed for; None where that is not known."""
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
    """Return a client over REST, and the project it asks for."""
    library = sdk(f"google.cloud.{package}", extra="gcp")

    def make() -> tuple[Any, str]:
        credentials, project = access.credentials, access.account
        if credentials is None:
            credentials, usual = sdk("google.auth", extra="gcp").default()
            project = project or usual or ""
        options = {"api_endpoint": url} if url else None
        return getattr(library, name)(credentials=credentials, transport="rest", client_options=options), project

    client, project = read_cloud(make, what="Google Cloud", failure_of=failure_of, policy=access.retry_policy)
    if not project:
        raise ProviderRefusedError(
            "Google Cloud: no project; set GOOGLE_CLOUD_PROJECT, or account under [gcp] in the settings"
        )
    return client, project

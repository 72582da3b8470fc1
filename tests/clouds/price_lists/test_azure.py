"""Azure from a server whose resource SKUs are built with the SDK's own models, and retail prices in pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from approvals import Approve
from retail_pages import item, retail
from servers import HASTY, Answer, ReceivedRequest, Served, served

from planner.catalog import load_catalog
from planner.clouds.price_lists import Access, Refreshed, refresh
from planner.clouds.price_lists.azure import shape
from planner.errors import BadInputError, IoFailureError, PlannerError, ProviderRefusedError

TODAY = date(2026, 11, 21)
REGION = "eastus"
SIZES = {
    "Standard_D4ds_v5": {
        "vCPUs": "4", "MemoryGB": "16", "CpuArchitectureType": "x64", "MaxResourceVolumeMB": "153600",
        "UncachedDiskBytesPerSecond": "145000000", "UncachedDiskIOPS": "6400", "MaxDataDiskCount": "8",
    },
    "Standard_L8s_v3": {
        "vCPUs": "8", "MemoryGB": "64", "CpuArchitectureType": "x64", "MaxResourceVolumeMB": "81920",
        "NvmeDiskSizeInMiB": "1831054", "UncachedDiskBytesPerSecond": "290000000",
    },
    "Standard_L8as_v4": {
        "vCPUs": "8", "MemoryGB": "64", "CpuArchitectureType": "x64", "NvmeDiskSizeInMiB": "1831056",
        "NvmeSizePerDiskInMiB": "457764",
    },
    "Standard_D8pds_v5": {"vCPUs": "8", "MemoryGB": "32", "CpuArchitectureType": "Arm64", "MaxResourceVolumeMB": "0"},
}  # fmt: skip


def size(name: str, capabilities: dict[str, str], *, closed: bool = False) -> dict[str, Any]:
    from azure.mgmt.compute import models  # imported where needed: every process of the suite loads this file

    restrictions = [models.ResourceSkuRestrictions({"type": "Location", "reasonCode": "NotAvailableForSubscription"})]
    sku = models.ResourceSku(
        {
            "resourceType": "virtualMachines",
            "name": name,
            "family": "standardDDSv5Family",
            "locations": [REGION],
            "capabilities": [models.ResourceSkuCapabilities({"name": n, "value": v}) for n, v in capabilities.items()],
            "restrictions": restrictions if closed else [],
        }
    )
    return dict(sku.as_dict())


def sizes(*, closed: str = "", per_page: int = 2) -> Callable[[ReceivedRequest], Answer]:
    listed = [size(name, given, closed=name == closed) for name, given in SIZES.items()]
    listed.insert(1, {"resourceType": "disks", "name": "Premium_LRS", "locations": [REGION]})

    def answer(asked: ReceivedRequest) -> Answer:
        at = int(asked.query.get("page", 0))
        more = f"http://{asked.headers['Host']}{asked.path}?page={at + per_page}" if at + per_page < len(listed) else ""
        return Answer({"value": listed[at : at + per_page], **({"nextLink": more} if more else {})})

    return answer


@contextmanager
def azure(
    specs: Callable[[ReceivedRequest], Answer] | None = None, prices: Callable[[ReceivedRequest], Answer] | None = None
) -> Iterator[tuple[Served, Served, Access]]:
    with served(specs or sizes()) as offered, served(prices or retail()) as listed:
        token = SimpleNamespace(get_token=lambda *_, **__: SimpleNamespace(token="t", expires_on=2**33))
        access = Access(
            account="sub-1",
            credentials=token,
            specs_url=offered.url,
            prices_url=f"{listed.url}/prices",
            retry_policy=HASTY,
        )
        yield offered, listed, access


def read(access: Access, **options: Any) -> Refreshed:
    return refresh("azure", access=access, today=TODAY, **{"regions": (REGION,), **options})


def test_prices_of_linux_on_demand_and_spot_are_used(approve: Approve) -> None:
    with azure() as (_, _, access):
        done = read(access)
    catalog = load_catalog("azure")
    row = catalog.instances.index("Standard_D4ds_v5")
    assert catalog.prices(REGION).price_usd_per_hour[row] == 0.25
    assert catalog.prices(REGION, "spot").price_usd_per_hour[row] == 0.05
    approve(done.left_out)
    assert catalog.priced_on(REGION) == TODAY
    assert catalog.priced_on("westus2") == date(2026, 6, 18)


def test_an_announced_price_is_not_todays(approve: Approve) -> None:
    """The list has both, each with its dates: microsoft/ga4gh-tes pull request 481; either alone was the price, and
    both together were none.
    """
    now, later = "2024-01-01T00:00:00Z", f"{datetime.now(UTC) + timedelta(days=9):%Y-%m-%dT%H:%M:%SZ}"
    listed = [
        item("Standard_D4ds_v5", 0.25, effectiveStartDate=now, effectiveEndDate=later),
        item("Standard_D4ds_v5", 0.2, effectiveStartDate=later),
        item("Standard_L8s_v3", 0.5, effectiveStartDate="2020-01-01T00:00:00Z", effectiveEndDate=now),
    ]
    with azure(prices=retail(listed)) as (_, _, access):
        done = read(access)
    catalog = load_catalog("azure")
    row = catalog.instances.index("Standard_D4ds_v5")
    assert catalog.prices(REGION).price_usd_per_hour[row] == 0.25
    approve(done.left_out)


def test_rows_as_azure_lists_them() -> None:
    listing = json.loads(Path(__file__).with_name("azure_skus_eastus.json").read_text(encoding="utf-8"))
    prices = retail([item("Standard_D2_v2", 0.146), item("Standard_D4s_v3", 0.192), item("Standard_NV6", 1.14)])
    with azure(lambda _: Answer({"value": listing["value"]}), prices) as (_, _, access):
        done = read(access)
    assert done.types == 2  # neither the one closed to the subscription nor the one that ended in 2023
    assert done.left_out["sizes not open to this subscription in eastus"] == 1
    assert done.left_out["sizes retired in eastus"] == 1
    instances = load_catalog("azure").instances
    old, new = instances.index("Standard_D2_v2"), instances.index("Standard_D4s_v3")
    assert (instances.vcpu[old], instances.memory_bytes[old], instances.local_disks[old]) == (2, 7 * 2**30, 1)
    assert (instances.vcpu[new], instances.volume_bytes_per_s[new]) == (4, 100663296)


def test_both_lists_are_read_to_their_ends() -> None:
    with azure() as (specs, listed, access):
        done = read(access)
    assert done.types == len(SIZES)
    assert len(specs.asked) == 3
    assert len(listed.asked) == 4
    assert specs.asked[0].path == "/subscriptions/sub-1/providers/Microsoft.Compute/skus"
    assert specs.asked[0].query["$filter"] == "location eq 'eastus'"
    assert "armRegionName eq 'eastus'" in listed.asked[0].query["$filter"]


def test_shapes_from_capabilities() -> None:
    from azure.mgmt.compute import models

    rows = {name: shape(models.ResourceSku(size(name, given)), catalog_rows={}) for name, given in SIZES.items()}
    disk = {name: (row["local_disks"], row["local_disk_bytes"]) for name, row in rows.items()}
    assert disk == {
        "Standard_D4ds_v5": (1, 153600 * 2**20),
        "Standard_L8s_v3": (None, None),  # the number of its NVMe disks is not stated
        "Standard_L8as_v4": (4, 457764 * 2**20),
        "Standard_D8pds_v5": (0, None),
    }
    assert rows["Standard_D8pds_v5"]["arch"] == "arm64"
    assert rows["Standard_D4ds_v5"]["memory_bytes"] == 16 * 2**30
    assert rows["Standard_D4ds_v5"]["volume_bytes_per_s"] == 145e6
    assert rows["Standard_L8as_v4"]["volume_link"] is None


def test_what_the_api_leaves_out_is_as_shipped() -> None:
    with azure() as (_, _, access):
        read(access)
    catalog = load_catalog("azure")
    row = catalog.instances.index("Standard_L8s_v3")
    assert catalog.instances.local_disks[row] == 1
    assert catalog.instances.network_peak_bytes_per_s[row] == 1562500000


def test_a_size_closed_to_the_subscription_is_left_out_and_counted() -> None:
    with azure(specs=sizes(closed="Standard_L8s_v3")) as (_, _, access):
        done = read(access)
    assert done.left_out["sizes not open to this subscription in eastus"] == 1
    assert ("Standard_L8s_v3", None) in [(p.instance_type, p.after) for p in done.changes.unpriced]


def failing(status: int, **headers: str) -> Callable[[ReceivedRequest], Answer]:
    return lambda _: Answer({"error": {"code": "X", "message": "no"}}, status=status, headers=headers)


@pytest.mark.parametrize(
    ("answer", "expected", "text", "calls"),
    [
        (failing(429, **{"Retry-After": "1"}), ProviderRefusedError, "throttled 3 times", 3),
        (failing(403), ProviderRefusedError, r"Microsoft\.Compute/skus/read.*403", 1),
        (failing(500), IoFailureError, "tried 3 times.*500", 3),
        (lambda asked: Answer(b'{"value": [{"name": '), IoFailureError, "tried 3 times.*cut off", 3),
    ],
)
def test_failing_sizes_change_nothing(
    home: Path, answer: Callable[[ReceivedRequest], Answer], expected: type[PlannerError], text: str, calls: int
) -> None:
    with azure(specs=answer) as (specs, _, access), pytest.raises(expected, match=text):
        read(access)
    assert len(specs.asked) == calls
    assert not home.exists()


@pytest.mark.parametrize(
    ("answer", "expected", "text", "calls"),
    [
        (failing(429, **{"Retry-After": "1"}), ProviderRefusedError, "throttled 3 times", 3),
        (failing(502), IoFailureError, "tried 3 times.*502.*nothing was changed", 3),
        (lambda asked: Answer(retail()(asked).body, cut=50), IoFailureError, "tried 3 times", 3),
        (lambda asked: Answer({"Items": None}), IoFailureError, "no list of items", 1),
        (retail([{"armSkuName": "Standard_D4ds_v5"}]), IoFailureError, "an item has no productName", 1),
        (retail([item("Standard_D4ds_v5", 1, currencyCode="EUR")]), BadInputError, r"EUR.*not converted", 1),
        (
            lambda asked: Answer({"Items": [], "NextPageLink": "http://elsewhere.example/prices"}),
            IoFailureError,
            "another host",
            1,
        ),
    ],
)
def test_failing_prices_change_nothing(
    home: Path, answer: Callable[[ReceivedRequest], Answer], expected: type[PlannerError], text: str, calls: int
) -> None:
    with azure(prices=answer) as (_, listed, access), pytest.raises(expected, match=text):
        read(access)
    assert len(listed.asked) == calls
    assert not home.exists()


def test_a_list_without_end() -> None:
    def again(asked: ReceivedRequest) -> Answer:
        return Answer({"Items": [], "NextPageLink": f"http://{asked.headers['Host']}/prices?$skip=1"})

    with azure(prices=again) as (_, _, access), pytest.raises(IoFailureError, match="came twice"):
        read(access)


def test_without_a_subscription_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
    with pytest.raises(ProviderRefusedError, match="AZURE_SUBSCRIPTION_ID"):
        refresh("azure", regions=(REGION,), access=Access(retry_policy=HASTY), today=TODAY)

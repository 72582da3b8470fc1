"""Compute Engine from a server whose answers are built with Google's own message types, and published prices."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from approvals import Approve
from google.auth.credentials import AnonymousCredentials
from refusals import refused
from servers import HASTY, Answer, ReceivedRequest, Served, served

from planner.catalog import load_catalog
from planner.clouds.price_lists import Access, Refreshed, refresh
from planner.clouds.price_lists.gcp import shape, unit_prices
from planner.errors import BadInputError, IoFailureError, PlannerError, ProviderRefusedError

if TYPE_CHECKING:  # imported where needed: every process of the suite loads this file, and they take a second
    from google.cloud import billing_v1, compute_v1

TODAY = date(2026, 11, 21)
IOWA = "us-central1"
UNITS = {
    "N1 Predefined": (0.031611, 0.004237),
    "N2": (0.031611, 0.004237),
    "N2D AMD": (0.027502, 0.003686),
    "C3": (0.03465, 0.003938),
    "E2": (0.02181159, 0.00292353),
}
"""USD per hour of a core and of a GiB, by the wording of the price list: list prices of us-central1."""
TYPES = {
    # vCPU, MiB, bundled disks
    "n1-standard-4": (4, 15360, 0),
    "n2-standard-32": (32, 131072, 0),
    "n2d-highmem-8": (8, 65536, 0),
    "c3-standard-22-lssd": (22, 90112, 4),
    "e2-medium": (2, 4096, 0),
    "a2-highgpu-1g": (12, 87040, 0),
}


def machine(name: str, vcpu: int, memory_mib: int, disks: int) -> compute_v1.MachineType:
    from google.cloud import compute_v1

    machine_type = compute_v1.MachineType(
        name=name, guest_cpus=vcpu, memory_mb=memory_mib, architecture="X86_64", is_shared_cpu=name.startswith("e2-m")
    )
    if disks:
        machine_type.bundled_local_ssds = compute_v1.BundledLocalSsds(default_interface="NVME", partition_count=disks)
    if name.startswith("a2"):
        machine_type.accelerators = [
            compute_v1.Accelerators(guest_accelerator_count=1, guest_accelerator_type="nvidia-a100")
        ]
    return machine_type


def sku(
    text: str, usd: float, *, unit: str, usage: str = "OnDemand", regions: tuple[str, ...] = (IOWA,), money: str = "USD"
) -> billing_v1.Sku:
    from google.cloud import billing_v1

    price = {"currency_code": money, "units": int(usd), "nanos": round(usd % 1 * 1e9)}
    return billing_v1.Sku(
        description=text,
        category={"resource_family": "Compute", "usage_type": usage},
        service_regions=regions,
        pricing_info=[{"pricing_expression": {"usage_unit": unit, "tiered_rates": [{"unit_price": price}]}}],
    )


def price_list() -> list[billing_v1.Sku]:
    parts = [
        sku(f"{words} Instance {part} running in Americas", usd, unit=unit)
        for words, prices in UNITS.items()
        for part, usd, unit in zip(("Core", "Ram"), prices, ("h", "GiBy.h"), strict=True)
    ]
    return [
        *parts,
        sku("SSD backed Local Storage", 0.08, unit="GiBy.mo"),
        sku("Spot Preemptible N2 Instance Core running in Americas", 0.0077, unit="h", usage="Preemptible"),
        sku("Spot Preemptible N2 Instance Ram running in Americas", 0.001, unit="GiBy.h", usage="Preemptible"),
        sku("Commitment v1: N2 Cpu in Americas for 1 Year", 0.019, unit="h", usage="Commit1Yr"),
        sku("N2 Custom Instance Core running in Americas", 0.9, unit="h"),
        sku("N2 Instance Core running in Belgium", 0.5, unit="h", regions=("europe-west1",)),
    ]


def as_json(message: Any) -> bytes:
    return bytes(type(message).to_json(message, always_print_fields_with_no_presence=False).encode())


def compute(types: Mapping[str, tuple[int, int, int]] = TYPES, *, size: int = 4) -> Callable[[ReceivedRequest], Answer]:
    """Answer with `size` machine types a page, from two zones in Iowa and one in Belgium."""
    from google.cloud import compute_v1

    listed = [
        (zone, machine(name, *given))
        for zone in ("us-central1-a", "us-central1-f", "europe-west1-b")
        for name, given in types.items()
    ]

    def answer(asked: ReceivedRequest) -> Answer:
        at = int(asked.query.get("pageToken", 0))
        scopes: dict[str, list[compute_v1.MachineType]] = {}
        for zone, machine_type in listed[at : at + size]:
            scopes.setdefault(f"zones/{zone}", []).append(machine_type)
        page = compute_v1.MachineTypeAggregatedList(
            next_page_token=str(at + size) if at + size < len(listed) else "",
            items={scope: compute_v1.MachineTypesScopedList(machine_types=kinds) for scope, kinds in scopes.items()},
        )
        return Answer(as_json(page))

    return answer


def billing(skus: list[billing_v1.Sku] | None = None, *, size: int = 5) -> Callable[[ReceivedRequest], Answer]:
    from google.cloud import billing_v1

    listed = price_list() if skus is None else skus

    def answer(asked: ReceivedRequest) -> Answer:
        at = int(asked.query.get("pageToken", 0))
        more = str(at + size) if at + size < len(listed) else ""
        page = billing_v1.ListSkusResponse(skus=listed[at : at + size], next_page_token=more)
        return Answer(as_json(page))

    return answer


@contextmanager
def google(
    types: Callable[[ReceivedRequest], Answer] | None = None, prices: Callable[[ReceivedRequest], Answer] | None = None
) -> Iterator[tuple[Served, Served, Access]]:
    with served(types or compute()) as specs, served(prices or billing()) as listed:
        access = Access(
            account="project-1",
            credentials=AnonymousCredentials(),
            specs_url=specs.url,
            prices_url=listed.url,
            retry_policy=HASTY,
        )
        yield specs, listed, access


def read(access: Access, **options: Any) -> Refreshed:
    return refresh("gcp", access=access, today=TODAY, **{"regions": (IOWA,), **options})


def test_sums_of_parts_are_the_list_prices() -> None:
    shipped = load_catalog("gcp")
    before = dict(zip(shipped.instances.instance_type.tolist(), shipped.prices().price_usd_per_hour, strict=True))
    with google() as (_, _, access):
        read(access)
    after = load_catalog("gcp")
    now = dict(zip(after.instances.instance_type.tolist(), after.prices().price_usd_per_hour, strict=True))
    for name in TYPES:
        assert now[name] == pytest.approx(before[name], rel=2e-3), name
    spot = after.prices(pricing="spot").price_usd_per_hour[after.instances.index("n2-standard-32")]
    assert spot == pytest.approx(32 * 0.0077 + 128 * 0.001)


def test_shapes_agree_and_what_the_api_leaves_out_is_as_shipped() -> None:
    with google() as (_, _, access):
        done = read(access)
    assert done.types == len(TYPES)
    assert not done.changes.shapes
    catalog = load_catalog("gcp")
    row = catalog.instances.index("n2-standard-32")
    assert catalog.instances.network_baseline_bytes_per_s[row] == 4e9
    assert catalog.instances.local_disks[catalog.instances.index("c3-standard-22-lssd")] == 4


def test_all_pages_are_read_of_the_project_that_was_named() -> None:
    with google() as (specs, listed, access):
        read(access)
    assert len(specs.asked) == 5
    assert {asked.path for asked in specs.asked} == {"/compute/v1/projects/project-1/aggregated/machineTypes"}
    assert {asked.path for asked in listed.asked} == {"/v1/services/6F81-5844-456A/skus"}
    assert all(asked.query["currencyCode"] == "USD" for asked in listed.asked)


def test_what_has_no_sum_keeps_its_price_and_is_counted() -> None:
    with google() as (_, _, access):
        done = read(access)
    assert done.left_out["types with accelerators, whose price is not summed up"] == 1
    assert done.left_out["types without all parts of their spot price"] == 4
    assert done.kept == 6  # both prices of a2-highgpu-1g, four spot prices
    assert "a2-highgpu-1g" not in done.changes.removed


RECORDED = json.loads(Path(__file__).with_name("gcp_machine_types.json").read_text(encoding="utf-8"))["machineTypes"]


def recorded(_: ReceivedRequest) -> Answer:
    """Answer with machine types as sent by Google, plus the warning it sends for a zone without any."""
    scopes: dict[str, Any] = {}
    for machine_type in RECORDED:
        scopes.setdefault(f"zones/{machine_type['zone']}", {"machineTypes": []})["machineTypes"].append(machine_type)
    priced = json.loads(as_json(machine("n2-standard-32", *TYPES["n2-standard-32"])))  # a region without one is refused
    scopes["zones/us-central1-a"]["machineTypes"].append(priced)
    nothing = {"code": "NO_RESULTS_ON_PAGE", "message": "There are no results for scope 'zones/us-central1-d'"}
    scopes["zones/us-central1-d"] = {"warning": nothing}
    return Answer(json.dumps({"kind": "compute#machineTypeAggregatedList", "items": scopes}).encode())


def test_recorded_types_without_architecture_or_with_shared_processors() -> None:
    """A type without a stated architecture keeps the shipped one; a share of processors is unknown, as is its price."""
    with google(types=recorded) as (_, _, access):
        done = read(access)
    assert done.types == 3, "the other is offered elsewhere"
    assert done.left_out["types with accelerators, whose price is not summed up"] == 1
    assert done.left_out["types without all parts of their on-demand price"] == 1
    instances = load_catalog("gcp").instances
    assert instances.arch[instances.index("a2-highgpu-1g")] == "x86_64"
    changed = [(change.instance_type, change.column, change.after) for change in done.changes.shapes]
    assert changed == [("f1-micro", "memory_bytes", 614 * 2**20)], "shipped as 0.6 GiB"


@pytest.mark.parametrize("state", ["OBSOLETE", "DELETED", "DEPRECATED"])
def test_a_type_of_which_no_new_machine_is_made_is_left_out(state: str) -> None:
    def answer(asked: ReceivedRequest) -> Answer:
        listed = json.loads(recorded(asked).body)
        for scope in listed["items"].values():
            for machine_type in scope.get("machineTypes", ()):
                if machine_type["name"] == "f1-micro":
                    machine_type["deprecated"] = {"state": state}
        return Answer(json.dumps(listed).encode())

    with google(types=answer) as (_, _, access):
        done = read(access)
    is_refused = state != "DEPRECATED"
    assert (done.types, done.left_out.get("types of which no new machine is made", 0)) == (3 - is_refused, is_refused)


@pytest.mark.parametrize(
    ("state", "is_current"),
    [("", True), ("ACTIVE", True), ("DEPRECATED", False), ("OBSOLETE", False), ("DELETED", False)],
)
def test_states_of_deprecation(state: str, *, is_current: bool) -> None:
    """Every state that Google documents; the status of a current type may be ACTIVE."""
    from google.cloud import compute_v1

    machine_type = compute_v1.MachineType(name="n2-standard-4", guest_cpus=4, memory_mb=16384)
    if state:
        machine_type.deprecated = compute_v1.DeprecationStatus(state=state)
    assert shape(machine_type, catalog_rows={})["current_generation"] is is_current


def units_of(*skus: billing_v1.Sku, region: str = IOWA) -> dict[str, float]:
    prices = unit_prices(skus, regions=[region])
    return {f"{pricing} {family} {part}": usd for (_, pricing, family, part), usd in prices.usd_per_hour.items()}


@pytest.mark.parametrize(
    ("text", "usage", "key"),
    [
        ("Compute optimized Core running in Americas", "OnDemand", "on-demand c2 core"),
        ("Memory-optimized Instance Ram running in Zurich", "OnDemand", "on-demand m1 ram"),
        ("M3 Memory-optimized Instance Core running in Americas", "OnDemand", "on-demand m3 core"),
        ("C4A Arm Instance Core running in Americas", "OnDemand", "on-demand c4a core"),
        ("Spot Preemptible N2D AMD Instance Core running in Iowa", "Preemptible", "spot n2d core"),
        (
            "Memory Optimized Upgrade Premium for Memory-optimized Instance Core running in Iowa",
            "OnDemand",
            "on-demand m1 premium core",
        ),
    ],
)
def test_words_of_the_price_list(text: str, usage: str, key: str) -> None:
    unit = "GiBy.h" if key.endswith("ram") else "h"
    assert units_of(sku(text, 0.5, unit=unit, usage=usage)) == {key: 0.5}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("SSD backed Local Storage in Paris", "on-demand  disk"),
        ("SSD backed Local Storage attached to Spot Preemptible VMs", "spot  disk"),
        ("C4D Instance Local SSD running in Frankfurt", "on-demand c4d disk"),
    ],
)
def test_disks_are_sold_by_the_month_of_730_hours(text: str, key: str) -> None:
    assert units_of(sku(text, 0.073, unit="GiBy.mo")) == pytest.approx({key: 0.0001})


def test_a_price_for_one_region_beats_one_for_many() -> None:
    common = sku("Z3 Instance Core running in Americas", 0.04, unit="h", regions=(IOWA, "us-east5"))
    regional = sku("Z3 Instance Core running in Columbus", 0.05, unit="h", regions=("us-east5",))
    assert units_of(common, regional, region="us-east5") == {"on-demand z3 core": 0.05}
    assert units_of(regional, common, region=IOWA) == {"on-demand z3 core": 0.04}


def test_two_prices_for_one_part_are_no_price(approve: Approve) -> None:
    twice = [sku("Z3 Instance Core running in Japan", usd, unit="h") for usd in (0.04, 0.05)]
    prices = unit_prices(twice, regions=[IOWA])
    assert not prices.usd_per_hour
    approve(prices.left_out)


def test_a_part_for_nothing_has_no_price(approve: Approve) -> None:
    prices = unit_prices([sku("N2 Instance Ram running in Iowa", 0, unit="GiBy.h")], regions=[IOWA])
    approve((prices.usd_per_hour, prices.left_out))


def test_a_price_per_another_unit_is_counted() -> None:
    assert unit_prices([sku("N2 Instance Core running in Iowa", 1, unit="mo")], regions=[IOWA]).left_out == {
        "prices per mo": 1
    }


def error(status: int, reason: str) -> Answer:
    detail = {"domain": "global", "reason": reason, "message": f"because of {reason}"}
    return Answer({"error": {"code": status, "message": f"because of {reason}", "errors": [detail]}}, status=status)


@pytest.mark.parametrize(
    ("answer", "expected", "text", "calls"),
    [
        (lambda _: error(403, "rateLimitExceeded"), ProviderRefusedError, "throttled 3 times", 3),
        (lambda _: error(429, "rateLimitExceeded"), ProviderRefusedError, "throttled 3 times", 3),
        (lambda _: error(403, "forbidden"), ProviderRefusedError, r"compute\.machineTypes\.list.*forbidden", 1),
        (lambda _: error(503, "backendError"), IoFailureError, "tried 3 times.*nothing was changed", 3),
        (lambda asked: Answer(compute()(asked).body, cut=30), IoFailureError, "tried 3 times", 3),
        (lambda asked: Answer(compute()(asked).body[:-30]), IoFailureError, "tried 3 times.*cut off", 3),
    ],
)
def test_failing_machine_types_change_nothing(
    home: Path, answer: Callable[[ReceivedRequest], Answer], expected: type[PlannerError], text: str, calls: int
) -> None:
    with google(types=answer) as (specs, _, access), pytest.raises(expected, match=text):
        read(access)
    assert len(specs.asked) == calls
    assert not home.exists()


def test_prices_in_another_currency() -> None:
    euros = [sku("N2 Instance Core running in Iowa", 1, unit="h", money="EUR")]
    with google(prices=billing(euros)) as (_, _, access), pytest.raises(BadInputError, match=r"EUR.*not converted"):
        read(access)


def test_a_region_that_nobody_offers() -> None:
    with google() as (_, _, access), refused("unknown-region", "us-centrel1"):
        read(access, regions=("us-centrel1",))


def test_without_credentials_it_says_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(ProviderRefusedError, match="gcloud auth application-default login"):
        refresh("gcp", regions=(IOWA,), access=Access(retry_policy=HASTY), today=TODAY)


def test_without_a_project_it_says_what_to_set() -> None:
    access = Access(credentials=AnonymousCredentials(), retry_policy=HASTY)
    with pytest.raises(ProviderRefusedError, match="GOOGLE_CLOUD_PROJECT"):
        refresh("gcp", regions=(IOWA,), access=access, today=TODAY)

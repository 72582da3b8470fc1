"""EC2 as described by moto, over HTTP, and prices from a server that speaks the Price List Query API."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from ec2_pages import ec2 as ec2_answers
from refusals import refused
from servers import HASTY, Answer, ReceivedRequest, Served, served

from planner.api.recommend import recommend
from planner.catalog import load_catalog
from planner.clouds.price_lists import Access, Refreshed, refresh, writing
from planner.clouds.price_lists.aws import hourly_usd, price_filters, shape, spot_usd
from planner.errors import BadInputError, IoFailureError, PlannerError, ProviderRefusedError

TODAY = date(2026, 11, 21)
REGION = "us-east-1"
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
ALL = {
    row["instance_type"]: float(row["price_usd_per_hour"])
    for row in load_catalog("aws").tables["prices"].rows()
    if row["pricing"] == "on-demand"
}


def item(name: str, usd: str, *, unit: str = "Hrs", currency: str = "USD", region: str = REGION) -> dict[str, Any]:
    dimension = {"unit": unit, "pricePerUnit": {currency: usd}}
    return {
        "product": {"attributes": {"instanceType": name, "regionCode": region}},
        "terms": {"OnDemand": {"X.1": {"priceDimensions": {"X.1.1": dimension}}}},
    }


def listed(prices: dict[str, float]) -> list[dict[str, Any]]:
    return [item(name, f"{usd:.10f}") for name, usd in prices.items()]


def paged(items: list[Any], *, size: int = 100) -> Callable[[ReceivedRequest], Answer]:
    """Answer with one page of items at a time."""

    def answer(asked: ReceivedRequest) -> Answer:
        at = int(asked.body.get("NextToken", 0))
        more = {"NextToken": str(at + size)} if at + size < len(items) else {}
        return Answer({"FormatVersion": "aws_v1", "PriceList": [json.dumps(i) for i in items[at : at + size]], **more})

    return answer


FEW = ("i3.large", "i3.xlarge", "i3.2xlarge", "i4i.4xlarge", "m5.large", "r5d.large")


SHIPPED = {name: ALL[name] for name in FEW}


@pytest.fixture
def ec2() -> Iterator[str]:
    """Return the address of an EC2 that offers a few types, four to a page."""
    with served(ec2_answers(FEW, size=4)) as server:
        yield server.url


def read(ec2: str, prices: str, **options: Any) -> Refreshed:
    access = Access(credentials=KEYS, specs_url=ec2, prices_url=prices, retry_policy=HASTY)
    return refresh("aws", access=access, today=TODAY, **{"regions": (REGION,), **options})


def versions(home: Path) -> list[str]:
    return sorted(path.name for path in home.glob("aws/*")) if home.exists() else []


@pytest.mark.soak
@pytest.mark.quick
def test_every_type_that_ec2_describes_has_the_shipped_shape() -> None:
    with served(ec2_answers()) as ec2, served(paged(listed(ALL))) as prices:
        done = read(ec2.url, prices.url)
    assert done.types == len(load_catalog("aws").tables["instances"]) > 1000
    assert not done.changes.shapes
    assert not done.changes.added
    assert not done.changes.removed
    assert len(ec2.asked) > done.types / 100


def test_moved_prices_are_told_and_used(ec2: str) -> None:
    moved = SHIPPED | {"i4i.4xlarge": SHIPPED["i4i.4xlarge"] * 2, "i3.large": 0.1}
    with served(paged(listed(moved))) as prices:
        done = read(ec2, prices.url)
    assert [(p.instance_type, p.ratio) for p in done.changes.up if p.pricing == "on-demand"] == [("i4i.4xlarge", 2.0)]
    assert [p.instance_type for p in done.changes.down if p.pricing == "on-demand"] == ["i3.large"]
    catalog = load_catalog("aws")
    row = catalog.instances.index("i4i.4xlarge")
    assert catalog.prices().price_usd_per_hour[row] == pytest.approx(2 * SHIPPED["i4i.4xlarge"])
    assert catalog.refreshed_on == catalog.priced_on(REGION) == TODAY
    best = recommend(data="1TB", model="indy", instances=["i4i.4xlarge"], today=TODAY)
    assert best.best is not None
    assert best.best.price_usd_per_hour == pytest.approx(2 * SHIPPED["i4i.4xlarge"])
    assert not [w for w in best.plan.warnings if "days old" in w]


def test_measurements_of_the_shipped_catalog_stay(ec2: str) -> None:
    before = load_catalog("aws").disk_rates("read_only").bytes_per_s
    with served(paged(listed(SHIPPED))) as prices:
        read(ec2, prices.url)
    after = load_catalog("aws").disk_rates("read_only").bytes_per_s
    assert sorted(before[before > 0]) == sorted(after[after > 0])


def test_only_plain_linux_is_asked_for(ec2: str) -> None:
    with served(paged(listed(SHIPPED), size=2)) as prices:
        read(ec2, prices.url)
    assert len(prices.asked) == len(FEW) / 2
    filters = {f["Field"]: f["Value"] for f in prices.asked[0].body["Filters"]}
    assert filters == {
        "operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used",
        "marketoption": "OnDemand", "regionCode": REGION,
    }  # fmt: skip


def test_a_dry_run_writes_nothing(ec2: str, home: Path) -> None:
    with served(paged(listed(SHIPPED | {"i3.large": 9.0}))) as prices:
        done = read(ec2, prices.url, dry_run=True)
    assert done.path is None
    assert done.changes.up
    assert not versions(home)


def test_what_cannot_be_used_is_counted(ec2: str, approve: Approve) -> None:
    odd = [
        item("i3.large", "12", unit="Quantity"),
        item("i3.xlarge", "7"),
        item("made.up", "1"),
        item("i3.2xlarge", "1", region="eu-west-1"),
    ]
    with served(paged(listed(SHIPPED) + odd)) as prices:
        done = read(ec2, prices.url)
    approve(done.left_out)
    assert done.kept >= 1
    catalog = load_catalog("aws")
    assert catalog.prices().price_usd_per_hour[catalog.instances.index("i3.xlarge")] == SHIPPED["i3.xlarge"]


def test_a_type_off_the_price_list_keeps_its_price_and_one_not_offered_loses_it(ec2: str, home: Path) -> None:
    with served(paged(listed({k: v for k, v in SHIPPED.items() if k != "i3.large"}))) as prices:
        done = read(ec2, prices.url)
    assert "i3.large" not in done.changes.removed
    assert "i3.4xlarge" in done.changes.removed
    with (home / "aws" / "current" / "prices.csv").open() as file:
        rows = list(csv.DictReader(file))
    older = [row for row in rows if row["instance_type"] == "i3.large" and row["pricing"] == "on-demand"]
    assert [row["as_of"] for row in older] == ["2026-07-20"]


def test_other_regions_keep_the_prices_they_have(ec2: str) -> None:
    ireland = [item(name, f"{usd * 1.1:.10f}", region="eu-west-1") for name, usd in SHIPPED.items()]
    with served(paged(ireland)) as prices:
        read(ec2, prices.url, regions=("eu-west-1",))
    with served(paged(listed(SHIPPED))) as prices:
        read(ec2, prices.url)
    catalog = load_catalog("aws")
    row = catalog.instances.index("i3.large")
    assert catalog.prices("eu-west-1").price_usd_per_hour[row] == pytest.approx(SHIPPED["i3.large"] * 1.1)
    assert catalog.prices(REGION).price_usd_per_hour[row] == pytest.approx(SHIPPED["i3.large"])


def test_a_third_refresh_removes_the_first(ec2: str, home: Path) -> None:
    with served(paged(listed(SHIPPED))) as prices:
        paths = [read(ec2, prices.url).path for _ in range(3)]
    assert [path.exists() for path in paths if path] == [False, True, True]
    assert len(versions(home)) == 3


def throttled(asked: ReceivedRequest) -> Answer:
    return Answer({"__type": "ThrottlingException", "message": "Rate exceeded"}, status=400)


def denied(asked: ReceivedRequest) -> Answer:
    return Answer({"__type": "AccessDeniedException", "message": "not authorized"}, status=400)


def broken(asked: ReceivedRequest) -> Answer:
    return Answer({"__type": "InternalErrorException", "message": "sorry"}, status=500)


def cut_off(asked: ReceivedRequest) -> Answer:
    return Answer({"PriceList": [json.dumps(item("i3.large", "1"))] * 50}, cut=100)


def cut_connection(asked: ReceivedRequest) -> Answer:
    return Answer({"PriceList": []}, cut=10**6)


def cut_item(asked: ReceivedRequest) -> Answer:
    return Answer({"PriceList": [json.dumps(item("i3.large", "1"))[:-20]]})


def without_end(asked: ReceivedRequest) -> Answer:
    return Answer({"PriceList": [], "NextToken": "again"})


def yuan(asked: ReceivedRequest) -> Answer:
    return Answer({"PriceList": [json.dumps(item("i3.large", "1", currency="CNY"))]})


def nothing(asked: ReceivedRequest) -> Answer:
    return Answer({"PriceList": []})


@pytest.mark.parametrize(
    ("answer", "error", "text", "calls"),
    [
        (throttled, ProviderRefusedError, "throttled 3 times.*Try again later", 3),
        (denied, ProviderRefusedError, "pricing:GetProducts.*not authorized.*needs the permission", 1),
        (broken, IoFailureError, "tried 3 times.*sorry.*nothing was changed", 3),
        (cut_off, IoFailureError, "tried 3 times.*nothing was changed", 3),
        (cut_connection, IoFailureError, "tried 3 times.*nothing was changed", 3),
        (cut_item, IoFailureError, "cut off or not as it should be", 1),
        (without_end, IoFailureError, "came twice", 2),
        (yuan, BadInputError, "CNY.*not converted", 1),
        (nothing, IoFailureError, "no usable price in us-east-1", 1),
    ],
)
def test_a_failing_price_list_changes_nothing(
    ec2: str, home: Path, answer: Callable[[ReceivedRequest], Answer], error: type[PlannerError], text: str, calls: int
) -> None:
    with served(answer) as prices, pytest.raises(error, match=text):
        read(ec2, prices.url)
    assert len(prices.asked) == calls
    assert not versions(home)
    assert load_catalog("aws").refreshed_on is None


def test_throttling_that_passes_is_sat_out(ec2: str) -> None:
    answers = paged(listed(SHIPPED))

    def sometimes(asked: ReceivedRequest) -> Answer:
        return throttled(asked) if len(prices.asked) % 2 else answers(asked)

    prices: Served
    with served(sometimes) as prices:
        assert not read(ec2, prices.url).changes.shapes


def test_without_credentials_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    import boto3

    monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session("of an", "earlier call"))
    with pytest.raises(ProviderRefusedError, match=r"AWS: no credentials found\n.*aws configure"):
        refresh("aws", regions=(REGION,), access=Access(retry_policy=HASTY), today=TODAY)
    with pytest.raises(ProviderRefusedError, match="nobody"):
        refresh("aws", regions=(REGION,), access=Access(account="nobody", retry_policy=HASTY), today=TODAY)


def test_an_address_that_nobody_serves() -> None:
    access = Access(credentials=KEYS, specs_url="http://127.0.0.1:9", retry_policy=HASTY)
    with pytest.raises(IoFailureError, match=r"tried 3 times.*check the network"):
        refresh("aws", regions=(REGION,), access=access, today=TODAY)


def test_a_page_of_types_that_is_cut_off() -> None:
    whole = ec2_answers(FEW)

    def cut(asked: ReceivedRequest) -> Answer:
        return Answer(whole(asked).body[:-200], headers={"Content-Type": "text/xml"})

    with served(cut) as ec2, pytest.raises(IoFailureError, match=r"ec2:DescribeInstanceTypes.*tried 3 times"):
        read(ec2.url, "http://127.0.0.1:9")
    assert len(ec2.asked) == 3


def test_spot_prices_that_may_not_be_read_are_a_note() -> None:
    whole = ec2_answers(FEW)

    def without_spot(asked: ReceivedRequest) -> Answer:
        if "DescribeSpotPriceHistory" not in asked.body:
            return whole(asked)
        error = "<Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error>"
        return Answer(f"<Response><Errors>{error}</Errors></Response>".encode(), status=403)

    with served(without_spot) as ec2, served(paged(listed(SHIPPED))) as prices:
        done = read(ec2.url, prices.url)
    assert "ec2:DescribeSpotPriceHistory" in done.notes[0]
    assert done.prices == len(FEW)


def test_a_full_disk_leaves_the_catalog_as_it_was(ec2: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(paged(listed(SHIPPED))) as prices:
        first = read(ec2, prices.url).path
        assert first is not None
        (home / "full").symlink_to("/dev/full")
        monkeypatch.setattr(writing, "replace_file", lambda _, text: (home / "full").write_text(text * 2000))
        with refused("io", "No space left", kind=IoFailureError):
            read(ec2, prices.url)
    (home / "full").unlink()
    assert load_catalog("aws").refreshed_on == TODAY
    assert sorted(versions(home)) == sorted([first.name, "current"])


def test_an_interrupt_at_the_last_moment_leaves_the_catalog_as_it_was(
    ec2: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with served(paged(listed(SHIPPED))) as prices, pytest.raises(KeyboardInterrupt):
        read(ec2, prices.url)
    monkeypatch.undo()
    monkeypatch.setenv("PLANNER_CATALOGS", str(home))
    assert load_catalog("aws").refreshed_on is None
    with served(paged(listed(SHIPPED))) as prices:
        read(ec2, prices.url)
    assert len(versions(home)) == 2


@pytest.mark.parametrize(
    ("label", "cards", "gbit"),
    [
        ("Up to 10 Gigabit", [{"BaselineBandwidthInGbps": 0.75, "PeakBandwidthInGbps": 10.0}], (0.75, 10.0)),
        ("4x 100 Gigabit", [{"BaselineBandwidthInGbps": 100.0}] * 4, (400.0, 400.0)),
        ("200 Gigabit", [{"BaselineBandwidthInGbps": 200.0}] * 2, (200.0, 200.0)),
        ("100 Gigabit", [{}], (100.0, 100.0)),
        ("Up to 25 Gigabit", [{}], (None, None)),
        ("Moderate", [], (None, None)),
    ],
)
def test_network_rates_of_one_card_and_of_several(
    label: str, cards: list[dict[str, float]], gbit: tuple[float | None, float | None]
) -> None:
    described = {
        "InstanceType": "x.large",
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 1},
        "NetworkInfo": {"NetworkPerformance": label, "NetworkCards": cards},
    }
    row = shape(described)
    wanted = tuple(None if rate is None else rate * 1e9 / 8 for rate in gbit)
    assert (row["network_baseline_bytes_per_s"], row["network_peak_bytes_per_s"]) == wanted
    assert row["local_disks"] == 0


def test_an_unknown_cloud_gets_the_nearest() -> None:
    with refused("unknown-cloud", "mean aws"):
        refresh("awz", today=TODAY)


def price_item(*dimensions: dict[str, Any], region: str = "us-east-1") -> str:
    priced = {str(number): dimension for number, dimension in enumerate(dimensions)}
    attributes = {"instanceType": "i4i.large", "regionCode": region}
    return json.dumps(
        {"product": {"attributes": attributes}, "terms": {"OnDemand": {"term": {"priceDimensions": priced}}}}
    )


def dimension(amount: str, *, unit: str = "Hrs", currency: str = "USD") -> dict[str, Any]:
    return {"unit": unit, "pricePerUnit": {currency: amount}}


def prices(*items: Any) -> tuple[list[tuple[str, float]], Counter[str]]:
    left_out: Counter[str] = Counter()
    return list(hourly_usd(items, region="us-east-1", what="prices", left_out=left_out)), left_out


def test_only_hourly_prices_of_the_region_above_zero_count() -> None:
    listed = price_item(dimension("0.172"), dimension("0"), dimension("1.0", unit="Quantity"))
    assert prices(listed, price_item(dimension("0.2"), region="us-west-2")) == (
        [("i4i.large", 0.172)],
        Counter({"prices per Quantity": 1}),
    )


def test_other_currencies_and_damaged_items_are_errors() -> None:
    with refused("other-currency", "CNY"):
        prices(price_item(dimension("1.2", currency="CNY")))
    with pytest.raises(IoFailureError, match="cut off"):
        prices(price_item(dimension("1.2"))[:-9])


def test_filters_ask_for_plain_linux_besides_what_is_named() -> None:
    filters = {chosen["Field"]: chosen["Value"] for chosen in price_filters(regionCode="eu-west-1")}
    assert filters.items() >= {"regionCode": "eu-west-1", "operatingSystem": "Linux", "tenancy": "Shared"}.items()
    assert {chosen["Type"] for chosen in price_filters()} == {"TERM_MATCH"}


def test_spot_prices_of_local_zones_are_not_those_of_the_region() -> None:
    """Machines are rented in a region's own zones; a Local or Wavelength Zone has other prices."""

    def row(zone: str, usd: str, *, day: int = 20) -> dict[str, Any]:
        return {
            "InstanceType": "m5.large",
            "AvailabilityZone": zone,
            "SpotPrice": usd,
            "Timestamp": datetime(2026, 11, day),
        }

    zones = [row("us-west-2a", "0.04", day=21), row("us-west-2a", "0.09"), row("us-west-2b", "0.05")]
    elsewhere = [row(zone, "0.2") for zone in ("us-west-2-lax-1a", "us-west-2-lax-1b", "us-west-2-wl1-den-wlz-1")]
    assert spot_usd([*zones, *elsewhere]) == {"m5.large": pytest.approx(0.045)}
    assert spot_usd(elsewhere) == {}


def test_a_spot_price_of_nothing_is_unknown() -> None:
    row = {"InstanceType": "m5.large", "AvailabilityZone": "us-west-2a", "Timestamp": datetime(2026, 11, 20)}
    assert spot_usd([row | {"SpotPrice": "0.000000"}]) == {}

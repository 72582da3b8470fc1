"""Prices from the public lists, read over HTTP from a server of the test."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from refusals import refused
from servers import HASTY, Answer, ReceivedRequest, served
from typer.testing import CliRunner

from planner.catalog import load_catalog
from planner.cli.app import build
from planner.clouds.price_lists import Access, Refreshed, refresh
from planner.errors import BadInputError, IoFailureError
from tests.clouds.price_lists.retail_pages import item, retail

REGION = "eu-central-1"
HEADER = (
    '"SKU","TermType","Unit","PricePerUnit","Currency",'
    '"Instance Type","Tenancy","Operating System","Pre Installed S/W","CapacityStatus"'
)
PLAIN = '"X","OnDemand","Hrs","{usd}","USD","{type}","Shared","Linux","NA","Used"'
LIST = [
    '"FormatVersion","v1.0"',
    '"Disclaimer","for information, only"',
    HEADER,
    PLAIN.format(type="i8g.8xlarge", usd="3.2848000000"),
    PLAIN.format(type="i4i.4xlarge", usd="1.6300000000"),
    PLAIN.format(type="brand.new", usd="9.0"),
    PLAIN.format(type="m5.large", usd="0.0000000000"),
    PLAIN.format(type="c5.large", usd="0.1").replace("Linux", "Windows"),
    PLAIN.format(type="c5.large", usd="0.2").replace("OnDemand", "Reserved"),
]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def refreshed(lines: list[str], *, cut: int = 0, url: str = "") -> tuple[Refreshed, list[ReceivedRequest]]:
    with served(lambda asked: Answer("\r\n".join([*lines, ""]).encode(), cut=cut)) as prices:
        access = Access(prices_url=url or prices.url, retry_policy=HASTY)
        done = refresh("aws", regions=[REGION], access=access, today=date(2026, 11, 23), public=True)
    return done, prices.asked


def test_a_region_without_shipped_prices_is_priced_without_an_account() -> None:
    before = load_catalog("aws")
    with pytest.raises(BadInputError, match=f"refresh --cloud aws --region {REGION} --public reads them, without an"):
        before.prices(REGION)
    done, asked = refreshed(LIST)
    assert [request.path for request in asked] == [f"/{REGION}/index.csv"]
    assert (done.prices, done.left_out) == (2, {f"prices of types that the catalog does not have in {REGION}": 1})
    after = load_catalog("aws")
    price = after.prices(REGION).price_usd_per_hour
    assert price[after.instances.index("i8g.8xlarge")] == 3.2848
    shapes = after.tables["instances"]
    assert len(after.instances) == len(before.instances)
    assert shapes["source"].tolist() == before.tables["instances"]["source"].tolist()
    home = before.prices("us-east-1").price_usd_per_hour[before.instances.index("i8g.8xlarge")]
    assert after.prices("us-east-1").price_usd_per_hour[after.instances.index("i8g.8xlarge")] == home


def test_prices_of_local_zones_and_capacity_blocks_are_not_the_regions() -> None:
    """They are in its list, too: Los Angeles had overwritten Oregon (vantage-sh/ec2instances.info issue 573)."""
    columns = ',"Region Code","MarketOption"'
    rows = [("3.28", REGION, "OnDemand"), ("3.94", f"{REGION}-ham-1", "OnDemand"), ("2.5", REGION, "CapacityBlock")]
    priced = [PLAIN.format(type="i8g.8xlarge", usd=usd) + f',"{where}","{market}"' for usd, where, market in rows]
    done, _ = refreshed([HEADER + columns, *priced])
    assert (done.prices, done.left_out) == (1, {})
    after = load_catalog("aws")
    assert after.prices(REGION).price_usd_per_hour[after.instances.index("i8g.8xlarge")] == 3.28


def test_it_is_read_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(lambda asked: Answer("\r\n".join([*LIST, ""]).encode())) as proxy:
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setattr("urllib.request._opener", None)  # a process looks for proxies only once
        access = Access(prices_url="http://prices.example", retry_policy=HASTY)
        done = refresh("aws", regions=[REGION], access=access, today=date(2026, 11, 23), public=True)
    assert done.prices == 2 and proxy.asked[0].headers["Host"] == "prices.example"


WEST_EUROPE = [
    item("Standard_L8s_v3", 0.81),
    item("Standard_L8s_v3", 0.16, skuName="L8s v3 Spot"),
    item("Standard_L8s_v3", 1.18, productName="Virtual Machines Lsv3 Series Windows"),
    item("Standard_L16s_v3", 1.62),
    item("Standard_L16s_v3", 9000.0, unitOfMeasure="1 Year", type="Reservation"),
    item("Standard_L16s_v3", 1.5, unitOfMeasure="1 GB"),
    item("Brand_New", 1.0),
]


def test_azure_is_priced_without_an_account_from_pages_of_its_retail_api(tmp_path: Path) -> None:
    """Seven items on pages of three: three requests, the first of which names the region."""
    with served(retail(WEST_EUROPE, per_page=3)) as prices:
        (tmp_path / "settings.toml").write_text(f'[azure]\nprices_url = "{prices.url}/prices"\n')
        words = ["catalog", "refresh", "--cloud", "azure", "--region", "westeurope", "--public"]
        done = CliRunner().invoke(build(only="catalog"), words, catch_exceptions=False)
    assert (done.exit_code, done.stdout.splitlines()[0].split(" types and ")[1]) == (0, "3 prices of westeurope")
    assert "1 prices per 1 GB" in done.stdout
    assert "1 prices of types that the catalog does not have in westeurope" in done.stdout
    assert [request.query.get("$skip", "0") for request in prices.asked] == ["0", "3", "6"]
    assert "armRegionName eq 'westeurope'" in prices.asked[0].query["$filter"]
    assert not any("Authorization" in request.headers for request in prices.asked)
    catalog = load_catalog("azure")
    rows = [catalog.instances.index(name) for name in ("Standard_L8s_v3", "Standard_L16s_v3")]
    assert catalog.prices("westeurope").price_usd_per_hour[rows].tolist() == [0.81, 1.62]
    assert catalog.prices("westeurope", "spot").price_usd_per_hour[rows[0]] == 0.16
    assert catalog.prices("eastus").price_usd_per_hour[rows[0]] == 0.696  # as shipped


def test_a_page_of_azures_that_is_missing_changes_nothing(tmp_path: Path) -> None:
    def second_fails(asked: ReceivedRequest) -> Answer:
        return Answer(b"", status=404) if "$skip" in asked.query else retail(WEST_EUROPE, per_page=3)(asked)

    with served(second_fails) as prices, pytest.raises(IoFailureError, match="404"):
        access = Access(prices_url=f"{prices.url}/prices", retry_policy=HASTY)
        refresh("azure", regions=["westeurope"], access=access, today=date(2026, 11, 23), public=True)
    catalog = load_catalog("azure")
    assert catalog.refreshed_on is None
    assert catalog.prices("westeurope").price_usd_per_hour[catalog.instances.index("Standard_L8s_v3")] == 0.832


@pytest.mark.parametrize(
    ("lines", "cut", "why"),
    [
        ([HEADER.replace("Currency", "Money")], 0, "no columns Currency"),
        ([*LIST, '"X","OnDemand"'], 0, "a line is cut off"),
        ([*LIST, PLAIN.format(type="m5.large", usd="dear")], 0, "'dear' is no price"),
        (LIST, 60, "IncompleteRead|cut off"),
    ],
)
def test_what_is_not_whole_changes_nothing(lines: list[str], cut: int, why: str) -> None:
    with pytest.raises(IoFailureError, match=why):
        refreshed(lines, cut=cut)
    with pytest.raises(BadInputError):
        load_catalog("aws").prices(REGION)


def test_other_money_and_clouds_without_a_public_list_are_refused() -> None:
    with refused("other-currency", "CNY"):
        refreshed([line.replace('"USD"', '"CNY"') for line in LIST])
    with refused("no-public-prices", "gcp", "aws, azure", field="--public"):
        refresh("gcp", today=date(2026, 11, 23), public=True)


def test_plan_names_the_command_that_reads_missing_prices(tmp_path: Path) -> None:
    asked = f"plan --data 1TB --cloud aws --region {REGION} --instance i8g.8xlarge,i4i.4xlarge --nodes 4"
    words = asked.split()
    plan = build(only="plan")
    with served(lambda asked: Answer("\r\n".join([*LIST, ""]).encode())) as prices:
        (tmp_path / "settings.toml").write_text(f'[aws]\nprices_url = "{prices.url}"\n')
        refused = CliRunner().invoke(plan, words)
        assert isinstance(refused.exception, BadInputError)
        said = f"--region {REGION} --public reads them, without an account"
        assert said in str(refused.exception)
        assert not prices.asked
        read = ["catalog", "refresh", "--cloud", "aws", "--region", REGION, "--public"]
        CliRunner().invoke(build(only="catalog"), read, catch_exceptions=False)
        assert [request.path for request in prices.asked] == [f"/{REGION}/index.csv"]
        done = CliRunner().invoke(plan, words, catch_exceptions=False)
    assert f"(aws {REGION}" in done.stdout
    assert len(prices.asked) == 1  # stored prices are not read again

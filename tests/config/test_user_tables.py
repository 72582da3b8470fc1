"""Price sheets: CSV files of a company's prices, whose columns may have any usual name."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call
from refusals import refused

import planner
from planner.config.user_tables import price_sheet

SHEET = "Instance type;USD/h;Region\ni4i.4xlarge;0.70\ni4i.8xlarge;$1,500.5;eu-west-1\nnot.there;3;\n"


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    (file := tmp_path / "prices.csv").write_text(SHEET)
    return file


def test_a_sheet_has_a_price_for_each_type_and_region(sheet: Path) -> None:
    prices = [(price.instance, price.region, price.price_usd_per_hour) for price in price_sheet(sheet)]
    assert prices == [("i4i.4xlarge", "*", 0.7), ("i4i.8xlarge", "eu-west-1", 1500.5), ("not.there", "*", 3)]
    sheet.write_text("\ufeffvmSize,Hourly rate\na,1\n", encoding="utf-8")
    assert [(price.instance, price.price_usd_per_hour) for price in price_sheet(sheet)] == [("a", 1)]
    for heading in ("Hourly USD", "Linux On Demand ($/h)"):
        sheet.write_text(f"API Name,{heading},Notes\na,1,old\n")
        assert [(price.instance, price.price_usd_per_hour) for price in price_sheet(sheet)] == [("a", 1)]
    sheet.write_text("Instance Type,On-Demand Hourly ($),Our Price\na,3,1\n")
    assert [(price.instance, price.price_usd_per_hour) for price in price_sheet(sheet)] == [("a", 1)]
    sheet.write_text("Type,Price (EUR/h),Monthly cost,Cost per hour in dollars\na,3,900,1\n")
    assert [(price.instance, price.price_usd_per_hour) for price in price_sheet(sheet)] == [("a", 1)]


def test_a_plan_takes_the_prices_and_keeps_the_file(sheet: Path, tmp_path: Path) -> None:
    asked = {"data": "1TB", "instance": "i4i.4xlarge,i4i.8xlarge", "nodes": 8}
    best = planner.recommend(**asked, own_price=str(sheet)).best  # type: ignore[arg-type]
    assert best is not None and (best.instance_type, best.price_usd_per_hour) == ("i4i.4xlarge", 0.7)
    assert any(f"{sheet}, columns Instance type and USD/h and Region" in text for text in best.warnings)
    words = ["--data", "1TB", "--instance", "i4i.4xlarge", "--own-price", str(sheet)]
    shown = call("plan", *words, "--own-price", "i4i.large=0.9", "--save", str(tmp_path / "request.toml"))
    assert "$0.70 an hour" in shown
    kept = planner.read_request(tmp_path / "request.toml")
    assert kept["own_price"] == [str(sheet), "i4i.large=0.9"]
    assert "$0.70 an hour" in call("plan", str(tmp_path / "request.toml"))


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("type,price\na,n/a\nb,\n", "malformed", ("prices.csv:2: 'n/a'", "prices.csv:3: ''")),
        ("type,linux cost,windows cost\na,1,2\n", "unknown-column", ("US dollars per hour 'price'", "'windows cost'")),
        ("host,usd\na,1\n", "unknown-column", ("that of the type", "it has 'usd', 'host'")),
        ("instance,monthly_usd\na,900\n", "unknown-column", ("US dollars per hour 'price'", "'monthly_usd'")),
        ("x\n1\n", "unknown-column", ("no column",)),
    ],
)
def test_a_sheet_without_prices_is_refused_by_row(sheet: Path, text: str, code: str, named: tuple[str, ...]) -> None:
    sheet.write_text(text)
    with refused(code, *named):
        call("plan", "--data", "1TB", "--own-price", str(sheet))


def test_a_sheet_goes_with_on_demand_machines_alone_as_a_typed_price_does(sheet: Path) -> None:
    with refused("contradiction", field="own_price"):
        planner.recommend("1TB", own_price=str(sheet), pricing="spot")


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("type,price\ni4i.4xlargo,1\nfoo,2\n", "unknown-type", ("none of its 2 types is in aws", "i4i.4xlarge")),
        ("type,price\nn2-standard-8,1\n", "unknown-type", ("none of its 1 type is in aws", "`cloud` gcp")),
        ("type,price,region\ni4i.large,1,eu-west-1\n", "unknown-region", ("no price in us-east-1", "eu-west-1")),
    ],
)
def test_a_sheet_that_says_nothing_of_the_plan_is_refused(
    sheet: Path, text: str, code: str, named: tuple[str, ...]
) -> None:
    sheet.write_text(text)
    with refused(code, *named, field="own_price"):
        planner.recommend("1TB", own_price=str(sheet))

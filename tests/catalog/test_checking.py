"""All errors in all files of a bad catalog are reported in one answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from approvals import Approve
from refusals import refused

from planner.api.recommend import recommend
from planner.catalog import check_catalog, load_catalog
from planner.catalog.checking import stale_prices
from planner.errors import BadInputError

TODAY = date(2026, 1, 20)


def edited(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def spoil(cloud: Path) -> None:
    """Make ten different mistakes in four files."""
    edited(cloud / "catalog.toml", ("hours_per_month = 720", 'hours_per_month = "720"'))
    edited(
        cloud / "instances.csv",
        ("small.1,small,2,0", "small.1,small,two,0"),
        ("16,4,1e12", "16,4.5,-1"),
        ("current_generation", "current_generatoin"),
    )
    edited(
        cloud / "prices.csv",
        ("small.1,here,spot,0.2", "small.1,here,spott,0"),
        ("small.8,there", "small.9,there"),
        ("4,spec,lab,2026-01-01", "4,,lab,2026-02-30"),
    )
    (cloud / "disk.csv").write_text("instance_type\n")


EXPECTED = """\
catalog.toml, column hours_per_month: expected a number above 600 and below 800
instances.csv:1, column current_generatoin: unknown column. Did you mean current_generation?
instances.csv:1, column current_generation: this column is required and missing
instances.csv:2, column vcpu: 'two': expected a number, above 0
instances.csv:4, column local_disks: '4.5': expected a whole number, at least 0
instances.csv:4, column local_disk_bytes: '-1': expected a number, above 0
prices.csv:3, column pricing: 'spott': expected one of on-demand, spot. Did you mean spot?
prices.csv:3, column price_usd_per_hour: '0': expected a number, above 0
prices.csv:4, column evidence: blank: expected one of measured, derived, spec, extrapolated, recalled, assumed
prices.csv:4, column as_of: '2026-02-30': expected a date YYYY-MM-DD
prices.csv:5, column instance_type: 'small.9': is not in instances.csv. Did you mean small.8 or small.1?
disk.csv: no such kind of file. Did you mean disks.csv"""


def test_ten_different_mistakes_are_all_reported_at_once(cloud: Path) -> None:
    spoil(cloud)
    with pytest.raises(BadInputError, match=r"12 problems; correct them") as caught:
        load_catalog(cloud)
    reported = [line.removeprefix(f"{cloud}/") for line in caught.value.details]
    for line in EXPECTED.splitlines():
        assert any(text.startswith(line) for text in reported), line
    assert [finding.severity for finding in check_catalog(cloud, today=TODAY)] == ["error"] * 12


def undeclared_source(cloud: Path) -> None:
    edited(cloud / "disks.csv", ("4e9,mean,fio,measured,lab", "4e9,mean,fio,measured,labb"))


def repeated_type(cloud: Path) -> None:
    edited(cloud / "instances.csv", ("small.8,small", "small.1,small"))


def repeated_rate(cloud: Path) -> None:
    edited(cloud / "disks.csv", ("2e9,documented,data sheet,spec", "2e9,mean,fio,measured"))


def foreign_currency(cloud: Path) -> None:
    edited(cloud / "catalog.toml", ('"USD"', '"EUR"'))


def no_prices(cloud: Path) -> None:
    (cloud / "prices.csv").unlink()


def broken_toml(cloud: Path) -> None:
    (cloud / "catalog.toml").write_text("title = ")


def titleless_source(cloud: Path) -> None:
    edited(cloud / "catalog.toml", ('title = "Measured in the laboratory"', 'name = "laboratory"'))


def rate_of_no_volume(cloud: Path) -> None:
    header = "instance_type,volume_type,mode,bytes_per_s,aggregate,method,evidence,source,as_of"
    (cloud / "volume_rates.csv").write_text(f"{header}\nlarge,gp2,read_only,1e8,mean,fio,measured,lab,2026-01-01\n")


def bad_traffic(cloud: Path) -> None:
    header = "transfer,price_usd_per_gib,evidence,source,as_of"
    (cloud / "transfers.csv").write_text(f"{header}\nzones,-1,spec,lab,2026-01-01\n")


@pytest.mark.parametrize(
    ("mistake", "complaint"),
    [
        (
            bad_traffic,
            r"transfers\.csv:2, column transfer: 'zones': expected one of zone, region, continent, internet\. Did you",
        ),
        (bad_traffic, r"transfers\.csv:2, column price_usd_per_gib: '-1': expected a number, at least 0"),
        (undeclared_source, r"disks\.csv:2, column source: 'labb': is not in \[sources\] of catalog\.toml\. Did you"),
        (repeated_type, r"instances\.csv:3, column instance_type: 'small\.1': repeats instance_type of line 2"),
        (repeated_rate, r"disks\.csv:3, .*repeats instance_type, mode, aggregate, evidence of line 2"),
        (foreign_currency, r"catalog\.toml, column currency: .*USD"),
        (no_prices, r"prices\.csv: cannot be read"),
        (broken_toml, "cannot be read as TOML"),
        (titleless_source, r"sources\.lab\.title: is missing"),
        (rate_of_no_volume, r"volume_rates\.csv:2, column volume_type: 'gp2': is not in volumes\.csv"),
    ],
)
def test_a_mistake_is_named(cloud: Path, mistake: Callable[[Path], None], complaint: str) -> None:
    mistake(cloud)
    with pytest.raises(BadInputError, match=complaint):
        load_catalog(cloud)


def test_a_sound_catalog_is_told_its_gaps(cloud: Path, approve: Approve) -> None:
    texts = [finding.text for finding in check_catalog(cloud, today=TODAY)]
    approve(texts)
    assert not any("days old" in text for text in texts)


@pytest.mark.parametrize(("day", "stale"), [(date(2026, 3, 2), False), (date(2026, 3, 3), True)])
def test_prices_are_stale_after_sixty_days(cloud: Path, day: date, stale: bool) -> None:
    assert any("days old" in finding.text for finding in check_catalog(cloud, today=day)) == stale


def test_a_catalog_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with refused("not-a-catalog", "catalog.toml"):
        load_catalog(tmp_path)
    with pytest.raises(BadInputError, match=r"unknown catalog 'aws-2015'\. Did you mean"):
        load_catalog("aws-2015")


def test_a_directory_without_a_slash_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    with refused("unknown-catalog", "'mine'", "./mine"):
        load_catalog("mine")
    with refused("not-a-catalog", str(tmp_path), "catalog.toml"):
        load_catalog(".")


def test_spot_prices_from_savings_are_as_old_as_both(approve: Approve) -> None:
    (said,) = stale_prices([load_catalog("aws")], [], today=date(2026, 11, 26), pricing="spot")
    approve(said)
    (listed,) = stale_prices([load_catalog("gcp")], [], today=date(2026, 11, 26), pricing="spot")
    approve(listed)


def test_a_plan_on_spot_says_of_which_days_its_price_is(approve: Approve) -> None:
    best = recommend("1TB", cloud="aws", pricing="spot", nodes=8).plan.best
    assert best is not None
    assert best.price_as_of == "2025-06-28"
    approve(best.warnings)

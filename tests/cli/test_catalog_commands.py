"""`planner catalog refresh|rank|usable` and `planner scale`, called in-process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import call
from refusals import refused

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clouds" / "price_lists"))
from ec2_pages import ec2
from servers import served
from test_aws import FEW, SHIPPED, listed, paged

from planner.catalog import load_catalog
from planner.errors import ProviderRefusedError
from tests.marks import quick_soak


@pytest.fixture
def amazon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the environment that the aws command uses; return the settings file."""
    monkeypatch.setenv("PLANNER_CATALOGS", str(tmp_path / "catalogs"))
    monkeypatch.setenv("PLANNER_SETTINGS", str(tmp_path / "settings.toml"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    return str(tmp_path / "settings.toml")


def test_refresh_plan_and_forget(amazon: str) -> None:
    moved = SHIPPED | {"i4i.4xlarge": 9.0, "x9.large": 1.0}
    with served(ec2(FEW)) as specs, served(paged(listed(moved))) as prices:
        Path(amazon).write_text(f'[aws]\nspecs_url = "{specs.url}"\nprices_url = "{prices.url}"\n')
        dry = call("catalog", "refresh", "--cloud", "aws", "--dry-run")
        assert "nothing was written" in dry
        assert load_catalog("aws").refreshed_on is None
        text = call("catalog", "refresh", "--cloud", "aws")
        again = json.loads(call("catalog", "refresh", "--cloud", "aws", "--region", "us-east-1", "--json"))["refreshed"]
    assert "i4i.4xlarge" in text
    assert f"{9 / SHIPPED['i4i.4xlarge'] - 1:+.1%}" in text
    assert again[0]["types"] == len(FEW)
    assert again[0]["left_out"] == {"prices of types not offered in us-east-1": 1}
    assert not again[0]["changes"]["prices"]
    planned = json.loads(call("plan", "--data", "1TB", "--model", "indy", "--instance", "i4i.4xlarge", "--json"))
    assert planned["catalog"]["refreshed"] == ["aws"]
    assert planned["best"]["price_usd_per_hour"] == 9.0
    shown = call("plan", "--data", "1TB", "--model", "indy", "--instance", "i4i.4xlarge")
    assert "types and prices of aws as you refreshed them" in " ".join(shown.split())
    assert "the shipped catalog again" in call("catalog", "refresh", "--cloud", "aws", "--forget")
    assert json.loads(call("catalog", "refresh", "--cloud", "aws", "--forget", "--json"))["clouds"] == [
        {"cloud": "aws", "forgotten": False}
    ]
    assert load_catalog("aws").refreshed_on is None


def test_a_profile_that_is_not_there_ends_with_4(amazon: str) -> None:
    Path(amazon).write_text('[aws]\naccount = "nobody-here"\n')
    with pytest.raises(ProviderRefusedError, match="nobody-here") as refused:
        call("catalog", "refresh", "--cloud", "aws")
    assert refused.value.exit_code == 4


def test_settings_discount_and_command_line(amazon: str) -> None:
    Path(amazon).write_text("[aws]\ndiscount = 0.5\n")
    asked = ("plan", "--data", "1TB", "--model", "indy", "--instance", "i4i.4xlarge", "--json")
    listed_price = json.loads(call(*asked, "--discount", "0%"))["best"]["price_usd_per_hour"]
    assert json.loads(call(*asked))["best"]["price_usd_per_hour"] == pytest.approx(listed_price / 2)
    own = json.loads(call(*asked, "--own-price", "i4i.4xlarge=0.25"))["best"]
    assert own["price_usd_per_hour"] == 0.25
    assert [w for w in own["warnings"] if "--own-price" in w]


def test_plan_stages_and_spreads(amazon: str) -> None:
    text = call(
        "plan", "--data", "1TB", "--model", "indy", "--cloud", "aws",
        "--input", "gs://b/in", "--output", "s3://b/out", "--set", "zones=2",
        "--explain",
    )  # fmt: skip
    assert "stage in: egress: $111.66 (traffic out of gcp and requests there; list" in " ".join(text.split())
    assert "traffic between zones: $" in text


def test_rank() -> None:
    ranking = json.loads(call("catalog", "rank", "--by", "usd_per_MBps", "--instance", "i3.*", "--top", "3", "--json"))
    assert len(ranking["rows"]) == 3
    assert [row["value"] for row in ranking["rows"]] == sorted(row["value"] for row in ranking["rows"])
    assert all(row["instance_type"].startswith("i3.") for row in ranking["rows"])
    text = call("catalog", "rank", "--by", "usd_per_GFLOPS", "--catalog", "oci-2019,aws-2019")
    assert text.index("BM.Standard2.52") < text.index("r5.24xlarge")
    assert "left out: 1 of oci-2019: price unknown" in text


def test_usable_counts_every_type_once() -> None:
    clouds = ("aws", "azure", "gcp", "oci")
    rows = json.loads(call("catalog", "usable", *clouds, "--json"))["coverage"]
    for row in rows:
        assert row["usable"] + sum(row["reasons"].values()) == row["types"]
    usable = {(row["catalog"], row["model"]): row["usable"] for row in rows}
    for alike in (("indy", "daytona", "minutesort", "framework"), ("cloudsort", "framework-volumes")):
        assert all(len({usable[cloud, model] for model in alike}) == 1 for cloud in clouds)
    assert "no local disks" in call("catalog", "usable", "oci")


@quick_soak
def test_scale() -> None:
    scaling = json.loads(call("scale", "i4i", "--data", "10TB", "--model", "indy", "--json"))
    assert scaling["sizes"][0]["vcpu"] >= scaling["sizes"][-1]["vcpu"]
    assert scaling["verdict"] in " ".join(call("scale", "i4i", "--data", "10TB", "--model", "indy").split())


def test_scale_offers_the_nearest_family(make_catalog: Callable[..., str]) -> None:
    with refused("unknown-type", "i4i"):
        call("scale", "i4ii", "--data", "10TB", "--model", "indy")


def test_show_with_a_catalogs_name_says_that_it_takes_a_type() -> None:
    with refused("unknown-type", "planner catalog show", "planner catalog rank --by usd_per_MBps --catalog gcp"):
        call("catalog", "show", "gcp")

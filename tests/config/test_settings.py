"""The user's settings: all errors of the file at once, each with its field."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from planner.config.settings import FILE_VARIABLE, Settings, load_settings
from planner.errors import BadInputError
from planner.schemas.request_forms import CLOUDS, OwnPrice


def load(text: str, folder: Path, patch: pytest.MonkeyPatch) -> Settings:
    path = folder / "settings.toml"
    path.write_text(text, "utf-8")
    patch.setenv(FILE_VARIABLE, str(path))
    return load_settings(today=date(2026, 11, 27))


def test_prices_that_are_over_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
[plan]
clouds = ["gcp"]
[limits]
max_cost_per_month = 100
[aws]
account = "me"
discount = 0.1
[[aws.prices]]
instance = "i4i.*"
price_usd_per_hour = 2
until = 2026-11-27
[[aws.prices]]
discount = 0.5
until = 2026-11-26
"""
    found = load(text, tmp_path, monkeypatch)
    assert (found.plan_clouds, found.usd_per_month, list(found.clouds)) == (("gcp",), 100.0, ["aws"])
    assert found.of("aws").account == "me" and found.of("gcp").account == ""
    assert found.own_prices == (
        OwnPrice(cloud="aws", instance="i4i.*", price_usd_per_hour=2.0, note="settings"),
        OwnPrice(cloud="aws", discount=0.1, note="settings"),
    )


@pytest.mark.parametrize("cloud", CLOUDS)
def test_each_cloud_has_a_table(cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(f"[{cloud}]\naccount = 'me'\n", tmp_path, monkeypatch).of(cloud).account == "me"


@pytest.mark.parametrize(
    ("text", "field", "code", "hint"),
    [
        ("[azur]\naccount = 'a'", "azur", "unknown-argument", "Did you mean azure"),
        ("acount = 'a'", "acount", "unknown-argument", "known are"),
        ("discount = 0.1", "discount", "unknown-argument", "It belongs in [aws]"),
        ("max_cost_per_month = 1", "max_cost_per_month", "unknown-argument", "It belongs in [limits]"),
        ("[aws]\nacount = 'a'", "aws.acount", "unknown-argument", "Did you mean account"),
        ("aws = 3", "aws", "wrong-type", "a table"),
        ("[aws]\naccount = 3", "aws.account", "wrong-type", "a text"),
        ("[aws]\ndiscount = 1", "aws.discount", "out-of-range", "below 1"),
        ("[aws]\nprices = 3", "aws.prices", "wrong-type", "a list"),
        ("[plan]\nclouds = 'aws'", "plan.clouds", "wrong-type", "a list"),
        ("[plan]\nclouds = [3]", "plan.clouds[0]", "wrong-type", "a text"),
        ("[limits]\nmax_cost_per_month = 0", "limits.max_cost_per_month", "out-of-range", "above 0"),
        ("[limits]\nmax_cost_per_month = true", "limits.max_cost_per_month", "wrong-type", "a number"),
        ("[[aws.prices]]\ndiscount = 0.1\nnodes = 0", "aws.prices[0].nodes", "out-of-range", "at least 1"),
        ("[[aws.prices]]\ndiscount = 0.1\npricing = 'sport'", "aws.prices[0].pricing", "unknown-word", "mean spot"),
        ("[[aws.prices]]\ndiscount = 0.1\nuntil = '2026'", "aws.prices[0].until", "wrong-type", "a date"),
        ("[[gcp.prices]]\ninstance = 'a'", "gcp.prices[0]", "missing-argument", "either a discount"),
    ],
)
def test_an_error_names_its_field(
    text: str, field: str, code: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInputError) as refused:
        load(text, tmp_path, monkeypatch)
    assert (refused.value.field, refused.value.code) == (field, code)
    assert "settings.toml" in refused.value.message and hint in refused.value.details[0]


def test_all_errors_come_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInputError) as refused:
        load("x = 1\n[aws]\ny = 2\n[[gcp.prices]]\nnodes = -1\n", tmp_path, monkeypatch)
    assert [line.split(":")[0] for line in refused.value.details] == ["x", "aws.y", "gcp.prices[0].nodes"]

"""A sweep selects the caller's own runs, by the caller's name in the cloud and by the machine that began them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from emulated_ec2 import EmulatedEc2

from planner.clouds.calls.azure import identity_in
from planner.clouds.calls.gcp import gcloud_account
from planner.clouds.protocol import Resource
from planner.clusters.provisioning.cluster_lifecycle import FoundRun


def found(*, owner: str, origin: str) -> FoundRun:
    vpc = Resource(kind="vpc", id="v", region="r", run="r1", owner=owner, origin=origin)
    return FoundRun(run="r1", resources=(vpc,))


def test_a_run_is_ones_own_by_identity_and_machine() -> None:
    assert found(owner="me", origin="here").belongs_to("me", known=(), origin="here"), "its journal is lost"
    assert found(owner="me", origin="there").belongs_to("me", known=("r1",), origin="here"), (
        "the machine has a new name"
    )
    assert not found(owner="me", origin="there").belongs_to("me", known=(), origin="here"), "of a colleague's machine"
    assert not found(owner="me", origin="").belongs_to("me", known=(), origin="here"), "nobody knows where it began"
    assert not found(owner="you", origin="here").belongs_to("me", known=("r1",), origin="here")


def test_a_run_of_another_machine_is_shown_with_its_cost_and_stays(ec2: EmulatedEc2, tmp_path: Path) -> None:
    """Both machines have the same identity, as in a shared account."""
    assert ec2.planner(*ec2.up).code == 0
    run = ec2.runs()[0]
    ec2.home = tmp_path / "other-machine"
    shown = ec2.planner(*ec2.sweep)
    assert shown.code == 0 and ec2.left() == ec2.whole
    line = " ".join(shown.text.split())
    assert f"run {run} of 123456789012-user-moto: " in line and "4 machines for " in line
    assert "at on-demand prices" in line and "another machine began it; --anyone takes it, too" in line
    assert ec2.planner(*ec2.sweep, "--anyone").code == 0
    assert ec2.left() == {}


def test_people_are_known_by_whom_gcloud_and_az_signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLOUDSDK_CORE_ACCOUNT", "CLOUDSDK_ACTIVE_CONFIG_NAME", "AZURE_CLIENT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("AZURE_CONFIG_DIR", str(tmp_path))
    assert (gcloud_account(), identity_in("s-1")) == ("", ""), "nobody signed in"
    (tmp_path / "configurations").mkdir()
    (tmp_path / "configurations" / "config_lab").write_text("[core]\naccount = ada@example.com\n", "utf-8")
    (tmp_path / "active_config").write_text("lab", "utf-8")
    users = [{"id": f"s-{number}", "user": {"name": name}} for number, name in enumerate(("bob", "eve@example.com"))]
    (tmp_path / "azureProfile.json").write_text(json.dumps({"subscriptions": users}), "utf-8-sig")
    assert (gcloud_account(), identity_in("s-1")) == ("ada@example.com", "eve@example.com")
    monkeypatch.setenv("AZURE_CLIENT_ID", "4711")
    assert identity_in("s-1") == "app-4711", "the SDK takes the environment's application first"

"""The defaults of the clouds' own tools are found where those tools keep them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.config.cloud_defaults import default_account, default_region

VARIABLES = (
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_CONFIG_FILE", "CLOUDSDK_CONFIG"),
    *("CLOUDSDK_COMPUTE_REGION", "CLOUDSDK_COMPUTE_ZONE", "CLOUDSDK_CORE_PROJECT", "CLOUDSDK_ACTIVE_CONFIG_NAME"),
    *("AZURE_CONFIG_DIR", "AZURE_DEFAULTS_LOCATION"),
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def region(cloud: str) -> tuple[str, str]:
    found = default_region(cloud)
    return ("", "") if found is None else (found.value, found.source)


def test_nothing_is_set_by_nobody() -> None:
    assert [default_region(cloud) for cloud in ("aws", "gcp", "azure", "oci")] == [None] * 4
    assert [default_account(cloud) for cloud in ("aws", "gcp", "azure", "oci")] == [None] * 4


def test_aws_variables_go_before_the_profile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / ".aws/config", "[default]\nregion = eu-west-1\n[profile lab]\nregion=us-west-2\noutput = %x\n")
    assert region("aws")[0] == "eu-west-1"
    monkeypatch.setenv("AWS_PROFILE", "lab")
    assert region("aws") == ("us-west-2", f"{home}/.aws/config, [profile lab]")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    assert region("aws") == ("us-east-2", "AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_REGION", "ap-south-1")
    assert region("aws") == ("ap-south-1", "AWS_REGION")


def test_the_active_configuration_of_gcloud_holds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / ".config/gcloud"
    write(folder / "active_config", "lab\n")
    write(folder / "configurations/config_lab", "[core]\nproject = sorting\n[compute]\nzone = europe-west4-b\n")
    assert region("gcp")[0] == "europe-west4"
    found = default_account("gcp")
    assert found is not None and found.value == "sorting"
    monkeypatch.setenv("CLOUDSDK_COMPUTE_REGION", "us-central1")
    assert region("gcp") == ("us-central1", "CLOUDSDK_COMPUTE_REGION")


def test_the_defaults_of_az_hold(home: Path) -> None:
    write(home / ".azure/config", "[defaults]\nlocation = westus2\n")
    listed = [{"id": "other", "isDefault": False}, {"id": "mine", "isDefault": True}]
    write(home / ".azure/azureProfile.json", "\ufeff" + json.dumps({"subscriptions": listed}))
    found = default_account("azure")
    assert region("azure")[0] == "westus2" and found is not None and found.value == "mine"


@pytest.mark.parametrize(
    "text", ["region = eu-west-1", "[default]\nregion", "[default\n", "\x00", '{"subscriptions": 3}']
)
def test_a_file_that_cannot_be_read_says_nothing(home: Path, text: str) -> None:
    for name in (
        ".aws/config",
        ".azure/config",
        ".azure/azureProfile.json",
        ".config/gcloud/configurations/config_default",
    ):
        write(home / name, text)
    assert [region(cloud)[0] for cloud in ("aws", "gcp", "azure")] == [""] * 3
    assert [default_account(cloud) for cloud in ("gcp", "azure")] == [None] * 2

"""Defaults of the clouds' own tools: the region, and the project or subscription.

Environment variables come first, then the files of `aws`, `gcloud` and `az`; unreadable files are ignored.
"""

from __future__ import annotations

import configparser
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, kw_only=True)
class CloudDefault:
    """A default value and its source."""

    value: str
    source: str


def default_region(cloud: str) -> CloudDefault | None:
    """Return the region that the tool of a cloud would use; None if unset."""
    return next(_REGIONS.get(cloud, _nothing)(), None)


def default_account(cloud: str) -> CloudDefault | None:
    """Return the project of `gcloud` or the subscription of `az`; None if unset."""
    return next(_ACCOUNTS.get(cloud, _nothing)(), None)


def _nothing() -> Iterator[CloudDefault]:
    return iter(())


def _of_variables(*names: str) -> Iterator[CloudDefault]:
    yield from (CloudDefault(value=os.environ[name], source=name) for name in names if os.environ.get(name))


def _of_file(path: Path, section: str, key: str) -> Iterator[CloudDefault]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
        value = parser.get(section, key, fallback="")
    except (OSError, ValueError, configparser.Error):
        return
    if value:
        yield CloudDefault(value=value, source=f"{path}, [{section}]")


def _folder(variable: str, usual: str) -> Path:
    chosen = os.environ.get(variable)
    return Path(chosen) if chosen else Path.home() / usual


def _aws_regions() -> Iterator[CloudDefault]:
    yield from _of_variables("AWS_REGION", "AWS_DEFAULT_REGION")
    profile = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    section = profile if profile == "default" else f"profile {profile}"
    yield from _of_file(_folder("AWS_CONFIG_FILE", ".aws/config"), section, "region")


def _gcloud(section: str, key: str) -> Iterator[CloudDefault]:
    folder = _folder("CLOUDSDK_CONFIG", ".config/gcloud")
    try:
        active = (folder / "active_config").read_text("utf-8").strip()
    except (OSError, ValueError):
        active = "default"
    name = os.environ.get("CLOUDSDK_ACTIVE_CONFIG_NAME") or active
    yield from _of_file(folder / "configurations" / f"config_{name}", section, key)


def _gcp_regions() -> Iterator[CloudDefault]:
    yield from _of_variables("CLOUDSDK_COMPUTE_REGION")
    yield from _gcloud("compute", "region")
    for zone in (*_of_variables("CLOUDSDK_COMPUTE_ZONE"), *_gcloud("compute", "zone")):
        yield CloudDefault(value=zone.value.rpartition("-")[0], source=zone.source)


def _gcp_projects() -> Iterator[CloudDefault]:
    yield from _of_variables("CLOUDSDK_CORE_PROJECT")
    yield from _gcloud("core", "project")


def _azure_regions() -> Iterator[CloudDefault]:
    yield from _of_variables("AZURE_DEFAULTS_LOCATION")
    yield from _of_file(_folder("AZURE_CONFIG_DIR", ".azure") / "config", "defaults", "location")


def _azure_subscriptions() -> Iterator[CloudDefault]:
    path = _folder("AZURE_CONFIG_DIR", ".azure") / "azureProfile.json"
    try:
        listed = json.loads(path.read_text("utf-8-sig"))["subscriptions"]
        yield from (CloudDefault(value=str(item["id"]), source=str(path)) for item in listed if item.get("isDefault"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return


_REGIONS: Final[dict[str, Callable[[], Iterator[CloudDefault]]]] = {
    "aws": _aws_regions,
    "gcp": _gcp_regions,
    "azure": _azure_regions,
}
_ACCOUNTS: Final = {"gcp": _gcp_projects, "azure": _azure_subscriptions}

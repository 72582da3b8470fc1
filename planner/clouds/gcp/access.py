"""How Google Cloud is reached: whose credentials, which project, and the addresses of its services."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from planner.clouds.calls.sdk import sdk
from planner.clouds.cloud_errors import PermissionDeniedError
from planner.config.settings import load_settings
from planner.errors import BadInputError

_LOGIN: Final = "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
_OVERRIDE: Final = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"
"""Environment variables by which gcloud is sent to other addresses; they hold here too."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """Addresses are '' where the SDK's own holds."""

    project: str
    account: str
    credentials: Any = field(repr=False)
    compute_url: str = ""
    prices_url: str = ""
    manager_url: str = "https://cloudresourcemanager.googleapis.com"


def default_access() -> Access:
    """Return what the SDK finds in its environment, and the settings file.

    Raises BadInputError without the SDK or a project, PermissionDeniedError without credentials.
    """
    auth, faults = sdk("google.auth", extra="gcp"), sdk("google.auth.exceptions", extra="gcp")
    settings = load_settings(today=datetime.now(UTC).date()).of("gcp")
    try:
        credentials, usual = auth.default(scopes=_SCOPES)
    except faults.GoogleAuthError as error:
        raise PermissionDeniedError(f"Google Cloud: {error}; {_LOGIN}") from error
    project = os.environ.get("GOOGLE_CLOUD_PROJECT") or settings.account or usual
    if not project:
        raise BadInputError("Google Cloud: no project; set GOOGLE_CLOUD_PROJECT, or account under [gcp] in settings")
    manager = os.environ.get(f"{_OVERRIDE}CLOUDRESOURCEMANAGER")
    return Access(
        project=project,
        account=str(getattr(credentials, "service_account_email", "") or "this user"),
        credentials=credentials,
        compute_url=os.environ.get(f"{_OVERRIDE}COMPUTE") or settings.specs_url,
        prices_url=settings.prices_url,
        **({"manager_url": manager.rstrip("/")} if manager else {}),
    )


def has_credentials() -> bool:
    """Say whether the SDK finds credentials and a project, without asking Google. Raises BadInputError without SDK."""
    try:
        default_access()
    except PermissionDeniedError:
        return False
    except BadInputError:
        if not _sdk_is_there():
            raise
        return False
    return True


def _sdk_is_there() -> bool:
    from importlib.util import find_spec

    try:
        return find_spec("google.cloud.compute_v1") is not None
    except ModuleNotFoundError:
        return False

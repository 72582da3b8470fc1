"""Check for credentials of an object store, before the store's library waits for a metadata server."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from planner.errors import ProviderRefusedError


@dataclass(frozen=True, kw_only=True)
class _Store:
    """A store: its provider, the prefix of its variables, the file that also holds credentials, and how to get some."""

    owner: str
    prefix: str
    hint: str
    file: str = ""
    metadata: tuple[str, ...] = ("169.254.169.254",)


_STORES: Final = {
    "s3": _Store(
        owner="AWS",
        prefix="AWS_",
        hint="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; from a profile of the aws command: "
        'eval "$(aws configure export-credentials --format env)"',
        metadata=("169.254.169.254", "169.254.170.2"),
    ),
    "gs": _Store(
        owner="Google Cloud",
        prefix="GOOGLE_",
        hint="run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file",
        file=".config/gcloud/application_default_credentials.json",
        metadata=("169.254.169.254", "metadata.google.internal"),
    ),
    "az": _Store(
        owner="Azure",
        prefix="AZURE_",
        hint="set AZURE_STORAGE_ACCOUNT_KEY, or run `az login` and set AZURE_USE_AZURE_CLI=true",
    ),
}
_CREDENTIAL: Final = re.compile(
    r"KEY|TOKEN|CREDENTIAL|SIGNATURE|SAS|CLIENT|SERVICE_ACCOUNT|AZURE_CLI|IDENTITY|MSI|ROLE"
)
"""Part of the name of every variable that gives the store's library credentials, or makes it do without."""
_REFUSED: Final = re.compile(
    r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|token request|TokenRefreshFailed"
    r"|AuthenticationFailed|invalid_grant|Unauthenticated"
)
ACCOUNT: Final = "AZURE_STORAGE_ACCOUNT_NAME"
_LONGEST_LOOK_S: Final = 1.0


def require_credentials(url: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raise ProviderRefusedError, with advice on getting credentials, where a URL's store has none: none in the
    environment, none in a file, and no metadata server that would give some.
    """
    scheme = url.partition("://")[0]
    store = _STORES[scheme]
    if scheme == "az" and not any(environ.get(name) for name in (ACCOUNT, "AZURE_STORAGE_CONNECTION_STRING")):
        raise ProviderRefusedError(
            f"Azure: no storage account is named for {_cut(url)}", [f"set {ACCOUNT}"], code="no-account"
        )
    if any(value and name.startswith(store.prefix) and _CREDENTIAL.search(name) for name, value in environ.items()):
        return
    if store.file and (Path(environ.get("HOME", "/")) / store.file).exists():
        return
    if not _has_metadata_server(scheme):
        raise _missing(url)


def account_error(url: str, text: str) -> ProviderRefusedError | None:
    """Return the error of a store that nothing here opens, from the library's message; None for another failure."""
    store = _STORES[url.partition("://")[0]]
    if any(address in text for address in store.metadata):
        return _missing(url)
    if _REFUSED.search(text):
        return ProviderRefusedError(
            f"{store.owner}: the credentials for {_cut(url)} are not valid, or have expired",
            [store.hint, text[:300]],
            code="credentials-invalid",
        )
    return None


def _missing(url: str) -> ProviderRefusedError:
    store = _STORES[url.partition("://")[0]]
    return ProviderRefusedError(
        f"{store.owner}: no credentials found for {_cut(url)}", [store.hint], code="no-credentials"
    )


def _cut(url: str) -> str:
    """Return the bucket of a URL, cut to fit a line."""
    bucket = "/".join(url.split("/", 3)[:3])
    return bucket if len(bucket) <= 40 else f"{bucket[:37]}..."


@lru_cache(maxsize=len(_STORES))
def _has_metadata_server(scheme: str) -> bool:
    """Return whether there is a metadata server; Google's identifies itself, and any other gives no Google tokens."""
    connection = HTTPConnection("169.254.169.254", timeout=_LONGEST_LOOK_S)
    try:
        connection.request("GET", "/", headers={"Metadata-Flavor": "Google"})
        answer = connection.getresponse()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return scheme != "gs" or answer.headers.get("Metadata-Flavor") == "Google"

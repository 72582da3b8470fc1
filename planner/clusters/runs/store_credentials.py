"""Access of rented machines to an object store: by their own identity, or by credentials that the caller lends.

An identity (an instance profile, a service account, a managed identity) provides keys that rotate automatically, and
nothing secret is sent. Lent credentials come from the caller's environment and travel on SSH's standard input into the
environment of the processes that need them: they are in no request to the cloud, no file, no log and no command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from planner.errors import BadInputError

SCHEME_OF_CLOUD: Final = {"aws": "s3", "gcp": "gs", "azure": "az"}
"""The object store that a cloud's machines can reach: the cloud's own, by a private route."""
_SETTINGS: Final = {
    "s3": ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ALLOW_HTTP"),
    "gs": (),
    "az": ("AZURE_STORAGE_ACCOUNT_NAME",),
}
_NEEDED: Final = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "gs": ("GOOGLE_SERVICE_ACCOUNT_KEY",),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY",),
}
_FURTHER: Final = {"s3": ("AWS_SESSION_TOKEN",), "gs": (), "az": ()}


@dataclass(frozen=True, kw_only=True)
class StoreAccess:
    """The `identity` with which machines are launched, '' for none, and the `environment` lent to them, which may be
    secret.
    """

    identity: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


def access_to(
    uris: Sequence[str], *, cloud: str, identity: str | None, is_lent: bool, environ: Mapping[str, str]
) -> StoreAccess:
    """Return the access of a cloud's machines to these URIs; empty if there are no URIs.

    Raises BadInputError for another cloud's store, when no way of access is given, and when there is nothing to lend.
    """
    if not uris:
        if identity or is_lent:
            raise BadInputError(
                "--node-identity and --lend-credentials go with --input or --output", code="missing-companion"
            )
        return StoreAccess()
    scheme = SCHEME_OF_CLOUD[cloud]
    if foreign := [uri for uri in uris if not uri.startswith(f"{scheme}://")]:
        raise BadInputError(
            f"{foreign[0]}: machines on {cloud} reach only their own cloud's object store",
            [f"name {scheme}://bucket/path"],
            code="other-cloud",
        )
    if bool(identity) == is_lent:
        raise BadInputError(
            "--input and --output need one of --node-identity NAME and --lend-credentials",
            [
                "--node-identity NAME launches the machines with an identity that may read and write there",
                f"--lend-credentials sends them {', '.join(_NEEDED[scheme])} of this environment by SSH",
            ],
            code="no-store-access",
        )
    if is_lent and (missing := [name for name in _NEEDED[scheme] if not environ.get(name)]):
        raise BadInputError(
            f"--lend-credentials: {', '.join(missing)} not set in this environment", code="no-credentials"
        )
    names = (*_SETTINGS[scheme], *(_NEEDED[scheme] + _FURTHER[scheme] if is_lent else ()))
    return StoreAccess(
        identity=identity or "", environment={name: environ[name] for name in names if environ.get(name)}
    )

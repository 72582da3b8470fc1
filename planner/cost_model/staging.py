"""Where the data of a run comes from and goes to, and over how many zones its nodes stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.errors import BadInputError
from planner.schemas.plan import Request

_CLOUD_OF_SCHEME: Final = {
    "s3": "aws", "s3a": "aws", "gs": "gcp", "az": "azure", "abfs": "azure", "abfss": "azure", "wasbs": "azure",
    "oci": "oci",
}  # fmt: skip
_MOST_ZONES: Final = 16


@dataclass(frozen=True, kw_only=True)
class Staging:
    """`source` and `sink` are the clouds whose object store holds the input and takes the output: '' for data that is
    generated on the nodes' disks, or stays on them.
    """

    source: str = ""
    sink: str = ""
    zones: int = 1


def staging_of(request: Request) -> Staging:
    """Return what a request says of its data's places. Raises BadInputError for what is no address of an object store,
    and for a number of zones that no region has.
    """
    if not 1 <= request.zones <= _MOST_ZONES:
        raise BadInputError(f"--zones {request.zones}: a region has 1 to {_MOST_ZONES} zones")
    return Staging(
        source=_cloud(request.input, option="--input"),
        sink=_cloud(request.output, option="--output"),
        zones=request.zones,
    )


def _cloud(address: str | None, *, option: str) -> str:
    if address is None:
        return ""
    scheme, separator, rest = address.partition("://")
    if not separator or not rest.strip("/") or scheme.lower() not in _CLOUD_OF_SCHEME:
        schemes = ", ".join(f"{name}://" for name in _CLOUD_OF_SCHEME)
        raise BadInputError(
            f"{option} {address}: not the address of an object store, such as s3://bucket/path ({schemes})"
        )
    return _CLOUD_OF_SCHEME[scheme.lower()]

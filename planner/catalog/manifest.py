"""`catalog.toml`: the title of a catalog, its cloud and day, and the sources of its rows."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Final, Literal

from planner.catalog.columns import Evidence
from planner.catalog.facts import Source
from planner.catalog.tables import Problem
from planner.schemas.door import Between, Count
from planner.schemas.json_values import Reader

FILE_NAME: Final = "catalog.toml"
_DAY_S: Final = 86400.0


@dataclass(frozen=True, kw_only=True)
class Billing:
    """A cloud's rounding of an instance's run time: up to whole steps, and at least to the minimum."""

    step_s: Annotated[float, Between(0, _DAY_S, above=True)]
    minimum_s: Annotated[float, Between(0, _DAY_S)]
    evidence: Evidence
    source: str


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Spot interruptions per hour of one node."""

    interruptions_per_node_hour: Annotated[float, Between(0, 60, above=True)]
    evidence: Evidence
    source: str


@dataclass(frozen=True, kw_only=True)
class Boot:
    """Seconds from the launch call to the first program of a node of this cloud, over `launches` of all types.

    `node_sigma` is the standard deviation of ln seconds between nodes of one family: the rest of the spread over all
    launches is shared by the nodes of a cluster.
    """

    launches: Count
    median_s: Annotated[float, Between(0, _DAY_S, above=True)]
    p90_s: Annotated[float, Between(0, _DAY_S, above=True)]
    p95_s: Annotated[float, Between(0, _DAY_S, above=True)]
    node_sigma: Annotated[float, Between(0, 5)]
    evidence: Evidence
    source: str


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Number of machines that one placement group takes."""

    machines_most: Count
    evidence: Evidence
    source: str


@dataclass(frozen=True, kw_only=True)
class Launched:
    """Cost of a launch beside its machines: a root volume each, and the head's public address; None where unknown."""

    root_usd_per_month: Annotated[float, Between(0, 1000)] | None = None
    address_usd_per_hour: Annotated[float, Between(0, 10)] | None = None
    evidence: Evidence
    source: str

    def usd_per_hour(self, hours_per_month: float) -> tuple[float, float]:
        """Return the US dollars an hour of a root volume and of an address, NaN where unknown."""
        root, address = self.root_usd_per_month, self.address_usd_per_hour
        return math.nan if root is None else root / hours_per_month, math.nan if address is None else address


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The head of a catalog; `hours_per_month` turns its monthly volume prices into hourly ones. Prices are in dollars:
    none is converted.
    """

    title: str
    cloud: str
    currency: Literal["USD"]
    default_region: str
    prices_as_of: date
    hours_per_month: Annotated[float, Between(600, 800, above=True, below=True)]
    sources: Mapping[str, Source] = field(default_factory=dict)
    note: str = ""
    billing: Billing | None = None
    spot: Spot | None = None
    boot: Boot | None = None
    placement: Placement | None = None
    launched: Launched | None = None
    network_ceilings: bool = False
    """Whether the cloud states a limit of each type's network, not a rate that it keeps."""


def scan_manifest(directory: Path) -> tuple[Manifest | None, list[Problem]]:
    """Read a catalog's head; return None with the problems if it is invalid."""
    path, reader = directory / FILE_NAME, Reader(is_strict=True)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return None, [Problem(path=path, expected=f"cannot be read as TOML ({error})")]
    manifest: Manifest | None = reader.read(Manifest, raw)
    if manifest and manifest.boot and not manifest.boot.median_s <= manifest.boot.p90_s <= manifest.boot.p95_s:
        reader.note("boot", "out-of-range", "median_s, p90_s and p95_s must not fall")
    problems = [Problem(path=path, column=found.field, expected=found.text) for found in reader.findings]
    return (None if problems else manifest), problems

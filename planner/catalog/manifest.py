"""`catalog.toml`: the title of a catalog, its cloud and day, and the sources of its rows."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, Final

from planner.catalog.columns import EVIDENCE
from planner.catalog.facts import Source
from planner.catalog.tables import Problem

FILE_NAME: Final = "catalog.toml"
_TEXTS: Final = ("title", "cloud", "currency", "default_region")
_OPTIONAL: Final = ("note", "sources", "billing", "spot", "boot", "placement")
_FIELDS: Final = (*_TEXTS, "prices_as_of", "hours_per_month")


@dataclass(frozen=True, kw_only=True)
class Billing:
    """A cloud's rounding of an instance's run time: up to whole steps, and at least to the minimum."""

    step_s: float
    minimum_s: float
    evidence: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Spot interruptions per hour of one node."""

    interruptions_per_node_hour: float
    evidence: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Boot:
    """Seconds from the launch call to the first program of a node of this cloud, over `launches` of all types.

    `node_sigma` is the standard deviation of ln seconds between nodes of one family: the rest of the spread over all
    launches is shared by the nodes of a cluster.
    """

    launches: int
    median_s: float
    p90_s: float
    p95_s: float
    node_sigma: float
    evidence: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Number of machines that one placement group takes."""

    machines_most: int
    evidence: str
    source: str


_PARTS: Final = {"billing": Billing, "spot": Spot, "boot": Boot, "placement": Placement}


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The head of a catalog; `hours_per_month` turns its monthly volume prices into hourly ones."""

    title: str
    cloud: str
    currency: str
    default_region: str
    prices_as_of: date
    hours_per_month: float
    sources: Mapping[str, Source]
    note: str = ""
    billing: Billing | None = None
    spot: Spot | None = None
    boot: Boot | None = None
    placement: Placement | None = None


def scan_manifest(directory: Path) -> tuple[Manifest | None, list[Problem]]:
    """Read a catalog's head; return None with the problems if it is invalid."""
    path = directory / FILE_NAME
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return None, [Problem(path=path, expected=f"cannot be read as TOML ({error})")]
    problems = [Problem(path=path, column=name, expected=text) for name, text in _complaints(raw)]
    if problems:
        return None, problems
    sources = {key: Source(**entry) for key, entry in raw.get("sources", {}).items()}
    parts: dict[str, Any] = {name: part(**raw[name]) for name, part in _PARTS.items() if name in raw}
    return Manifest(**{name: raw[name] for name in _FIELDS}, note=raw.get("note", ""), sources=sources, **parts), []


def _complaints(raw: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (field, error) for all errors in the file."""
    complaints = [(name, "is required and missing") for name in _FIELDS if name not in raw]
    complaints += [(name, "is no known field") for name in raw if name not in (*_FIELDS, *_OPTIONAL)]
    complaints += [(name, "must be text") for name in (*_TEXTS, "note") if not isinstance(raw.get(name, ""), str)]
    if not isinstance(raw.get("prices_as_of", date.min), date):
        complaints.append(("prices_as_of", "must be a date, written YYYY-MM-DD without quotes"))
    hours = raw.get("hours_per_month", 720)
    if not _is_number(hours) or not 600 < hours < 800:
        complaints.append(("hours_per_month", "must be a number of hours in a month, such as 720 or 730"))
    if raw.get("currency", "USD") != "USD":
        complaints.append(("currency", "must be USD: prices are not converted"))
    complaints += _billing_complaints(raw.get("billing"))
    complaints += _spot_complaints(raw.get("spot"))
    complaints += _boot_complaints(raw.get("boot"))
    complaints += _placement_complaints(raw.get("placement"))
    return complaints + _source_complaints(raw.get("sources", {}))


def _billing_complaints(billing: object) -> list[tuple[str, str]]:
    if not isinstance(billing, dict) or billing.keys() != {field.name for field in fields(Billing)}:
        return [] if billing is None else [("billing", "must be a table of step_s, minimum_s, evidence and source")]
    words = "must be seconds, above 0 for a step and at most a day's"
    bounds = {"step_s": 1e-9, "minimum_s": 0}
    bad = [
        name for name, least in bounds.items() if not _is_number(billing[name]) or not least <= billing[name] <= 86400
    ]
    return [(f"billing.{name}", words) for name in bad] + _evidence_complaints("billing", billing["evidence"])


def _spot_complaints(spot: object) -> list[tuple[str, str]]:
    if not isinstance(spot, dict) or spot.keys() != {field.name for field in fields(Spot)}:
        words = "must be a table of interruptions_per_node_hour, evidence and source"
        return [] if spot is None else [("spot", words)]
    rate = spot["interruptions_per_node_hour"]
    bad = not _is_number(rate) or not 0 < rate <= 60
    complaints = [("spot.interruptions_per_node_hour", "must be a number above 0 and at most 60")] * bad
    return complaints + _evidence_complaints("spot", spot["evidence"])


def _boot_complaints(boot: object) -> list[tuple[str, str]]:
    if not isinstance(boot, dict) or boot.keys() != {field.name for field in fields(Boot)}:
        words = f"must be a table of {', '.join(field.name for field in fields(Boot))}"
        return [] if boot is None else [("boot", words)]
    rising = [boot[name] for name in ("median_s", "p90_s", "p95_s")]
    if not all(map(_is_number, rising)) or not 0 < rising[0] <= rising[1] <= rising[2] <= 86400:
        return [("boot", "median_s, p90_s and p95_s must be seconds above 0 that do not fall, at most a day")]
    sigma = boot["node_sigma"]
    bad = not _is_number(sigma) or not 0 <= sigma <= 5
    complaints = [("boot.node_sigma", "must be a number at least 0 and at most 5")] * bad
    return complaints + _evidence_complaints("boot", boot["evidence"])


def _placement_complaints(placement: object) -> list[tuple[str, str]]:
    if not isinstance(placement, dict) or placement.keys() != {field.name for field in fields(Placement)}:
        words = "must be a table of machines_most, evidence and source"
        return [] if placement is None else [("placement", words)]
    most = placement["machines_most"]
    bad = not isinstance(most, int) or isinstance(most, bool) or most < 1
    complaints = [("placement.machines_most", "must be a whole number of machines, at least 1")] * bad
    return complaints + _evidence_complaints("placement", placement["evidence"])


def _evidence_complaints(table: str, word: object) -> list[tuple[str, str]]:
    return [] if word in EVIDENCE else [(f"{table}.evidence", f"must be one of {', '.join(EVIDENCE)}")]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _source_complaints(sources: object) -> list[tuple[str, str]]:
    if not isinstance(sources, dict):
        return [("sources", "must be a table of sources")]
    complaints = []
    for key, entry in sources.items():
        well_formed = isinstance(entry, dict) and "title" in entry and entry.keys() <= {"title", "url", "licence"}
        if not well_formed or not all(isinstance(value, str) for value in entry.values()):
            complaints.append((f"sources.{key}", "must have a title, and may have a url and a licence, all text"))
    return complaints

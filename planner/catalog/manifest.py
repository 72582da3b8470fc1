"""`catalog.toml`: what a catalog is, which cloud and day it describes, and the sources its rows refer to."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from planner.catalog.facts import Source
from planner.tables import Problem

FILE_NAME: Final = "catalog.toml"
_TEXTS: Final = ("title", "cloud", "currency", "default_region")
_FIELDS: Final = (*_TEXTS, "prices_as_of", "hours_per_month")


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


def scan_manifest(directory: Path) -> tuple[Manifest | None, list[Problem]]:
    """Read a catalog's head; returns None with the problems when it cannot be used."""
    path = directory / FILE_NAME
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return None, [Problem(path=path, expected=f"cannot be read as TOML ({error})")]
    problems = [Problem(path=path, column=name, expected=text) for name, text in _complaints(raw)]
    if problems:
        return None, problems
    sources = {key: Source(**entry) for key, entry in raw.get("sources", {}).items()}
    return Manifest(**{name: raw[name] for name in _FIELDS}, sources=sources, note=raw.get("note", "")), []


def _complaints(raw: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (field, what is wrong) for everything wrong in the file."""
    found = [(name, "is required and missing") for name in _FIELDS if name not in raw]
    found += [(name, "is no known field") for name in raw if name not in (*_FIELDS, "note", "sources")]
    found += [(name, "must be text") for name in (*_TEXTS, "note") if not isinstance(raw.get(name, ""), str)]
    if not isinstance(raw.get("prices_as_of", date.min), date):
        found.append(("prices_as_of", "must be a date, written YYYY-MM-DD without quotes"))
    hours = raw.get("hours_per_month", 720)
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 600 < hours < 800:
        found.append(("hours_per_month", "must be a number of hours in a month, such as 720 or 730"))
    if raw.get("currency", "USD") != "USD":
        found.append(("currency", "must be USD: prices are not converted"))
    return found + _source_complaints(raw.get("sources", {}))


def _source_complaints(sources: object) -> list[tuple[str, str]]:
    if not isinstance(sources, dict):
        return [("sources", "must be a table of sources")]
    found = []
    for key, entry in sources.items():
        known = isinstance(entry, dict) and "title" in entry and entry.keys() <= {"title", "url", "licence"}
        if not known or not all(isinstance(value, str) for value in entry.values()):
            found.append((f"sources.{key}", "must have a title, and may have a url and a licence, all text"))
    return found

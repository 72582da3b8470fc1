"""Every shipped data file states its sources, each under a licence that permits redistribution."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

CHECKOUT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("models", "catalogs")
PUBLIC: Final = ("Apache-2.0", "BSD-3-Clause", "CC BY 4.0", "CC BY-SA 4.0", "MIT")
FACTS: Final = (
    "facts cited from the paper",
    "no source",
    "not stated by the source",
    "single facts",
    "single facts only",
)
LICENCES: Final = {*PUBLIC, *FACTS}
"""Accepted beginnings of a licence, up to its first semicolon. Any other is refused until someone has read it."""


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


ENTRIES: Final[list[dict[str, Any]]] = read(CHECKOUT / "catalogs" / "sources.toml")["source"]
SHIPPED: Final = sorted(
    path.relative_to(CHECKOUT).as_posix()
    for folder in FOLDERS
    for path in (CHECKOUT / folder).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
)


def complaints(sources: list[dict[str, Any]]) -> list[str]:
    """Return the faults in a file's sources; there must be at least one source."""
    wrong = [] if sources else ["no source"]
    for source in sources:
        licence = source.get("licence", "")
        if not source.get("title"):
            wrong.append(f"no title: {source}")
        if licence.partition(";")[0] not in LICENCES:
            wrong.append(f"{source.get('title')}: licence {licence!r}")
    return wrong


def sources_of(name: str) -> list[dict[str, Any]]:
    """Return the sources of a shipped file: for a catalog, those named in its rows; else the entries that list it."""
    path = CHECKOUT / name
    manifest = path.parent / "catalog.toml"
    if not manifest.is_file():
        return [entry for entry in ENTRIES if name in entry["files"]]
    of_catalog = read(manifest)["sources"]
    if path.suffix != ".csv":
        return list(of_catalog.values())
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        assert "source" in (reader.fieldnames or ()), f"{name} has no column source"
        named = {row["source"] for row in reader}
    # A table without rows still has a header; it counts with all the catalog's sources.
    return [of_catalog[key] for key in named] or list(of_catalog.values())


def test_the_wheel_ships_these_folders_as_data() -> None:
    included = read(CHECKOUT / "pyproject.toml")["tool"]["scikit-build"]["wheel"]["force-include"]
    assert {folder for folder, to in included.items() if to.startswith("planner/")} == set(FOLDERS)


def test_every_shipped_file_states_sources_with_licences_that_allow_passing_it_on() -> None:
    assert {name: wrong for name in SHIPPED if (wrong := complaints(sources_of(name)))} == {}


def test_an_entry_has_an_address_and_a_date_and_lists_files_that_are_shipped() -> None:
    assert sorted({name for entry in ENTRIES for name in entry["files"]} - set(SHIPPED)) == []
    assert [entry["title"] for entry in ENTRIES if not re.fullmatch(r"\d{4}(-\d\d){0,2}", entry.get("as_of", ""))] == []
    assert [entry["title"] for entry in ENTRIES if not re.match("https?://", entry.get("url", "http://"))] == []
    public = [entry for entry in ENTRIES if entry["licence"].startswith(PUBLIC) and "made here" not in entry["licence"]]
    assert [entry["title"] for entry in public if "url" not in entry] == []


@pytest.mark.parametrize(
    "licence", ["", "CC BY-NC 4.0", "CC BY-ND 4.0", "all rights reserved", "proprietary; no redistribution", "MIT-like"]
)
def test_a_missing_or_forbidding_licence_would_be_found(licence: str) -> None:
    assert complaints([{"title": "t", "licence": licence}])


def test_a_file_without_an_entry_would_be_found() -> None:
    assert complaints(sources_of("catalogs/nobody_listed_it.csv")) == ["no source"]


def test_the_document_names_every_licence_and_what_is_shared_alike() -> None:
    document = (CHECKOUT / "docs" / "catalogs.md").read_text(encoding="utf-8")
    table = dict(
        re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", document.partition("## Sources and licences")[2], re.MULTILINE)
    )
    of_file = {name: sources_of(name) for name in SHIPPED}
    used = {source["licence"].partition(";")[0] for sources in of_file.values() for source in sources}
    assert used == {licence for row in table for licence in row.split(", ") if licence in LICENCES}
    alike = {name for name, sources in of_file.items() if name.endswith(".csv") and any(map(is_shared_alike, sources))}
    assert set(re.findall(r"`(catalogs/[^`]+)`", table["CC BY-SA 4.0"])) == alike


def is_shared_alike(source: dict[str, Any]) -> bool:
    """Return whether rows were copied from the source; single facts do not count."""
    return source["licence"].startswith("CC BY-SA") and "single facts" not in source["licence"]

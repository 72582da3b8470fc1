"""Refreshed catalogs on disk: written next to the one in use, checked as a whole, and swapped in at once."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from planner.catalog import Catalog, Source
from planner.catalog.loading import scan_catalog
from planner.catalog.manifest import FILE_NAME
from planner.catalog.refreshed import CURRENT, current_version, refreshed_directory
from planner.catalog.schema import INSTANCES, PRICES
from planner.catalog.tables import scan_table
from planner.catalog.tables.writing import write_rows
from planner.clouds.price_lists.reading import Reading, Row
from planner.config.atomic_file import replace_file, sync_to_disk
from planner.errors import IoFailureError

_SPECS: Final = "refreshed-specs"
_PRICES: Final = "refreshed-prices"
_PARTIAL: Final = ".partial-"


@dataclass(frozen=True, kw_only=True)
class Written:
    """A complete, checked version that is not in use yet, as a catalog; `older_prices` counts kept prices of offered
    types missing from the price list.
    """

    path: Path
    catalog: Catalog
    older_prices: int


@contextmanager
def version_of(before: Catalog, reading: Reading, *, today: date) -> Iterator[Written]:
    """Yield a new version of the catalog `before`; it is deleted afterwards unless `put_in_place` took it.

    Raises IoFailureError when it cannot be written, or when the data read make no sound catalog.
    """
    home = refreshed_directory(before.name)
    partial = home / f"{_PARTIAL}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with _as_failure(home):
            partial.mkdir(parents=True)
            older_prices = _write(partial, before, reading, today=today)
        catalog, problems = scan_catalog(before.path, version=partial)
        if catalog is None:
            raise IoFailureError(
                f"what {before.cloud} said makes no sound catalog; nothing was changed",
                [str(p) for p in problems[:20]],
                code="unsound-catalog",
            )
        yield Written(path=partial, catalog=catalog, older_prices=older_prices)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def put_in_place(written: Written, *, today: date) -> Path:
    """Put a version into use and return its directory; the previous one is kept, older ones are removed."""
    home = written.path.parent
    version = home / f"{today.isoformat()}-{secrets.token_hex(4)}"
    before = (home / CURRENT).resolve() if (home / CURRENT).exists() else None
    pointer = home / f"{written.path.name}-link"
    try:
        with _as_failure(home):
            pointer.symlink_to(version.name)
            written.path.rename(version)
            pointer.replace(home / CURRENT)
            sync_to_disk(home)
    finally:
        pointer.unlink(missing_ok=True)
    _sweep(home)
    for old in home.iterdir():
        if old.is_dir() and not old.is_symlink() and not old.name.startswith(_PARTIAL) and old not in (version, before):
            shutil.rmtree(old, ignore_errors=True)
    return version


def _sweep(home: Path) -> None:
    """Remove unfinished versions of processes that were killed."""
    for partial in home.glob(f"{_PARTIAL}*"):
        try:
            os.kill(int(partial.name.removeprefix(_PARTIAL).partition("-")[0]), 0)
        except ProcessLookupError:
            shutil.rmtree(partial, ignore_errors=True)
            partial.unlink(missing_ok=True)
        except (ValueError, PermissionError):
            continue  # not made by us, or by another process that still runs


def forget(name: str) -> bool:
    """Return to the shipped catalog; return whether another was in use. Raises IoFailureError on failure."""
    home = refreshed_directory(name)
    if not (home / CURRENT).is_symlink():
        return False
    with _as_failure(home):
        (home / CURRENT).unlink()
        shutil.rmtree(home)
    return True


@contextmanager
def _as_failure(home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IoFailureError(
            f"{error.filename or home}: {error.strerror}; the catalog is as it was", code="io"
        ) from error


def _write(directory: Path, before: Catalog, reading: Reading, *, today: date) -> int:
    """Write the three files of a version; return how many older prices it keeps."""
    seen = {"evidence": "spec", "as_of": today.isoformat()}
    shapes = [seen | {"source": _SPECS} | row for row in reading.shapes]  # known shapes keep their source
    prices = [row | seen | {"source": _PRICES} for row in reading.prices]
    older_prices = list(_kept_prices(before, reading))
    in_use = _version_in_use(before)
    listed, regions = {row["instance_type"] for row in shapes}, set(reading.offered)
    shapes += (row for row in in_use["instances"] if row["instance_type"] not in listed)
    prices += older_prices
    prices += (row for row in in_use["prices"] if row["region"] not in regions)
    write_rows(directory, INSTANCES, shapes)
    write_rows(directory, PRICES, prices)
    sources = {_SPECS: reading.specs_source, _PRICES: reading.prices_source}
    replace_file(directory / FILE_NAME, _head(before, {**before.sources, **sources}, today=today))
    sync_to_disk(directory)
    return len(older_prices)


def _kept_prices(before: Catalog, reading: Reading) -> Iterator[Row]:
    """Yield the older prices of types that a region offers without a new price."""
    priced = {(row["instance_type"], row["region"], row["pricing"]) for row in reading.prices}
    for row in before.tables["prices"].rows():
        key = (row["instance_type"], row["region"], row["pricing"])
        if row["instance_type"] in reading.offered.get(row["region"], ()) and key not in priced:
            yield row


def _version_in_use(before: Catalog) -> dict[str, list[Row]]:
    """Return the rows of the version being refreshed, none when there is none."""
    version = current_version(before.path)
    if version is None:
        return {"instances": [], "prices": []}
    return {
        schema.name: list(scan_table(version / f"{schema.name}.csv", schema)[0].rows())
        for schema in (INSTANCES, PRICES)
    }


def _head(before: Catalog, sources: Mapping[str, Source], *, today: date) -> str:
    """Return catalog.toml; JSON strings are valid TOML strings."""
    about = {"title": before.title, "cloud": before.cloud, "currency": "USD", "default_region": before.default_region}
    lines = [f"{name} = {json.dumps(text)}" for name, text in about.items()]
    lines += [f"prices_as_of = {today.isoformat()}", f"hours_per_month = {before.hours_per_month:g}"]
    for key, source in sources.items():
        lines += ["", f"[sources.{json.dumps(key)}]", f"title = {json.dumps(source.title)}"]
        lines += [
            f"{name} = {json.dumps(text)}" for name, text in (("url", source.url), ("licence", source.licence)) if text
        ]
    return "\n".join(lines) + "\n"

"""Regions of the clouds, priced in a catalog or not, and their lookup by name.

`regions.csv` lists the regions open to everyone, with their console names. Sources: AWS, the endpoints that botocore
1.44 ships; Azure, https://learn.microsoft.com/azure/reliability/regions-list; Google Cloud,
https://cloud.google.com/workload-manager/docs/evaluate/locations. A region missing there counts once a refresh has read
its prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Final

from planner.catalog.catalog import Catalog
from planner.catalog.refreshed import refresh_command
from planner.catalog.tables import Column, Schema, read_table
from planner.config.paths import catalogs_directory
from planner.errors import BadInputError, nearest, some_of

REGIONS: Final = Schema(
    name="regions",
    meaning="the regions of each cloud",
    key=("cloud", "region"),
    columns=(
        Column(name="cloud", meaning="the provider"),
        Column(name="region", meaning="the cloud's name of the region"),
        Column(name="name", meaning="what the cloud's console calls it"),
    ),
)


def regions_of(named: Sequence[str], catalogs: Sequence[Catalog]) -> list[tuple[str, ...]]:
    """Return the regions of each catalog: the requested regions that its cloud has, or its default if none is
    requested. `aws=us-east-1` is for one cloud alone; console names, such as `West Europe`, are accepted, and so
    are `all` and patterns.

    Raises BadInputError for a region that no catalog's cloud has, and for a cloud without a region.
    """
    chosen: list[list[str]] = [[] for _ in catalogs]
    for word in named:
        for place, name in _find_places(word, catalogs):
            chosen[place] += [name] if name not in chosen[place] else []
    without = [catalog for names, catalog in zip(chosen, catalogs, strict=True) if named and not names]
    if lacking := [catalog for catalog in without if catalog.cloud in _listed_regions()]:
        raise _lacking_error(named, lacking)
    return [tuple(names) or (of.default_region,) for names, of in zip(chosen, catalogs, strict=True)]


def region_named(word: str, catalog: Catalog) -> str | None:
    """Return the region of a catalog's cloud for a name; None if it has none."""
    names = _console_names(catalog)
    if word.casefold() in names:
        return word.casefold()
    return next((region for region, name in names.items() if _fold_name(word) == _fold_name(name)), None)


EVERY: Final = "all"


def _find_places(word: str, catalogs: Sequence[Catalog]) -> list[tuple[int, str]]:
    """Return (index of the catalog, region) for each catalog with the region; `all`, or a pattern such as `europe-*`,
    is of the regions with prices. Raises BadInputError if none has it.
    """
    cloud, equals, region = word.rpartition("=")
    cloud = cloud.strip().casefold()
    places = [place for place, catalog in enumerate(catalogs) if not equals or cloud in (catalog.cloud, catalog.name)]
    if not places:
        there = ", ".join(catalog.name for catalog in catalogs)
        raise BadInputError(
            f"--region {word}: {cloud!r} is none of the clouds asked for, which are {there}", code="unknown-cloud"
        )
    pattern = "*" if region.strip().casefold() == EVERY else region.strip().casefold()
    if "*" in pattern:
        priced = [(place, name) for place in places for name in catalogs[place].regions()]
        if fitting := [(place, name) for place, name in priced if fnmatchcase(name, pattern)]:
            return fitting
    names = [(place, region_named(region.strip(), catalogs[place])) for place in places]
    if meant := [(place, name) for place, name in names if name is not None]:
        return meant
    raise BadInputError(_unknown_text(region.strip(), [catalogs[place] for place in places]), code="unknown-region")


def _lacking_error(named: Sequence[str], catalogs: Sequence[Catalog]) -> BadInputError:
    """Return the error of clouds that have none of the regions asked for: the regions that are meant, and how to read
    the prices of those without.
    """
    meant = {}
    for of in catalogs:
        meant[of] = next((name for word in named for name in _containing(word, [of])), of.default_region)
    there = " or ".join(catalog.name for catalog in catalogs)
    every = ",".join([*named, *meant.values()])
    add = f"add one{' of each' * (len(catalogs) > 1)}, such as --region {every}, or leave {there} out"
    unpriced = [
        f"{of.name} ships no prices of {region}: {command} reads them"
        for of, region in meant.items()
        if region not in of.regions() and (command := refresh_command(of.name, region=region))
    ]
    return BadInputError(
        f"--region {','.join(named)}: none of these is a region of {there}", [add, *unpriced], code="unknown-region"
    )


def _unknown_text(region: str, catalogs: Sequence[Catalog]) -> str:
    there = ", ".join(catalog.name for catalog in catalogs)
    owners = [cloud for cloud, names in _listed_regions().items() if region.casefold() in names]
    if owners:
        return f"--region {region} is of {owners[0]}, and asked for is {there}: say --cloud {owners[0]}, too"
    priced = some_of([name for catalog in catalogs for name in catalog.regions()])
    return f"--region {region}: there is none of this name in {there}.{_near(region, catalogs)} Priced: {priced}"


def _near(region: str, catalogs: Sequence[Catalog]) -> str:
    """Return a question with the regions whose console names contain the word, else with the nearest names."""
    if within := _containing(region, catalogs):
        return f" Did you mean {' or '.join(within[:3])}?"
    return nearest(region, [name for catalog in catalogs for name in _console_names(catalog)])


def _containing(word: str, catalogs: Sequence[Catalog]) -> list[str]:
    """Return the regions whose console names contain the word."""
    names = [pair for catalog in catalogs for pair in _console_names(catalog).items()]
    return [name for name, shown in names if _fold_name(word) and _fold_name(word) in _fold_name(shown)]


def _console_names(catalog: Catalog) -> dict[str, str]:
    """Return the console names of the regions that a catalog's cloud has, or that have prices."""
    priced = {*catalog.regions(), *catalog.regions("spot"), catalog.default_region}
    return {**dict.fromkeys(sorted(priced), ""), **_listed_regions().get(catalog.cloud, {})}


def _fold_name(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _listed_regions() -> Mapping[str, Mapping[str, str]]:
    """Return the console names of regions, by cloud and region."""
    return _load(catalogs_directory() / f"{REGIONS.name}.csv")


@lru_cache(maxsize=2)
def _load(path: Path) -> Mapping[str, Mapping[str, str]]:
    clouds: dict[str, dict[str, str]] = {}
    for row in read_table(path, REGIONS).rows():
        clouds.setdefault(row["cloud"], {})[row["region"]] = row["name"]
    return clouds

"""Reading the public prices of an unpriced region before planning there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from planner.cli.shell.console import talk

if TYPE_CHECKING:
    from planner.schemas.request import Request


def read_missing_prices(request: Request) -> None:
    """Read the public list of each requested region without prices, after a yes at a terminal.

    Otherwise planning refuses the region, and names the command. A price of the user's own needs no list.
    """
    from planner.cli.plan.catalog_refresh import read_prices

    for cloud, region in _unpriced(request):
        if not request.own_prices and _is_wanted(cloud, region):
            done = read_prices(cloud, [region], dry_run=False, public=True)
            talk(f"{cloud}: {done.prices:,} prices of {region}, kept for later plans")


def _unpriced(request: Request) -> Iterator[tuple[str, str]]:
    """Yield the requested catalogs and regions that have a public list but no prices."""
    from planner.catalog import load_catalog
    from planner.catalog.cloud_regions import regions_of
    from planner.catalog.refreshed import PUBLIC

    if not request.regions or "on-demand" not in request.pricings or "price" in request.assume:
        return
    catalogs = [load_catalog(name) for name in request.catalogs]
    for catalog, regions in zip(catalogs, regions_of(request.regions, catalogs), strict=True):
        priced = catalog.regions() if catalog.name in PUBLIC else regions
        yield from ((catalog.name, region) for region in regions if region not in priced)


def _is_wanted(cloud: str, region: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    size = ", some hundred megabytes" if cloud == "aws" else ""
    talk(f"No prices of {region} are here. Read the public price list of {cloud}{size}, without an account? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")

"""`planner catalog refresh`: the cloud's current types and prices instead of the shipped ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.cli.shell.completion import catalogs
from planner.cli.shell.console import show, show_json, show_text, table, talk

if TYPE_CHECKING:
    from planner.catalog import PriceChange
    from planner.clouds.price_lists import Refreshed
    from planner.clouds.price_lists.reading import Watch

_MOST_LINES = 15


def catalog_refresh(
    *,
    cloud: Annotated[
        list[str], Option(help="Clouds to read: aws, gcp, azure; comma-separated.", autocompletion=catalogs)
    ],
    region: Annotated[
        list[str] | None, Option(help="Regions to read.", show_default="those that the catalog prices")
    ] = None,
    public: Annotated[
        bool, Option("--public", help="Only prices, from the public list of aws or azure: no account is needed.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    forget: Annotated[bool, Option("--forget", help="Go back to the shipped catalogs; no cloud is asked.")] = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Refresh instance types and prices from the cloud's own API and price list, with your credentials for it.

    Example: planner catalog refresh --cloud aws --region us-east-1,eu-west-1

    Example: planner catalog refresh --cloud aws --region eu-central-1 --public
    """
    clouds = [name.strip() for value in cloud for name in value.split(",") if name.strip()]
    regions = [name.strip() for value in region or [] for name in value.split(",") if name.strip()]
    if forget:
        _forget(clouds, json=json)
        return
    read = [read_prices(name, regions, dry_run=dry_run, public=public) for name in clouds]
    if json:
        show_json({"refreshed": [_as_json(refreshed) for refreshed in read]})
        return
    for refreshed in read:
        _show(refreshed, dry_run=dry_run)


def read_prices(cloud: str, regions: list[str], *, dry_run: bool, public: bool) -> Refreshed:
    """Read a cloud's prices, with the user's settings, and show progress on stderr."""
    from planner.clouds.price_lists import Access, refresh
    from planner.config.settings import load_settings

    today = date.today()
    mine = load_settings(today=today).of(cloud)
    access = Access(account=mine.account, specs_url=mine.specs_url, prices_url=mine.prices_url)
    with _progress(cloud) as watch:
        return refresh(cloud, regions=regions, access=access, today=today, watch=watch, dry_run=dry_run, public=public)


@contextmanager
def _progress(cloud: str) -> Iterator[Watch]:
    """Yield a display of progress: a changing line on a terminal, else one line for each list."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(f"{cloud}: asking") as status:
            yield lambda what, count: status.update(f"{cloud}: {count:,} {what}")
        return
    counts: dict[str, int] = {}
    yield counts.__setitem__
    for what, count in counts.items():
        talk(f"{cloud}: {count:,} {what}")


def _forget(clouds: list[str], *, json: bool) -> None:
    from planner.catalog.loading import catalog_directory
    from planner.clouds.price_lists.writing import forget

    done = {name: forget(catalog_directory(name).name) for name in clouds}
    if json:
        show_json({"clouds": [{"cloud": name, "forgotten": forgotten} for name, forgotten in done.items()]})
        return
    for name, forgotten in done.items():
        show_text(f"{name}: {'the shipped catalog again' if forgotten else 'had not been refreshed'}")


def _as_json(refreshed: Refreshed) -> dict[str, Any]:
    changes = asdict(refreshed.changes)
    changes["prices"] = [{**asdict(p), "ratio": p.ratio} for p in refreshed.changes.prices]
    return {**asdict(refreshed), "changes": changes, "path": None if refreshed.path is None else str(refreshed.path)}


def _show(refreshed: Refreshed, *, dry_run: bool) -> None:
    changes = refreshed.changes
    show_text(
        f"{refreshed.cloud}: {refreshed.types:,} types and {refreshed.prices:,} prices "
        f"of {', '.join(refreshed.regions)}"
    )
    counts = {
        "types new": len(changes.added),
        "types no longer offered": len(changes.removed),
        "cells of shapes changed": len(changes.shapes),
        "prices up": len(changes.up),
        "prices down": len(changes.down),
        "prices new": len(changes.priced),
        "prices gone": len(changes.unpriced),
    }
    show_text("  " + ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "  nothing changed")
    show(*_tables(refreshed))
    for name, names in (("new", changes.added), ("no longer offered", changes.removed)):
        if names:
            show_text(f"  {name}: {_some(names)}")
    if refreshed.kept:
        show_text(f"  kept: {refreshed.kept:,} older prices of types that are offered and were not on the price list")
    for reason, count in refreshed.left_out.items():
        show_text(f"  left out: {count:,} {reason}")
    for note in refreshed.notes:
        show_text(f"  note: {note}")
    show_text("  nothing was written (--dry-run)" if dry_run else f"  in use from now on: {refreshed.path}")


def _tables(refreshed: Refreshed) -> Iterator[Any]:
    moved = [*refreshed.changes.up[:_MOST_LINES], *refreshed.changes.down[:_MOST_LINES]]
    if moved:
        yield table(("type", "region", "pricing", "before, $/h", "now, $/h", "change"), map(_price_cells, moved))
    if refreshed.changes.shapes:
        shapes = refreshed.changes.shapes[:_MOST_LINES]
        rows = [(cell.instance_type, cell.column, _cell(cell.before), _cell(cell.after)) for cell in shapes]
        yield table(("type", "column", "before", "now"), rows)


def _price_cells(price: PriceChange) -> list[str]:
    change = f"{(price.ratio or 1.0) - 1:+.1%}"
    return [price.instance_type, price.region, price.pricing, f"{price.before:.6g}", f"{price.after:.6g}", change]


def _cell(value: Any) -> str:
    return "blank" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_LINES:,} more" if len(names) > _MOST_LINES else ""
    return ", ".join(names[:_MOST_LINES]) + more

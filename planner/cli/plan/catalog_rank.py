"""`planner catalog rank` and `planner catalog usable`: value for money of types, and types that can be planned with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from planner.cli.shell.console import show, show_json, show_sentences, table, talk
from planner.schemas.request_forms import clouds, names
from planner.units import parse_rate

if TYPE_CHECKING:
    from planner.catalog import Catalog
    from planner.cost_model.prices import Offer
    from planner.planning.catalog_questions.price_performance import Worth

_JSON = Annotated[bool, Option("--json", help="Print as JSON.")]


def catalog_rank(
    *,
    by: Annotated[str, Option(help="usd_per_op, usd_per_MBps or usd_per_GFLOPS.")],
    catalog: Annotated[list[str] | None, Option(help="Catalogs by name or directory.", show_default="aws")] = None,
    region: Annotated[str | None, Option(help="Region; each catalog's default otherwise.")] = None,
    instance: Annotated[list[str] | None, Option(help="Only these types; patterns such as 'i4i.*' work.")] = None,
    mode: Annotated[str, Option(help="How disks are driven: read_only, write_only or simultaneous.")] = "read_only",
    operation: Annotated[
        str | None, Option(help="With usd_per_op: read4K, read4M, write4K, write4M, write4K/64 or all, as measured.")
    ] = None,
    network: Annotated[str | None, Option(help="Only types with this much sustained network: 25Gbit/s.")] = None,
    volume_rate: Annotated[str | None, Option(help="Only types that sustain this much to their volumes.")] = None,
    pricing: Annotated[str, Option(help="on-demand or spot.")] = "on-demand",
    top: Annotated[int, Option(help="How many to show.", min=1)] = 20,
    json: _JSON = False,
) -> None:
    """Rank instance types by what a dollar buys: operations, bandwidth (local disks or volumes) or arithmetic.

    Example: planner catalog rank --by usd_per_MBps --catalog aws,azure
    """
    from fnmatch import fnmatchcase

    from planner.catalog import load_catalog
    from planner.catalog.cloud_regions import regions_of
    from planner.planning.catalog_questions.price_performance import rank

    catalogs = [load_catalog(name) for name in clouds(names(catalog)) or ("aws",)]
    regions = regions_of(names([region] if region else []), catalogs)
    places = ((loaded, name) for loaded, several in zip(catalogs, regions, strict=True) for name in several)
    offers = [(loaded, _offer(loaded, name, pricing)) for loaded, name in places]
    asked = {"network": network, "volume rate": volume_rate}
    least = {link: parse_rate(text) for link, text in asked.items() if text is not None}
    ranking, patterns = rank(offers, by=by, mode=mode, operation=operation, least=least), names(instance)
    rows = [r for r in ranking.rows if not patterns or any(fnmatchcase(r.instance_type, p) for p in patterns)]
    shown = first_shown(rows, top=top)
    if json:
        show_json({**asdict(ranking), "mode": mode, "operation": operation, "rows": [asdict(row) for row in shown]})
        return
    if rows:
        whole = _operations_table(shown) if operation == "all" else _rank_table(shown, by=by)
        show(whole, drop_first=("evidence", "operations per $", "MB per $", "GFLOP per $"))
    elif operation:
        what = "small operations" if operation == "all" else operation
        talk(f"nobody measured {what} of these types: planner bench disk --suite small-io --json, then planner ingest")
    show_sentences(f"{ranking.unit}; {len(rows)} configurations")
    for reason, count in ranking.left_out.items():
        show_sentences(f"left out: {count:,} of {reason}")


def first_shown(rows: list[Worth], *, top: int) -> list[Worth]:
    """Return the rows of the first `top` types and storages; a type has a row for each operation."""
    keys = list(dict.fromkeys(_type_and_storage(row) for row in rows))[:top]
    return [row for row in rows if _type_and_storage(row) in keys]


def _type_and_storage(row: Worth) -> tuple[str, str, str]:
    return row.catalog, row.instance_type, row.storage


def _offer(catalog: Catalog, region: str, pricing: str) -> Offer:
    """Return a catalog's prices, with the user's own instead of list prices."""
    from planner.config.settings import load_settings
    from planner.planning.request.region import offer_of

    own = load_settings(today=date.today()).own_prices
    return offer_of(catalog, region, pricing=pricing, own_prices=own)


def _rank_table(rows: list[Worth], *, by: str) -> Any:
    inverse, rate, unit = {
        "usd_per_op": ("operations per $", "operations/s", 1.0),
        "usd_per_MBps": ("MB per $", "MB/s", 3600.0),
        "usd_per_GFLOPS": ("GFLOP per $", "GFLOP/s", 3600.0),
    }[by]
    columns = ["catalog", "instance type", "storage", "$/h", rate, by, inverse, "evidence"]
    cells = []
    for row in rows:
        quotients = [f"{row.value:.4g}", f"{unit / row.value:.4g}" if row.value else "no limit"]
        figures = [f"{row.price_usd_per_hour:.4g}", f"{row.rate:.6g}", *quotients]
        cells.append((row.catalog, row.instance_type, row.storage, *figures, row.evidence))
    return table(columns, cells)


def _operations_table(rows: list[Worth]) -> Any:
    """Return Scalyr's chart: operations per dollar, a row for each type and storage, a column for each operation."""
    from planner.planning.catalog_questions.price_performance import OPERATIONS

    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        line = lines.setdefault(_type_and_storage(row), {})
        line[row.operation] = f"{1 / row.value:,.0f}" if row.value else "no limit"
    cells = [(*key, *(line.get(name, "") for name in OPERATIONS)) for key, line in lines.items()]
    return table(["catalog", "instance type", "storage", *(f"{name} per $" for name in OPERATIONS)], cells)


def catalog_usable(
    catalog: Annotated[
        list[str] | None, Argument(help="Catalogs by name or directory; all shipped ones otherwise.")
    ] = None,
    *,
    json: _JSON = False,
) -> None:
    """Count the types that can be planned with under each model, and list what the others lack.

    Example: planner catalog usable aws gcp
    """
    from planner.catalog import catalog_names, load_catalog
    from planner.config.paths import model_names
    from planner.cost_model.model_reader import load_model
    from planner.cost_model.run_overheads import shipped
    from planner.planning.catalog_questions.price_performance import coverage

    models = [load_model(name) for name in model_names()]
    rows = [
        row for name in catalog or catalog_names() for row in coverage(load_catalog(name), models, overheads=shipped())
    ]
    if json:
        show_json({"coverage": [asdict(row) for row in rows]})
        return
    cells = [(row.catalog, row.model, f"{row.types:,}", f"{row.usable:,}", _others(row.reasons)) for row in rows]
    show(table(("catalog", "model", "types", "usable", "the others"), cells))


def _others(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())

"""`planner storage`: the cheapest storage for given operations, bytes a second and data."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.cli.shell.console import show, show_json, show_sentences, table
from planner.cli.shell.option_values import amount
from planner.errors import BadInputError, InfeasibleError, nearest
from planner.schemas.request_forms import clouds, names
from planner.units import count_text

if TYPE_CHECKING:
    from planner.catalog import Catalog
    from planner.planning.catalog_questions.storage_options import StorageAnswer, StorageOption


def storage(
    *,
    iops: Annotated[str | None, Option(help="Random operations a second, such as 16000 or 16k.")] = None,
    throughput: Annotated[str | None, Option(help="Bytes a second, such as 1.5GB/s.")] = None,
    data: Annotated[str | None, Option(help="What it must hold, such as 10TB.")] = None,
    instance: Annotated[str | None, Option(help="On this instance type; on any otherwise.")] = None,
    catalog: Annotated[
        list[str] | None,
        Option("--catalog", "--cloud", help="Catalogs by name or directory.", show_default="all clouds"),
    ] = None,
    region: Annotated[str | None, Option(help="Region; each catalog's default otherwise.")] = None,
    top: Annotated[int, Option(help="How many to show of each catalog.", min=1)] = 4,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Find the cheapest storage of a node for given IOPS, bytes a second and data, and the limit that sets its size.

    Block volumes, one or several striped, and local disks; the price of the cheapest type that carries it is included.

    Example: planner storage --iops 16k --throughput 1.5GB/s --data 10TB
    """
    answer = _answered(
        list(clouds(names(catalog))), instance=instance, region=region, iops=iops, throughput=throughput, data=data
    )
    if json:
        show_json(asdict(answer))
        return
    if not answer.options:
        lines = [f"{row.catalog} {row.storage}: {row.reason}" for row in answer.excluded]
        raise InfeasibleError("no storage is known to do that", lines, code="infeasible")
    show(_table(answer, top=top), drop_first=("evidence", "size set by", "$/month"))
    for row in answer.excluded:
        show_sentences(f"left out: {row.catalog} {row.storage}: {row.reason}")
    for what in dict.fromkeys(f"{o.instance_type}: {text} is unknown" for o in answer.options for text in o.unknown):
        show_sentences(f"note: {what}")


def _answered(
    catalogs: list[str],
    *,
    instance: str | None,
    region: str | None,
    iops: str | None,
    throughput: str | None,
    data: str | None,
) -> StorageAnswer:
    from planner.config.settings import load_settings
    from planner.planning.catalog_questions.storage_options import Need, has_requirements, storage_options
    from planner.planning.request.region import offer_of
    from planner.units import parse_rate, parse_size

    need = Need(
        iops=_operations(iops) if iops else 0.0,
        bytes_per_s=amount("--throughput", parse_rate, throughput) if throughput else 0.0,
        data_bytes=float(amount("--data", parse_size, data)) if data else 0.0,
    )
    if not has_requirements(need):
        raise BadInputError(
            "say what the storage must do: --iops, --throughput, --data, or several of them", code="missing-argument"
        )
    own = load_settings(today=date.today()).own_prices
    loaded = _holding(catalogs, instance)
    offers = [(c, offer_of(c, region or c.default_region, pricing="on-demand", own_prices=own)) for c in loaded]
    return storage_options(offers, need, instance_type=instance)


def _operations(text: str) -> float:
    """Return operations a second: `16000`, `16,000`, `16k` or `1M`. Raises BadInputError for invalid text."""
    from planner.units import parse_count

    plain = text.strip().lower()
    factor = {"k": 1000, "m": 1_000_000}.get(plain[-1:], 1)
    operations = float(parse_count(plain[:-1] if factor > 1 else plain) * factor)
    if operations <= 0:
        raise BadInputError(f"--iops {text}: must be above 0; leave it out where none are needed", code="out-of-range")
    return operations


def _holding(catalogs: list[str], instance: str | None) -> list[Catalog]:
    """Return the requested catalogs, by default those of today's clouds that have the type."""
    from planner.catalog import load_catalog

    loaded = [load_catalog(name) for name in catalogs or ("aws", "azure", "gcp", "oci")]
    holding = [c for c in loaded if instance is None or instance in c.instances.rows]
    if not holding:
        types = [name for c in loaded for name in c.instances.rows]
        places = ", ".join(c.name for c in loaded)
        raise BadInputError(
            f"--instance {instance}: unknown in {places}.{nearest(str(instance), types)}", code="unknown-type"
        )
    return holding


def _table(answer: StorageAnswer, *, top: int) -> Any:
    shown: dict[str, int] = {}
    rows = []
    for option in answer.options:
        shown[option.catalog] = shown.get(option.catalog, 0) + 1
        if shown[option.catalog] <= top:
            rows.append(_cells(option))
    return table(("catalog", "storage", "each", "$/month", "on", "$/h in all", "size set by", "evidence"), rows)


def _cells(option: StorageOption) -> tuple[str, ...]:
    storage_name = f"{option.count} x {option.storage}" if option.size_gib_each is not None else option.storage
    monthly = f"{option.storage_usd_per_month:,.2f}" if option.size_gib_each is not None else "included"
    return (
        option.catalog,
        storage_name,
        _of_one(option),
        monthly,
        option.instance_type,
        f"{option.usd_per_hour:.4g}",
        option.size_set_by,
        option.evidence,
    )


def _of_one(option: StorageOption) -> str:
    if option.size_gib_each is None:
        return count_text(option.count, "disk")
    bought = [
        f"{option.bought_iops_each:,.0f} IOPS" if option.bought_iops_each else "",
        f"{option.bought_mibps_each:,.0f} MiB/s" if option.bought_mibps_each else "",
    ]
    extra = " and ".join(filter(None, bought))
    return f"{option.size_gib_each:,} GiB" + (f", {extra} bought" if extra else "")

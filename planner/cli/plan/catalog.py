"""`planner catalog show` and `planner catalog check`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from planner.cli.shell.console import show, show_json, table
from planner.errors import BadInputError, nearest

if TYPE_CHECKING:
    from planner.catalog import Catalog, Fact, Finding

_HISTORY_DAYS = 2 * 365
_TOP = 3
_MEASUREMENTS = ("disks", "networks", "volume_rates", "small_io", "sort_rates")
_JSON = Annotated[bool, Option("--json", help="Print as JSON.")]


def catalog_show(
    instance_type: Annotated[str | None, Argument(help="A type, to print every fact known about it.")] = None,
    *,
    catalog: Annotated[list[str] | None, Option(help="Look only in these catalogs (names or directories).")] = None,
    json: _JSON = False,
) -> None:
    """Print every fact on an instance type and where it is from; without a type, list the catalogs.

    The column `truth` is a measured rate's "cloud truth": how many it meets of six demands on cloud benchmarks: a
    basic property, many instances, a substantial period, a reproducible method, what was measured, how it was
    aggregated.

    Example: planner catalog show i4i.4xlarge
    """
    from planner.catalog import catalog_names, load_catalog

    catalogs = [load_catalog(name) for name in catalog or catalog_names()]
    if instance_type is None:
        _list(catalogs, json=json)
    else:
        _facts(catalogs, instance_type, json=json)


def catalog_check(
    catalog: Annotated[
        list[str] | None, Argument(help="Catalogs by name or directory; all shipped ones otherwise.")
    ] = None,
    *,
    data: Annotated[str, Option(help="Job whose ranking is to become safer by measuring.")] = "100TB",
    model: Annotated[str, Option(help="Cost model of that job.")] = "daytona",
    json: _JSON = False,
) -> None:
    """Report every error of every file, cells that contradict other rows or sources, stale prices, what is missing, and
    what to measure next. Errors end with 2.

    A cell is doubted if its price per virtual CPU is far from its family's, a larger size is slower, spot is not below
    on demand, sources differ, a disk that the name promises is missing, or a unit is mixed up. Correct it, or state in
    the catalog's reviews.csv why it is true.

    "Cloud truth" counts how many a rate meets of six demands on cloud benchmarks; `planner catalog show` names them.

    Example: planner catalog check aws
    """
    from planner.catalog import catalog_names, check_catalog

    today = date.today()
    findings_of = {name: check_catalog(name, today=today) for name in catalog or catalog_names()}
    bad = [name for name, findings in findings_of.items() if any(f.severity == "error" for f in findings)]
    for name in [name for name in findings_of if name not in bad]:
        findings_of[name] += _measure_next(name, data=data, model=model, today=today)
    if json:
        by_catalog = {
            name: [{key: value for key, value in asdict(f).items() if value not in ("", None)} for f in findings]
            for name, findings in findings_of.items()
        }
        show_json({"catalogs": by_catalog})
    else:
        for name, findings in findings_of.items():
            show(_findings_table(name, [(f.severity, f.text) for f in findings]))
    if bad:
        raise BadInputError(
            f"errors in {', '.join(bad)}; correct them, or state in reviews.csv why they are none",
            code="catalog-errors",
        )


def _measure_next(name: str, *, data: str, model: str, today: date) -> list[Finding]:
    """Return measurements that would make the top of a ranking safer; none for past years' or non-rented catalogs."""
    import numpy as np

    from planner.api.recommend import recommend
    from planner.catalog import Finding, load_catalog
    from planner.catalog.measurement_quality import MANY_INSTANCES
    from planner.cost_model.run_overheads import shipped
    from planner.planning.catalog_questions.next_measurement import what_to_measure

    catalog = load_catalog(name)
    if (today - catalog.prices_as_of).days > _HISTORY_DAYS or not catalog.regions():
        return []
    best = recommend(data=data, model=model, catalogs=[name], top=_TOP).candidates
    boot_s = float(shipped().in_cloud(catalog.manifest.boot).booting_s(np.array([float(MANY_INSTANCES)]))[0])
    proposals = what_to_measure(best, catalog, boot_s=boot_s)
    return [Finding(severity="note", text=proposal.text) for proposal in proposals]


def _list(catalogs: list[Catalog], *, json: bool) -> None:
    rows = [
        {
            "name": c.name,
            "cloud": c.cloud,
            "types": len(c.instances),
            "prices_as_of": c.prices_as_of.isoformat(),
            "refreshed_on": None if c.refreshed_on is None else c.refreshed_on.isoformat(),
            "regions": c.regions(),
            "title": c.title,
        }
        for c in catalogs
    ]
    if json:
        show_json({"catalogs": rows})
        return
    columns = ["name", "cloud", "types", "prices as of", "refreshed", "regions", "title"]
    show(table(columns, [_row(row) for row in rows]), drop_first=["title"])


def _row(values: dict[str, Any]) -> list[str]:
    regions = values["regions"]
    shown = ", ".join(regions[:3]) + (f" and {len(regions) - 3} more" if len(regions) > 3 else "")
    cells = {**values, "regions": shown, "refreshed_on": values["refreshed_on"] or "no"}
    return [str(value) for value in cells.values()]


def _facts(catalogs: list[Catalog], instance_type: str, *, json: bool) -> None:
    from planner.catalog import facts_on

    holding = [c for c in catalogs if instance_type in c.instances.rows]
    if not holding:
        names = [name for c in catalogs for name in c.instances.rows]
        places = ", ".join(c.name for c in catalogs)
        if any(instance_type in (c.name, c.cloud) for c in catalogs):
            text = f"{instance_type} is a catalog, and `planner catalog show` takes a type, such as i4i.4xlarge"
            next_step = f"`planner catalog rank --by usd_per_MBps --catalog {instance_type}` lists its types"
            raise BadInputError(text, [next_step], code="unknown-type")
        raise BadInputError(
            f"unknown instance type {instance_type!r} in {places}.{nearest(instance_type, names)}", code="unknown-type"
        )
    rows = [
        {
            "catalog": c.name,
            "kind": f.kind,
            "field": f.field,
            "value": f.value,
            "unit": f.unit,
            "evidence": f.evidence,
            "cloud_truth": _score(f),
            "as_of": str(f.as_of),
            "source": c.sources[f.source].title if f.source in c.sources else f.source,
            "note": f.note,
        }
        for c in holding
        for f in facts_on(c, instance_type)
    ]
    if json:
        show_json({"facts": rows})
        return
    from planner.report.terminal.evidence import render_facts

    show(*render_facts(instance_type, rows), drop_first=("truth", "file"))


def _score(fact: Fact) -> int | None:
    """Return how many criteria of Cloud Truth a measured rate meets; facts that were not measured have no score."""
    from planner.catalog.measurement_quality import score_of

    measured = fact.kind in _MEASUREMENTS and fact.unit == "bytes/s"
    return score_of(fact.field, fact.row).score if measured else None


def _findings_table(name: str, findings: list[tuple[str, str]]) -> Any:
    return table([name, "finding"], [list(finding) for finding in findings] or [["sound", "nothing to report"]])

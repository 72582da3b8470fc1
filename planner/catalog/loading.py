"""Loading of a directory of files as a `Catalog`, with all problems.

Every combination of an instance and local disks on sale with it becomes a separate type, with the sum of both prices;
`instances.cloud_type` is the type to order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from planner.arrays import Array
from planner.catalog import region_prices, schema
from planner.catalog.catalog import Catalog
from planner.catalog.columns import EVIDENCE
from planner.catalog.facts import Source
from planner.catalog.kept import Stamp, keep, read_kept, stamp_of
from planner.catalog.manifest import FILE_NAME, Manifest, scan_manifest
from planner.catalog.measurements import SOURCE, measurements_file, with_measurements
from planner.catalog.refreshed import current_version, lay_over
from planner.catalog.schema import OBJECT_STORES, TRANSFER_KINDS, TRANSFERS
from planner.catalog.tables import Problem, Schema, Table, empty_table, read_table, scan_table
from planner.catalog.transfer_prices import UNKNOWN as NO_PRICE
from planner.catalog.transfer_prices import TransferPrice
from planner.config.paths import catalogs_directory, pick
from planner.errors import BadInputError, bad_input, nearest
from planner.schemas.request_forms import CLOUDS


def catalog_names() -> list[str]:
    """Return the names of the shipped catalogs, sorted."""
    return sorted(_shipped_directories())


def load_catalog(name_or_path: str | Path) -> Catalog:
    """Load a shipped catalog by name (`aws`), or any by the path of its directory (`./mine`).

    Loading again is free while no file has changed. Raises BadInputError for an unknown name (with the nearest), and,
    for a catalog that is not valid, one that lists every problem of every file.
    """
    directory = catalog_directory(name_or_path)
    return _load(directory, _stamp(directory))


def catalog_directory(name_or_path: str | Path) -> Path:
    """Return a catalog's directory; a Path, or a text with a slash or of dots, is a path. Raises BadInputError if it is
    not a directory.
    """
    if isinstance(name_or_path, str) and "/" not in name_or_path and name_or_path.strip("."):
        shipped = _shipped_directories()
        if name_or_path not in shipped and Path(name_or_path).is_dir():
            raise BadInputError(
                f"unknown catalog {name_or_path!r}; the directory of that name is ./{name_or_path}",
                code="unknown-catalog",
            )
        return pick(name_or_path, shipped, what="catalog")
    directory = Path(name_or_path).expanduser().resolve()
    if not (directory / FILE_NAME).is_file():
        raise BadInputError(f"{directory} is no catalog: it has no {FILE_NAME}", code="not-a-catalog")
    return directory


def require_clouds(names: Sequence[str]) -> None:
    """Raise BadInputError, with the known clouds, for a name that is neither a cloud, a shipped catalog nor a path."""
    for name in names:
        if "/" not in name and name not in (shipped := _shipped_directories()):
            pick(name, {cloud: shipped[cloud] for cloud in CLOUDS if cloud in shipped}, what="cloud")


def scan_catalog(directory: Path, *, version: Path | None = None) -> tuple[Catalog | None, list[Problem]]:
    """Read all files of a catalog; return the catalog if it is valid, else None and all problems of all files.

    A shipped one is read with the user's refreshed shapes and prices, from `version` if given.
    """
    manifest, problems = scan_manifest(directory)
    tables: dict[str, Table] = {}
    for table_schema in schema.ALL:
        tables[table_schema.name], problems_in_file = _scan_file(directory, table_schema)
        problems += problems_in_file
    problems += _stray_files(directory)
    newer = version or current_version(directory)
    as_of = None
    if newer is not None and manifest is not None and not problems:
        tables, manifest, problems = _lay_refreshed_over(tables, manifest, newer)
        as_of = manifest.prices_as_of
    problems += _dangling_names(tables, manifest)
    if problems or manifest is None:
        return None, problems
    tables, mine = with_added_disks(tables), measurements_file(directory.name)
    if mine.exists():
        tables, problems = with_measurements(tables, mine)
        manifest = replace(manifest, sources={**manifest.sources, SOURCE: Source(title="your own measurements")})
    if problems:
        return None, problems
    return Catalog(name=directory.name, path=directory, manifest=manifest, tables=tables, refreshed_on=as_of), []


def _lay_refreshed_over(
    tables: dict[str, Table], manifest: Manifest, version: Path
) -> tuple[dict[str, Table], Manifest, list[Problem]]:
    newer, problems = scan_manifest(version)
    read: dict[str, Table] = {}
    for table_schema in schema.REQUIRED:
        read[table_schema.name], problems_in_file = _scan_file(version, table_schema)
        problems += problems_in_file
    if problems or newer is None:
        return tables, manifest, problems
    laid, head = lay_over(tables, read, manifest=manifest, newer=newer)
    return laid, head, []


def _shipped_directories() -> dict[str, Path]:
    return {path.parent.name: path.parent for path in catalogs_directory().glob(f"*/{FILE_NAME}")}


def _stamp(directory: Path) -> Stamp:
    """Return a stamp that changes with any file of the catalog, its refreshed version or the user's measurements."""
    version = current_version(directory)
    return stamp_of(directory, *([version] if version else []), measurements_file(directory.name))


@lru_cache(maxsize=32)
def _load(directory: Path, stamp: Stamp) -> Catalog:
    if kept := read_kept(directory, stamp):
        return kept
    catalog, problems = scan_catalog(directory)
    if catalog is None:
        again = f", or go back to the shipped one: planner catalog refresh --cloud {directory.name} --forget"
        advice = again if current_version(directory) else ""
        hint = f"; correct them and run again{advice}"
        raise bad_input(f"catalog {directory}", [str(problem) for problem in problems], hint)
    keep(catalog, stamp)
    return catalog


def _scan_file(directory: Path, table_schema: Schema) -> tuple[Table, list[Problem]]:
    path = directory / f"{table_schema.name}.csv"
    if table_schema in schema.OPTIONAL and not path.exists():
        return empty_table(path, table_schema), []
    return scan_table(path, table_schema)


def _stray_files(directory: Path) -> Iterator[Problem]:
    """Yield problems for CSV files that are never read."""
    expected = [*(f"{table_schema.name}.csv" for table_schema in schema.ALL), *region_prices.FILES.values()]
    for path in sorted(directory.glob("*.csv")):
        if path.name not in expected:
            yield Problem(
                path=path, expected=f"no such kind of file.{nearest(path.name, expected)} Known: {', '.join(expected)}"
            )


def _dangling_names(tables: dict[str, Table], manifest: Manifest | None) -> Iterator[Problem]:
    """Yield problems for names of types, volume types, object stores and sources that are declared nowhere."""
    owners = {"instance_type": "instances", "volume_type": "volumes", "object_store": "object_stores"}
    declared = {column: set(tables[owner][column].tolist()) for column, owner in owners.items()}
    for table in tables.values():
        for column, names in declared.items():
            if column in table.columns and table.schema.name != owners[column]:
                yield from _unknown_names(table, column, names, f"is not in {owners[column]}.csv")
        if manifest is not None:
            yield from _unknown_names(table, "source", set(manifest.sources), f"is not in [sources] of {FILE_NAME}")


def _unknown_names(table: Table, column: str, names: set[str], expected: str) -> Iterator[Problem]:
    values = table[column].tolist()
    unknown = set(values) - names - {""}
    for value, line in zip(values, table.lines, strict=True) if unknown else ():
        if value in unknown:
            hint = nearest(value, sorted(names))
            yield Problem(
                path=table.path, line=line, column=column, value=value, expected=f"{expected}.{hint}".rstrip(".")
            )


@dataclass(frozen=True, kw_only=True)
class OutsideCharges:
    """Prices of a cloud's traffic by its kind, and of its object store: US dollars for each request and for each GiB to
    instances of its region, and the requests a second that one place accepts. NaN is unknown.
    """

    transfers: Mapping[str, TransferPrice] = field(default_factory=dict)
    read_usd_per_request: float = math.nan
    write_usd_per_request: float = math.nan
    egress_usd_per_gib: float = math.nan
    reads_per_s: float = math.nan
    writes_per_s: float = math.nan

    @property
    def leaving(self) -> TransferPrice:
        """The price of traffic out of the cloud."""
        return self.transfers.get("internet", NO_PRICE)


@lru_cache
def outside_charges(cloud: str) -> OutsideCharges:
    """Return the known charges of a cloud. Raises BadInputError if a file of its catalog is damaged."""
    transfers, stores = _read_if_shipped(cloud, TRANSFERS), _read_if_shipped(cloud, OBJECT_STORES)
    asked = next(iter(stores.rows()), {}) if stores is not None else {}
    prices = [item.name for item in fields(OutsideCharges) if item.name != "transfers"]
    return OutsideCharges(
        transfers={name: TransferPrice.of(transfers, name) for name in TRANSFER_KINDS},
        **{name: float(asked.get(name, math.nan)) for name in prices},
    )


def _read_if_shipped(cloud: str, schema: Schema) -> Table | None:
    path = catalogs_directory() / cloud / f"{schema.name}.csv"
    return read_table(path, schema) if path.exists() else None


Pairs = tuple[Array, Array, list[str]]
"""Rows of instances.csv, rows of local_disk_options.csv that fit them, and the names of the combinations."""


def with_added_disks(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return a catalog's tables with one more type, price and pair of disk rates for each matching type and option."""
    options, instances = tables["local_disk_options"], tables["instances"]
    if not len(options):
        return dict(tables)
    pairs = _pairs(instances, options)
    return {
        **tables,
        "instances": _append_rows(instances, _new_instances(instances, options, pairs)),
        "prices": _append_rows(tables["prices"], _new_prices(tables["prices"], instances, options, pairs)),
        "disks": _append_rows(tables["disks"], _new_rates(tables["disks"], options, pairs)),
        "disk_specs": _append_rows(tables["disk_specs"], _new_specs(options, pairs)),
    }


def _pairs(instances: Table, options: Table) -> Pairs:
    least = np.nan_to_num(options["vcpu_least"], nan=0.0)
    most = np.nan_to_num(options["vcpu_most"], nan=np.inf)
    vcpu = instances["vcpu"][:, None]
    same = instances["family"][:, None] == options["family"]
    fits = same & (vcpu >= least) & (vcpu <= most) & (instances["local_disks"] == 0)[:, None]
    rows, choices = np.nonzero(fits)
    size_gb = options["disk_bytes"][choices] / 1e9
    parts = zip(instances["instance_type"][rows], options["disks"][choices], size_gb, strict=True)
    return rows, choices, [f"{name}+{disks:.0f}x{size:g}GB" for name, disks, size in parts]


def _new_instances(instances: Table, options: Table, pairs: Pairs) -> dict[str, Array]:
    rows, choices, names = pairs
    return {
        **{name: column[rows] for name, column in instances.columns.items()},
        "instance_type": np.array(names, dtype=np.str_),
        "local_disks": options["disks"][choices],
        "local_disk_bytes": options["disk_bytes"][choices],
        "local_disk_kind": options["local_disk_kind"][choices],
        "evidence": _weaker_evidence(instances["evidence"][rows], options["evidence"][choices]),
    }


def _new_prices(prices: Table, instances: Table, options: Table, pairs: Pairs) -> dict[str, Array]:
    """Add an option's price to the on-demand price in the same region; other prices of the combination stay unknown."""
    listed: dict[tuple[str, str], int] = {}
    for row in np.flatnonzero(prices["pricing"] == "on-demand").tolist():
        listed[str(prices["instance_type"][row]), str(prices["region"][row])] = row
    bases, choices, names = [], [], []
    for row, choice, name in zip(*pairs, strict=True):
        base = listed.get((str(instances["instance_type"][row]), str(options["region"][choice])))
        if base is not None:
            bases.append(base)
            choices.append(choice)
            names.append(name)
    return {
        **{name: column[bases] for name, column in prices.columns.items()},
        "instance_type": np.array(names, dtype=np.str_),
        "price_usd_per_hour": prices["price_usd_per_hour"][bases] + options["price_usd_per_hour"][choices],
        "evidence": _weaker_evidence(prices["evidence"][bases], options["price_evidence"][choices]),
    }


def _new_rates(disks: Table, options: Table, pairs: Pairs) -> dict[str, Array]:
    _, choices, names = pairs
    modes = [_rates_of_mode(options, choices, names, mode) for mode in ("read", "write")]
    joined = {name: np.concatenate([mode[name] for mode in modes]) for name in modes[0]}
    count = len(joined["mode"])
    return {name: joined.get(name, _unknown(column, count)) for name, column in disks.columns.items()}


def _rates_of_mode(options: Table, choices: Array, names: Sequence[str], mode: str) -> dict[str, Array]:
    rates = options[f"{mode}_bytes_per_s"][choices]
    measured = np.flatnonzero(np.isfinite(rates))
    choices = choices[measured]
    constants = {"mode": f"{mode}_only", "aggregate": "mean", "method": "rate of the option, see its note"}
    copied = ("disks", "note", "source", "as_of")
    return {
        "instance_type": np.array(names, dtype=np.str_)[measured],
        "bytes_per_s": rates[measured],
        "evidence": options["rate_evidence"][choices],
        **{name: np.full(len(measured), text) for name, text in constants.items()},
        **{name: options[name][choices] for name in copied},
    }


def _new_specs(options: Table, pairs: Pairs) -> dict[str, Array]:
    _, choices, names = pairs
    stated = np.flatnonzero(np.isfinite(options["read_operations_per_s"][choices]))
    choices = choices[stated]
    copied = ("read_operations_per_s", "write_operations_per_s", "source", "as_of")
    return {
        "instance_type": np.array(names, dtype=np.str_)[stated],
        "evidence": options["rate_evidence"][choices],
        **{name: options[name][choices] for name in copied},
    }


def _unknown(like: Array, count: int) -> Array:
    return np.full(count, np.nan if like.dtype.kind == "f" else "")


def _weaker_evidence(first: Array, second: Array) -> Array:
    """Return, pair by pair, the evidence that is later in EVIDENCE."""
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return np.array([max(pair, key=EVIDENCE.index) for pair in pairs], dtype=np.str_)


def _append_rows(table: Table, new: Mapping[str, Any]) -> Table:
    """Return the table with rows added at its end; their line is 0, as they are not in the file."""
    columns = {name: np.concatenate([column, new[name]]) for name, column in table.columns.items()}
    count = len(next(iter(new.values())))
    return replace(table, columns=columns, lines=[*table.lines, *([0] * count)])

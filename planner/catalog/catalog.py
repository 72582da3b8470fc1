"""A cloud's facts, read once, as arrays aligned to its instance types."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from planner.arrays import Flags, Floats
from planner.catalog import schema
from planner.catalog.bandwidth_weightings import at_their_weightings, with_weighted_types
from planner.catalog.columns import AT_LEAST, EVIDENCE, MODES
from planner.catalog.facts import (
    Fact,
    NetworkPoint,
    ObjectStore,
    Prices,
    Rates,
    Source,
    Straggler,
    TokenBucket,
    VolumeType,
)
from planner.catalog.instances import FIELDS, Instances, VolumeLimits, volume_limits
from planner.catalog.manifest import Manifest
from planner.catalog.network_specs import StatedNetworks, stated_networks
from planner.catalog.processors.burstable import ProcessorCredits, processor_credits
from planner.catalog.processors.power import assumed_power_w
from planner.catalog.processors.speeds import ProcessorSpeeds, processor_speeds
from planner.catalog.refreshed import refresh_command
from planner.catalog.region_prices import FILES, listed_regions, price_rows
from planner.catalog.tables import Table
from planner.catalog.transfer_prices import TransferPrice
from planner.errors import BadInputError, nearest, some_of
from planner.schemas.request_forms import OWN

T = TypeVar("T")

_MONTH_H: Final = 720


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalog:
    """One directory of `catalogs/`. Row i of every aligned array is `instances.instance_type[i]`."""

    name: str
    path: Path
    manifest: Manifest
    tables: Mapping[str, Table]
    refreshed_on: date | None = None
    """Day on which the user refreshed shapes and prices from the cloud; None for the shipped ones."""

    @property
    def title(self) -> str:
        """Description of the catalog."""
        return self.manifest.title

    @property
    def cloud(self) -> str:
        """The provider: aws, gcp, azure, oci."""
        return self.manifest.cloud

    @property
    def is_free(self) -> bool:
        """True for machines of one's own that nobody states a price for: they are planned without rent."""
        return self.is_own and not len(self.tables["prices"])

    @property
    def is_own(self) -> bool:
        """True for machines of one's own, which no one has to ask for."""
        return self.cloud == OWN

    @property
    def prices_as_of(self) -> date:
        """The day of the price list."""
        return self.manifest.prices_as_of

    def priced_on(self, region: str, pricing: str = "on-demand") -> date:
        """Return the day of a region's newest price of this kind, or that of the price list if it has none."""
        days = self.price_rows(region, pricing)["as_of"]
        return days.max().item() if len(days) else self.prices_as_of

    @property
    def default_region(self) -> str:
        """The region used if none is named."""
        return self.manifest.default_region

    @property
    def hours_per_month(self) -> float:
        """Divisor of monthly volume prices, in hours."""
        return self.manifest.hours_per_month

    @property
    def sources(self) -> Mapping[str, Source]:
        """Sources by the key in the `source` column."""
        return self.manifest.sources

    @cached_property
    def instances(self) -> Instances:
        """All types as aligned arrays, with network and volume limits chosen from all stated ones."""
        listed, stated = Instances.from_table(self.tables["instances"], where=f"catalog {self.name}"), self.networks
        limits = self.volume_limits
        whole = replace(
            listed,
            **{name: getattr(limits, name) for name in FIELDS},
            network_baseline_bytes_per_s=stated.baseline_bytes_per_s,
            network_peak_bytes_per_s=stated.peak_bytes_per_s,
        )
        return at_their_weightings(whole, self.tables["bandwidth_weightings"])

    @cached_property
    def type_names(self) -> tuple[str, ...]:
        """The names of all types, then the cloud's names of them: those with added disks have another."""
        names = self.tables["instances"]["instance_type"].tolist()
        return (*names, *(name.partition("+")[0] for name in names))

    @cached_property
    def with_weightings(self) -> Catalog:
        """The catalog with an additional type for each bandwidth weighting of a type, for planning."""
        tables = with_weighted_types(self.tables, keep=frozenset(self.network_points))
        return self if tables is self.tables else replace(self, tables=tables)

    @cached_property
    def networks(self) -> StatedNetworks:
        """The network of every type as its cloud states it, with its evidence."""
        stated = stated_networks(self.tables["instances"], self.tables["network_specs"])
        return stated.below_ceilings(self.tables["instances"]) if self.manifest.network_ceilings else stated

    @cached_property
    def volume_limits(self) -> VolumeLimits:
        """Combined limits of the block volumes of every type, with their evidence."""
        return volume_limits(self.tables["instances"], self.tables["volume_limits"])

    def regions(self, pricing: str = "on-demand") -> list[str]:
        """Return the regions with prices of this kind, sorted."""
        return sorted({*self.main_regions(pricing), *listed_regions(self.path, pricing)})

    def main_regions(self, pricing: str = "on-demand") -> list[str]:
        """Return the regions of `prices.csv`, sorted: the default for plans and refreshes."""
        prices = self.tables["prices"]
        return sorted(set(prices["region"][prices["pricing"] == pricing].tolist()))

    def is_further(self, region: str, pricing: str) -> bool:
        """Return whether a region's prices are only in the file of further regions."""
        return region not in self.main_regions(pricing) and region in listed_regions(self.path, pricing)

    def price_rows(self, region: str, pricing: str = "on-demand") -> Table:
        """Return the prices of a region as rows of `prices.csv`, empty for a region without prices.

        Raises BadInputError for a damaged file of further regions, or a type in it that the catalog lacks.
        """
        table = self.tables["prices"]
        chosen = np.flatnonzero((table["region"] == region) & (table["pricing"] == pricing))
        if not len(chosen) and (further := price_rows(self.path, region, pricing)) is not None:
            if strange := sorted(set(further["instance_type"].tolist()) - self.instances.rows.keys()):
                raise BadInputError(
                    f"{further.path}: {', '.join(strange[:3])} in it, but not in instances.csv", code="unknown-type"
                )
            return further
        columns = {name: values[chosen] for name, values in table.columns.items()}
        return replace(table, columns=columns, lines=[table.lines[row] for row in chosen.tolist()])

    def prices(self, region: str | None = None, pricing: str = "on-demand") -> Prices:
        """Return hourly prices for every type, NaN where unpriced.

        Raises BadInputError for a region without prices of this kind, naming the regions with prices.
        """
        region = self.default_region if region is None else region
        table = self.price_rows(region, pricing)
        if not len(table):
            raise BadInputError(self._unpriced_text(region, pricing), code="no-price")
        rows = self._rows(table, slice(None))
        return Prices(
            region=region,
            pricing=pricing,
            price_usd_per_hour=self._align(rows, table["price_usd_per_hour"]),
            evidence=self._align(rows, table["evidence"]),
            as_of=self._align(rows, table["as_of"]),
        )

    def disk_rates(self, mode: str, *, aggregate: str | None = None) -> Rates:
        """Return the rate of all local disks of every type in `mode` (one of MODES).

        The row with the strongest evidence counts, a slowest-of-n only if there is nothing else, and a lower bound
        never (`disk_bounds`); `aggregate` accepts only rows of that kind. Raises BadInputError for an unknown mode.
        """
        if mode not in MODES:
            raise BadInputError(f"unknown disk mode {mode!r}; use one of {', '.join(MODES)}", code="unknown-word")
        table = self.tables["disks"]
        wanted = table["mode"] == mode
        return self._rates(table, wanted if aggregate is None else wanted & (table["aggregate"] == aggregate))

    def disk_bounds(self, mode: str) -> Floats:
        """Return lower bounds for all local disks of every type, from runs that something else limited."""
        table = self.tables["disks"]
        rows, chosen = self._strongest(table, _bounds(table) & (table["mode"] == mode))
        bounds: Floats = self._align(rows, table["bytes_per_s"][chosen])
        return bounds

    @cached_property
    def sort_bytes_per_s_per_vcpu(self) -> Floats:
        """The measured rate of sorting in memory for each virtual CPU, by type."""
        table = self.tables["sort_rates"]
        rates: Floats = self._align(self._rows(table, slice(None)), table["bytes_per_s_per_vcpu"])
        return rates

    @cached_property
    def assumed_power_w(self) -> Floats:
        """The power of every type's processors, assumed where nobody states that of its machines."""
        return assumed_power_w(self.cloud, self.instances)

    @cached_property
    def processor_speeds(self) -> ProcessorSpeeds:
        """The measured speed of a virtual CPU of every type, or of others of its generation."""
        types = self.instances
        return processor_speeds(self.cloud, types.cloud_type, types.family)

    @cached_property
    def flop_per_s(self) -> Floats:
        """The measured double-precision rate of every type."""
        table = self.tables["compute"]
        rates: Floats = self._align(self._rows(table, slice(None)), table["flop_per_s"])
        return rates

    def volume_rates(self, volume_type: str, mode: str) -> Rates:
        """Return the measured rate of all volumes of a type on every instance type, as `disk_rates` does."""
        table = self.tables["volume_rates"]
        return self._rates(table, (table["volume_type"] == volume_type) & (table["mode"] == mode))

    def object_store_rates(self, object_store: str, mode: str) -> Rates:
        """Return the observed rate per node to and from an object store for every type, as `disk_rates` does."""
        table = self.tables["object_store_rates"]
        return self._rates(table, (table["object_store"] == object_store) & (table["mode"] == mode))

    @cached_property
    def network_points(self) -> Mapping[str, tuple[NetworkPoint, ...]]:
        """The measured network rates of each type with any; the rates stated by the cloud are in `instances`."""
        return _group_by_type(self.tables["networks"], _network_point)

    @cached_property
    def token_buckets(self) -> Mapping[str, tuple[TokenBucket, ...]]:
        """The network token buckets of each type with a measured one, one per variant of network card."""
        return _group_by_type(self.tables["token_buckets"], lambda row: _make(TokenBucket, row))

    @cached_property
    def processor_credits(self) -> ProcessorCredits:
        """Sustained processor share of every type, and its credit for full speed."""
        return processor_credits(self.instances, self.tables["burstable"])

    def interruptions_per_node_hour(self, region: str) -> Floats:
        """Return how often a spot node of each type is taken back, (T,): by the middle of its band, of an open band by
        its lower end; the cloud's mean where a type has none, NaN where that is unknown too. A constant rate: -ln(1 -
        share) / 720 h.
        """
        mean = self.manifest.spot.interruptions_per_node_hour if self.manifest.spot else np.nan
        bands, rates = self.tables["spot_interruptions"], np.full(len(self.instances), mean)
        low, high = bands["low_share_per_month"], bands["high_share_per_month"]
        share = np.where(high < 1, (low + high) / 2, low)
        for row in np.flatnonzero(bands["region"] == region).tolist():
            rates[self.instances.index(bands["instance_type"][row])] = -np.log1p(-share[row]) / _MONTH_H
        return np.asarray(rates[self.instances.offered_row])  # a bandwidth weighting changes no risk

    @cached_property
    def stragglers(self) -> Mapping[str, tuple[Straggler, ...]]:
        """The measured tails of each type."""
        return _group_by_type(self.tables["stragglers"], lambda row: _make(Straggler, row))

    @cached_property
    def volume_types(self) -> Mapping[str, VolumeType]:
        """The block volume types by name."""
        return {row["volume_type"]: _make(VolumeType, row) for row in self.tables["volumes"].rows()}

    def can_attach(self, volume: VolumeType) -> Flags:
        """Return for each instance type (T,) whether its family can have a volume type."""
        return ~np.isin(self.instances.family, volume.families_without.split())

    @cached_property
    def object_stores(self) -> Mapping[str, ObjectStore]:
        """The object stores by name."""
        return {row["object_store"]: _make(ObjectStore, row) for row in self.tables["object_stores"].rows()}

    def surcharges_usd_per_hour(self, surcharge: str, region: str | None = None) -> Floats:
        """Return the hourly fee of every type for `surcharge`, 0 if the catalog lists none."""
        table = self.tables["surcharges"]
        place = self.default_region if region is None else region
        chosen = np.flatnonzero((table["surcharge"] == surcharge) & (table["region"] == place))
        fees = np.zeros(len(self.instances))
        fees[self._rows(table, chosen)] = table["price_usd_per_hour"][chosen]
        return fees

    def transfer_price(self, transfer: str) -> TransferPrice:
        """Return the price of traffic, `transfer` being one of `TRANSFER_KINDS`."""
        return TransferPrice.of(self.tables["transfers"], transfer)

    def _rates(self, table: Table, wanted: Any) -> Rates:
        wanted = wanted & ~_bounds(table)
        rows, chosen = self._strongest(table, wanted & ~np.isnan(table["bytes_per_s"]))
        aggregate = table.columns.get("aggregate", np.full(len(table), "mean"))
        unknown = np.full(len(table), np.nan)
        operations = table.columns.get("operations_per_s", unknown)
        low, high = (table.columns.get(f"{edge}_bytes_per_s", unknown)[chosen] for edge in ("low", "high"))
        of_operations, stating = self._strongest(table, wanted & ~np.isnan(operations))
        return Rates(
            bytes_per_s=self._align(rows, table["bytes_per_s"][chosen]),
            evidence=self._align(rows, table["evidence"][chosen]),
            aggregate=self._align(rows, aggregate[chosen]),
            source=self._align(rows, table["source"][chosen]),
            low_bytes_per_s=self._align(rows, low),
            high_bytes_per_s=self._align(rows, high),
            operations_per_s=self._align(of_operations, operations[stating]),
            operations_evidence=self._align(of_operations, table["evidence"][stating]),
        )

    def _strongest(self, table: Table, wanted: Any) -> tuple[list[int], Any]:
        """Return the type and table rows in ascending strength: a type's strongest row overwrites the others."""
        chosen = np.flatnonzero(wanted)
        aggregate = table.columns.get("aggregate", np.full(len(table), "mean"))[chosen]
        weakness = [EVIDENCE.index(word) for word in table["evidence"][chosen].tolist()]
        chosen = chosen[np.lexsort((weakness, aggregate == "slowest_of_n"))[::-1]]
        return self._rows(table, chosen), chosen

    def _rows(self, table: Table, chosen: Any) -> list[int]:
        return [self.instances.rows[name] for name in table["instance_type"][chosen].tolist()]

    def _align(self, rows: list[int], values: Any) -> Any:
        """Return an array over all types with `values` at `rows` and 'unknown' (NaN, NaT, '') elsewhere."""
        unknown = {"f": np.nan, "U": "", "M": np.datetime64("NaT")}[values.dtype.kind]
        whole = np.full(len(self.instances), unknown, dtype=values.dtype)
        whole[rows] = values
        return whole

    def _unpriced_text(self, region: str, pricing: str) -> str:
        priced, kinds = self.regions(pricing), sorted(set(self.tables["prices"]["pricing"].tolist()))
        if not priced and pricing not in ("on-demand", "spot"):
            text = f"--pricing {pricing}: catalog {self.name} has {' and '.join(kinds)}"
            if meant := nearest(pricing, kinds):
                return f"{text}.{meant}"
            return f"{text}; what is reserved or committed costs the on-demand price less a --discount, such as 40%"
        refresh = refresh_command(self.name, pricing, region=region if priced else "")
        if not priced:
            more = f"; {refresh} reads them" if refresh else ""
            return f"catalog {self.name} has no {pricing} prices{more}"
        more = f". {refresh} reads them" if refresh else ""
        more += ", without an account" if refresh.endswith(" --public") else ""
        text = f"region {region!r} has no {pricing} prices in catalog {self.name}."
        return f"{text} Priced: {some_of(priced)}{more}; or state one: --own-price 'TYPE=0.95'"


def _bounds(table: Table) -> Any:
    """Return a mask of the rows that are lower bounds, not rates."""
    return table.columns.get("aggregate", np.full(len(table), "")) == AT_LEAST


def _group_by_type(table: Table, build: Callable[[dict[str, Any]], T]) -> Mapping[str, tuple[T, ...]]:
    groups: dict[str, list[T]] = {}
    for row in table.rows():
        groups.setdefault(row["instance_type"], []).append(build(row))
    return {name: tuple(points) for name, points in groups.items()}


def _network_point(row: dict[str, Any]) -> NetworkPoint:
    nodes = None if np.isnan(row["nodes"]) else int(row["nodes"])
    return _make(NetworkPoint, {**row, "nodes": nodes})


def _make(row_class: type[T], row: dict[str, Any]) -> T:
    return row_class(**{field: row[field] for field in row_class.__annotations__})


_ABOUT_THE_FACT = ("evidence", "source", "as_of", "note", "method", "instances", "repeats", "period_days")


def facts_on(catalog: Catalog, instance_type: str, *, region: str = "") -> list[Fact]:
    """Return every known value of a type, in file order; unknown ones (blank cells) are left out.

    Prices are those of `prices.csv`, and of `region` if they are in another file.

    The columns that distinguish rows of one file (region, mode, nodes, ...) are part of `field`: `price_usd_per_hour
    [us-east-1, spot]`; the kind of measurement is part of `note`. Raises BadInputError with the nearest names for an
    unknown type.
    """
    catalog.instances.index(instance_type)
    tables = [catalog.tables[schema_.name] for schema_ in schema.ALL]
    tables += [catalog.price_rows(region, pricing) for pricing in FILES if region not in catalog.main_regions(pricing)]
    return [fact for table in tables if "instance_type" in table.columns for fact in _facts(table, instance_type)]


def _facts(table: Table, instance_type: str) -> Iterator[Fact]:
    about = [name for name in table.schema.key[1:] if name not in _ABOUT_THE_FACT]
    for row in table.rows(np.flatnonzero(table["instance_type"] == instance_type)):
        circumstances = ", ".join(_circumstance_text(name, row[name]) for name in about if _is_known(row[name]))
        for column in table.schema.columns:
            if column.name in ("instance_type", *about, *_ABOUT_THE_FACT) or not _is_known(row[column.name]):
                continue
            yield Fact(
                kind=table.schema.name,
                field=f"{column.name} [{circumstances}]" if circumstances else column.name,
                value=row[column.name],
                unit=column.unit,
                evidence=row["evidence"],
                source=row["source"],
                as_of=row["as_of"],
                note="; ".join(filter(None, (row.get("method"), row.get("note")))),
                row=row,
            )


def _is_known(value: Any) -> bool:
    return value != "" and not (isinstance(value, float) and math.isnan(value))


def _circumstance_text(name: str, value: Any) -> str:
    """Return a circumstance in words, with the column name after a bare number or flag."""
    if isinstance(value, bool):
        return name.replace("_", " ") if value else f"no {name.replace('_', ' ')}"
    return f"{value:g} {name}" if isinstance(value, float) else str(value)

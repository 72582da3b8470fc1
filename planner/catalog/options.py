"""Local disks that are bought with an instance: every combination on sale becomes a type of its own.

So the planner sees one kind of candidate, with its disks and the sum of both prices, and `instances.cloud_type` still
says what to order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.arrays import Array
from planner.catalog.columns import EVIDENCE
from planner.catalog.tables import Table

Pairs = tuple[Array, Array, list[str]]
"""Rows of instances.csv, rows of local_disk_options.csv that fit them, and the names of the combinations."""


def with_added_disks(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return a catalog's tables with one more type, price and pair of disk rates for each type and option that fit."""
    options, instances = tables["local_disk_options"], tables["instances"]
    if not len(options):
        return dict(tables)
    pairs = _pairs(instances, options)
    return {
        **tables,
        "instances": _added(instances, _new_instances(instances, options, pairs)),
        "prices": _added(tables["prices"], _new_prices(tables["prices"], instances, options, pairs)),
        "disks": _added(tables["disks"], _new_rates(tables["disks"], options, pairs)),
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
        "evidence": _weaker(instances["evidence"][rows], options["evidence"][choices]),
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
        "evidence": _weaker(prices["evidence"][bases], options["price_evidence"][choices]),
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


def _unknown(like: Array, count: int) -> Array:
    return np.full(count, np.nan if like.dtype.kind == "f" else "")


def _weaker(first: Array, second: Array) -> Array:
    """Return, pair by pair, the evidence that is further down EVIDENCE."""
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return np.array([max(pair, key=EVIDENCE.index) for pair in pairs], dtype=np.str_)


def _added(table: Table, new: Mapping[str, Any]) -> Table:
    """Return the table with rows at its end; they have no line of their own in its file, which 0 says."""
    columns = {name: np.concatenate([column, new[name]]) for name, column in table.columns.items()}
    count = len(next(iter(new.values())))
    return replace(table, columns=columns, lines=[*table.lines, *([0] * count)])

"""Catalogs of machines that people own: written from facts with units, as options or the columns of a CSV file give
them. Such a catalog has the number of machines of each type, and no rent unless it is stated.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

from planner.catalog.manifest import FILE_NAME
from planner.catalog.schema import DISKS, INSTANCES, PRICES
from planner.catalog.tables.writing import write_rows
from planner.config.atomic_file import replace_file
from planner.config.user_tables import PRICE_NAMES, read_called
from planner.errors import BadInputError, IoFailureError, PlannerError, nearest
from planner.units import parse_count, parse_number, parse_rate, parse_size

_HEAD: Final = """title = "Machines of our own"
cloud = "local"
currency = "USD"
default_region = "here"
prices_as_of = {today}
hours_per_month = 720

[sources.own]
title = "stated with planner catalog new, {today}"
"""


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.casefold() not in words:
            raise BadInputError(f"{text!r}: use one of {', '.join(words)}.{nearest(text, words)}", code="unknown-word")
        return text.casefold()

    return read


def _from(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if (count := parse_count(text)) < least:
            raise BadInputError(f"{text!r}: must be at least {least}", code="out-of-range")
        return count

    return read


_PER_HOUR: Final = re.compile(r"\s*(?:usd|\$)?\s*(?:(?:/|per)?\s*h(?:ou)?r?)?", re.IGNORECASE)


def _usd(text: str) -> float:
    number = re.match(r"[^a-z$/ ]*", (digits := text.removeprefix("$")), re.IGNORECASE)
    plain = digits[: number.end() if number else 0]
    if not _PER_HOUR.fullmatch(digits[len(plain) :]):
        raise BadInputError(f"{text!r}: give US dollars per hour", code="unknown-unit")
    if (usd := parse_number(plain)) < 0:
        raise BadInputError(f"{text!r}: must not be negative", code="out-of-range")
    return usd


class Fact(NamedTuple):
    """A fact on the machines of a type: how its text is read, an example, what columns of CSV also call it, and whether
    every type needs it, those with disks do, or none.
    """

    read: Callable[[str], Any]
    example: str
    also: tuple[str, ...] = ()
    needed: str = "always"


FACTS: Final = {
    "type": Fact(lambda text: re.sub(r"[^\w.-]+", "-", text).strip("-"), "worker", ("instancetype", "model", "name")),
    "machines": Fact(_from(1), "20", ("count", "hosts", "nodes", "number", "quantity")),
    "vcpus": Fact(_from(1), "64", ("cores", "cpu", "cpucores", "cpus", "threads", "vcpu", "vcpucount")),
    "memory": Fact(parse_size, "256GiB", ("mem", "ram")),
    "network": Fact(
        parse_rate, "25Gbit/s", ("bandwidth", "networkbandwidth", "networkperformance", "networkspeed", "nic")
    ),
    "disks": Fact(_from(0), "8, or 0 for none", ("drives", "localdisks", "ssds")),
    "disk_size": Fact(parse_size, "2TB", ("capacity", "disk", "diskcapacity", "drivesize"), "with disks"),
    "disk_kind": Fact(_one_of("nvme", "ssd", "hdd"), "nvme", ("disktype", "drivetype"), "with disks"),
    "disk_read": Fact(parse_rate, "6GB/s, of all disks of a machine: `planner bench disk` measures it", ("read",),
                      "with disks"),
    "disk_write": Fact(parse_rate, "4GB/s, of all disks of a machine", ("write",), "with disks"),
    "price": Fact(_usd, "0.95", PRICE_NAMES, "never"),
    "arch": Fact(_one_of("x86_64", "arm64"), "arm64", ("architecture",), "never"),
}  # fmt: skip
"""By the names that Python and columns of CSV have for them; options have dashes."""

Machines = Mapping[str, str]
"""The texts of facts on machines of one type."""


def read_machines(file: Path, *, counted: bool = False) -> tuple[dict[str, dict[str, str]], dict[str, str], list[str]]:
    """Return the machines of each row of a CSV file, by its place, the column of each fact, and those not read. Equal
    rows count as machines of one type if no column says how many there are, unless they were `counted`. Raises
    BadInputError.
    """
    called = {name: (name.replace("_", ""), *fact.also) for name, fact in FACTS.items()}
    machines, taken, left = read_called(file, called)
    if "machines" not in taken and not counted:
        counts: dict[tuple[str, ...], list[str]] = {}
        for where, row in machines.items():
            counts.setdefault(tuple(row.values()), []).append(where)
        machines = {places[0]: {**machines[places[0]], "machines": str(len(places))} for places in counts.values()}
    return machines, taken, left


def new_catalog(directory: Path, machines: Mapping[str, Machines], *, today: date) -> list[str]:
    """Write a catalog of machines of one's own, given as texts by their places; return its types.

    Raises BadInputError for a directory that exists, and for all facts that are missing or invalid at once.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise BadInputError(f"{directory} exists: name a new folder", code="output-exists")
    problems: list[str] = []
    found = {where: _read(where, texts, problems) for where, texts in machines.items()}
    types = [facts.get("type") for facts in found.values()]
    problems += [f"two rows are of type {name}: give its machines in one" for name in {*types} if types.count(name) > 1]
    priced = [bool(facts.get("price")) for facts in found.values()]
    if any(priced) and not all(priced):
        problems.append("some types have a price and others none, which would be unknown: give all one, or none")
    if problems:
        raise BadInputError("a catalog needs these facts on its machines", problems, code="missing-facts")
    written = {"evidence": "spec", "source": "own", "as_of": today.isoformat()}
    tables = {
        INSTANCES: [_shape(facts) for facts in found.values()],
        DISKS: [row for facts in found.values() for row in _disk_rates(facts)],
        PRICES: [_price(facts) for facts in found.values() if facts["price"]],
    }
    try:
        with tempfile.TemporaryDirectory(dir=directory.parent) as folder:
            new = Path(folder, directory.name)
            new.mkdir()
            replace_file(new / FILE_NAME, _HEAD.format(today=today.isoformat()))
            for schema, rows in tables.items():
                write_rows(new, schema, [row | written for row in rows])
            new.replace(directory)
    except OSError as error:
        raise IoFailureError(f"cannot write the catalog {directory}: {error.strerror}", code="io") from error
    return [str(facts["type"]) for facts in found.values()]


def _read(where: str, texts: Machines, problems: list[str]) -> dict[str, Any]:
    """Return the facts of a place, None for those that no one needs; add what is missing or invalid to the problems."""
    facts: dict[str, Any] = dict.fromkeys(FACTS)
    for name, fact in FACTS.items():
        text = texts.get(name) or ""
        said = f"{where}: {name.replace('_', ' ')}" if where else f"--{name.replace('_', '-')}"
        if not text and (fact.needed == "always" or (fact.needed == "with disks" and facts["disks"] != 0)):
            problems.append(f"{said} is missing, such as {fact.example}")
        elif text:
            try:
                facts[name] = fact.read(text)
            except PlannerError as error:
                problems.append(f"{said}: {error.message}")
    return facts


def _shape(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "instance_type": facts["type"],
        "family": facts["type"],
        "arch": facts["arch"] or "x86_64",
        "vcpu": facts["vcpus"],
        "memory_bytes": facts["memory"],
        "local_disks": facts["disks"],
        "local_disk_bytes": facts["disk_size"],
        "local_disk_kind": facts["disk_kind"],
        "network_baseline_bytes_per_s": facts["network"],
        "machines": facts["machines"],
        "placement_group": False,
        "current_generation": True,
    }


def _disk_rates(facts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if facts["disks"]:
        for mode, rate in (("read_only", facts["disk_read"]), ("write_only", facts["disk_write"])):
            row = {"instance_type": facts["type"], "mode": mode, "disks": facts["disks"], "bytes_per_s": rate}
            yield row | {"aggregate": "documented", "method": "as stated"}


def _price(facts: Mapping[str, Any]) -> dict[str, Any]:
    of = {"instance_type": facts["type"], "region": "here", "pricing": "on-demand"}
    return of | {"price_usd_per_hour": facts["price"]}

"""This machine as a catalog of one type, so that the planner plans for it like any other."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path
from typing import Any, Final

from planner.measurement.instruments.machine import LocalMachine

TYPE: Final = "this-machine"

_HEAD = """title = "This machine, measured just now"
cloud = "local"
currency = "USD"
default_region = "here"
prices_as_of = {today}
hours_per_month = 720

[sources]
trial = {{ title = "a trial of the sort's own path on this machine: {sample} bytes, median of {repeats}" }}
"""


def write_catalog(
    machine: LocalMachine, directory: Path, *, today: date, simultaneous_bytes_per_s: float | None = None
) -> Path:
    """Write the catalog of this machine to the new directory `directory` and return it.

    Its one type has one disk with all the free space, and the rates of the trial, among them the rate of simultaneous
    reading and writing, if known. No prices: nothing is rented.
    """
    directory.mkdir(parents=True)
    head = _HEAD.format(today=today.isoformat(), sample=machine.sample_bytes, repeats=machine.repeats)
    (directory / "catalog.toml").write_text(head, encoding="utf-8")
    seen = {"evidence": "measured", "source": "trial", "as_of": today.isoformat()}
    _write(directory / "instances.csv", [_shape(machine) | seen])
    rates = {"read_only": machine.read_bytes_per_s, "write_only": machine.write_bytes_per_s}
    rates |= {} if simultaneous_bytes_per_s is None else {"simultaneous": simultaneous_bytes_per_s}
    _write(directory / "disks.csv", [_disk(mode, rate, machine.repeats) | seen for mode, rate in rates.items()])
    (directory / "prices.csv").write_text(
        "instance_type,region,pricing,price_usd_per_hour,evidence,source,as_of\n", encoding="utf-8"
    )
    return directory


def _shape(machine: LocalMachine) -> dict[str, Any]:
    return {
        "instance_type": TYPE,
        "family": "local",
        "vcpu": machine.vcpu,
        "memory_bytes": machine.memory_bytes,
        "local_disks": 1,
        "local_disk_bytes": machine.disk_free_bytes,
        "placement_group": "no",
        "current_generation": "yes",
    }


def _disk(mode: str, bytes_per_s: float, repeats: int) -> dict[str, Any]:
    return {
        "instance_type": TYPE,
        "mode": mode,
        "disks": 1,
        "bytes_per_s": bytes_per_s,
        "aggregate": "mean",
        "instances": 1,
        "repeats": repeats,
        "method": "trial of the sort core",
    }


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

"""Assumed electrical power of clouds' machines, which no cloud states: that of the processors, by maker and generation.

`catalogs/processor_power.csv` has Cloud Carbon Footprint's watts per virtual CPU, idle and busy, derived from SPECpower
results. Where they lack a generation, the table names the nearest of its maker that they have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog.instances import Instances
from planner.catalog.tables import Column, Schema, read_table
from planner.config.paths import catalogs_directory

POWER: Final = Schema(
    name="processor_power",
    meaning="power of a virtual CPU by the processor that types have",
    key=("cloud", "types"),
    columns=(
        Column(name="cloud", meaning="cloud of the types"),
        Column(name="types", meaning="regular expression of their names; the first that fits a name counts"),
        Column(name="processor", meaning="whose power it is"),
        Column(name="idle_w_per_vcpu", kind="number", unit="W", above=0, meaning="at rest"),
        Column(name="busy_w_per_vcpu", kind="number", unit="W", above=0, meaning="at full load"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class ProcessorPower:
    """Power of a virtual CPU at rest and at full load, and the processor that it was derived for."""

    processor: str
    idle_w: float
    busy_w: float


def processor_power(cloud: str, instance_type: str) -> ProcessorPower | None:
    """Return the assumed power of a type's virtual CPU; None for a cloud or a type of an unknown kind."""
    return next((power for pattern, power in _powers(cloud) if pattern.fullmatch(instance_type)), None)


def assumed_power_w(cloud: str, instances: Instances) -> Floats:
    """Return the assumed power of each type's busy processors (T,), NaN where none is assumed."""
    powers = [processor_power(cloud, name) for name in instances.cloud_type.tolist()]
    return np.array([power.busy_w if power else np.nan for power in powers]) * instances.vcpu


@lru_cache(maxsize=8)
def _powers(cloud: str) -> tuple[tuple[re.Pattern[str], ProcessorPower], ...]:
    table = read_table(catalogs_directory() / f"{POWER.name}.csv", POWER)
    return tuple(
        (
            re.compile(row["types"]),
            ProcessorPower(
                processor=row["processor"], idle_w=float(row["idle_w_per_vcpu"]), busy_w=float(row["busy_w_per_vcpu"])
            ),
        )
        for row in table.rows()
        if row["cloud"] == cloud
    )

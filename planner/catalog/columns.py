"""Words and columns shared by several files of a catalog."""

from __future__ import annotations

from typing import Final, Literal, get_args

from planner.catalog.tables import Column

Evidence = Literal["measured", "derived", "spec", "extrapolated", "recalled", "assumed"]
EVIDENCE: Final[tuple[str, ...]] = get_args(Evidence)
"""Kinds of evidence, strongest first: `derived` is computed from stated or measured facts, `recalled` unchecked."""

SMALL_IO: Final = ("read4K", "read4M", "write4K", "write4M", "write4K/64")
"""Scalyr's operations: bytes moved at once; writes flushed each, or one in 64."""

MODES: Final = ("simultaneous", "read_only", "write_only")
"""Modes of disk use: reading and writing at once with half the disks each (DiskBench), or only one of the two."""

DERIVED_SOURCE: Final = "disks-alike"
"""The source, in `catalog.toml`, of disk rates that `planner.catalog.disk_derivation` computes."""

AT_LEAST: Final = "at_least"

AGGREGATES: Final = ("mean", "median", "slowest_of_n", "documented", AT_LEAST)
"""Kinds of rate: an average or median per node, the slowest of the n nodes measured together, a documented limit, or a
lower bound from a run that something else limited.
"""


def rate(name: str, meaning: str, *, required: bool = False) -> Column:
    """Return the column of a rate in bytes/s: above 0, blank allowed unless required."""
    return Column(name=name, kind="number", unit="bytes/s", above=0, required=required, meaning=meaning)


def size(name: str, meaning: str, *, required: bool = False) -> Column:
    """Return the column of a size in bytes: above 0, blank allowed unless required."""
    return Column(name=name, kind="number", unit="bytes", above=0, required=required, meaning=meaning)


def number(name: str, unit: str, meaning: str, *, required: bool = False) -> Column:
    """Return the column of a quantity in `unit`: above 0, blank allowed unless required."""
    return Column(name=name, kind="number", unit=unit, above=0, required=required, meaning=meaning)


def count(name: str, meaning: str, *, least: float = 1) -> Column:
    """Return the column of a whole number, blank allowed."""
    return Column(name=name, kind="whole", least=least, required=False, meaning=meaning)


def sigma(name: str, meaning: str) -> Column:
    """Return the column of a standard deviation of ln rate, blank allowed."""
    return Column(name=name, kind="number", least=0, required=False, meaning=meaning)


def choice(name: str, choices: tuple[str, ...], meaning: str, *, required: bool = True) -> Column:
    """Return the column of one of several words."""
    return Column(name=name, kind="choice", choices=choices, required=required, meaning=meaning)


def flag(name: str, meaning: str) -> Column:
    """Return the column of yes or no."""
    return Column(name=name, kind="yes_no", meaning=meaning)


PROVENANCE: Final = (
    choice("evidence", EVIDENCE, "what the fact rests on"),
    Column(name="source", meaning="key into `[sources]` of catalog.toml"),
    Column(name="as_of", kind="day", meaning="day for which the source gives the fact"),
)
TYPE: Final = Column(name="instance_type", meaning="the cloud's name of the type")
REGION: Final = Column(name="region", meaning="the cloud's name of the region")
MODE: Final = choice("mode", MODES, "how the disks or volumes were driven")
AGGREGATE: Final = choice("aggregate", AGGREGATES, "what the figure is over the nodes measured")
METHOD: Final = Column(name="method", meaning="how it was measured")
NOTE: Final = Column(name="note", required=False, meaning="what a reader must know before using the figure")
EXTENT: Final = (
    count("instances", "instances measured"),
    count("repeats", "runs on each"),
    number("period_days", "d", "from the first run to the last"),
)
VARIATION: Final = (
    sigma("within_run_sigma", "standard deviation of ln rate from second to second of a run"),
    sigma("across_time_sigma", "standard deviation of ln rate from run to run of one instance"),
    sigma("across_instances_sigma", "standard deviation of ln rate from instance to instance"),
)
MEASURED: Final = (AGGREGATE, *EXTENT, *VARIATION, METHOD, NOTE, *PROVENANCE)

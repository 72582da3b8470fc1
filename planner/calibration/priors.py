"""Beliefs before any run: a few round numbers, and how far a framework may deviate from them.

A family is a centre and a spread for each coefficient of `physics`. The models `spark` and `framework` weight several
families by how well they explain the runs: output through one stream, limited by a device of one node, by a core or
independently of the machine type, with the rest limited by volumes alone or by cores as well; and, for `framework`,
output that every node writes itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, Final

import numpy as np

from planner.arrays import Floats
from planner.calibration.physics import COEFFICIENTS, FITS, Shape, Stream, WorkingSet
from planner.errors import BadInputError, nearest


@dataclass(frozen=True, kw_only=True)
class Prior:
    """One coefficient before any run: `centre` in its unit and `spread`, the standard deviation of its logarithm (0.3
    is about 30%).

    The exponent `memory` has its spread in its own unit.
    """

    centre: float
    spread: float


AS_A_SORT: Final = Prior(centre=1, spread=1e-5)
"""Work of a job that passes over its data once, as a sort does: the coefficient is fixed."""

OTHER_WORK: Final = Prior(centre=1, spread=1.5)
OTHER_ODDS: Final = 25 / 24
"""A job may not be a sort: it iterates, or its work is not proportional to gigabytes. Each explanation in which cores
count also exists with its work unknown, at these odds, so that these have half of the belief before any run. The amount
of a job's output is then as unknown as its work.
"""
OTHER_RESOURCES: Final[dict[str, Any]] = {
    "disk": Prior(centre=0.5, spread=1.0),
    "network": Prior(centre=0.3, spread=1.2),
    "memory": Prior(centre=0.05, spread=0.05),
}
"""A job that does not sort reads its input, writes and shuffles little of it, and merges nothing in memory.

Few Spark jobs are limited by disks and networks (Ousterhout et al., NSDI 2015); Hadoop jobs write all that they pass on
to disks. How far they lie below a sort's was chosen by leaving out jobs (benchmarks/sizing/README.md).
"""
_COMPUTES: Final = 1000
"""Core GHz s/GB from which cores count; sorters that move bytes at device speed have less."""

SPILL: Final = Prior(centre=64, spread=1.2)
"""Disk passes of data beyond memory: a few in a sort or join, one per iteration elsewhere."""
HOLDS_DATA: Final = 0.75
HOLDS_BY_CORE: Final = 0.2
"""Odds that a Spark job keeps data in memory, and that each of its tasks needs some."""
DATA_HELD_GB_PER_GB: Final = tuple(0.25 * 2 ** (k / 2) for k in range(9))
"""Memory for each GB of data: from compressed blocks to objects four times the size of their text."""
TASK_HELD_GB: Final = 1.0


def working_sets(*, holds_data: float, holds_by_core: float) -> tuple[tuple[WorkingSet, float], ...]:
    """Return possible working sets of a job, with their odds."""
    by_data = ((0.0, 1 - holds_data), *((gb, holds_data / len(DATA_HELD_GB_PER_GB)) for gb in DATA_HELD_GB_PER_GB))
    by_core = ((0.0, 1 - holds_by_core), (TASK_HELD_GB, holds_by_core))
    return tuple((WorkingSet(gb, core), a * b) for gb, a in by_data for core, b in by_core if a * b)


WORKING_SETS: Final = working_sets(holds_data=HOLDS_DATA, holds_by_core=HOLDS_BY_CORE)
"""Chosen by leaving out whole jobs (benchmarks/sizing/README.md)."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """Priors of all coefficients for one kind of software, and its usual scatter of log time between repeats.

    `stream` is the limit of the part that does not spread; of a `selective` job only a share of the data passes there,
    given by an option. Software works `in_memory` if it may hold a `working_set` there.
    """

    name: str
    source: str
    startup: Prior
    per_node: Prior
    disk: Prior
    network: Prior
    cpu: Prior
    serial: Prior
    memory: Prior
    scatter: float
    spill: Prior = AS_A_SORT
    work: Prior = AS_A_SORT
    odds: float = 1.0
    stream: Stream = "core"
    selective: bool = False
    in_memory: bool = False
    working_set: WorkingSet = FITS

    @property
    def shape(self) -> Shape:
        """The parameters that the terms of the physics depend on."""
        return Shape(self.stream, self.selective, self.work is OTHER_WORK, self.working_set)

    @cached_property
    def in_any_memory(self) -> Family:
        """The same without odds and working set, the only differences between families whose data fits."""
        return replace(self, working_set=FITS, odds=1.0)

    @property
    def priors(self) -> tuple[Prior, ...]:
        """The priors in the order of COEFFICIENTS."""
        return tuple(getattr(self, name) for name in COEFFICIENTS)

    @cached_property
    def mean(self) -> Floats:
        """Prior means in the form of `physics.log_seconds`, shape (8,)."""
        centres = np.array([prior.centre for prior in self.priors])
        return np.append(np.log(centres[:-1]), centres[-1])

    @cached_property
    def sd(self) -> Floats:
        """Prior standard deviations, shape (8,)."""
        return np.array([prior.spread for prior in self.priors])

    @cached_property
    def log_density(self) -> float:
        """Log of the odds over the volume of the priors."""
        return math.log(self.odds) - sum(math.log(prior.spread) for prior in self.priors)


_STARTUP: Final = Prior(centre=20, spread=0.5)
_JVM: Final[dict[str, Any]] = {
    "startup": _STARTUP,
    "per_node": Prior(centre=0.5, spread=1.0),
    "disk": Prior(centre=2, spread=0.4),
    "network": Prior(centre=1, spread=0.7),
    "memory": Prior(centre=0.1, spread=0.05),
}
"""Spark and Hadoop on network volumes: 1 MB/s per core and GHz, twice the ideal's disk bytes, 7% less time for twice
the memory.
"""

_STREAMS: Final[tuple[tuple[Stream, str, Prior], ...]] = (
    ("disk", "one node's disk or volume", Prior(centre=1, spread=0.25)),
    ("core", "one core", Prior(centre=25, spread=0.7)),
    ("node", "all cores of one node", Prior(centre=200, spread=0.7)),
    ("network", "one node's network", Prior(centre=1, spread=0.25)),
    ("nothing", "nothing of the machine type", Prior(centre=9, spread=0.7)),
)
"""Limits of the one stream, in words, and the prior of `serial` under each.

Data passes about once through a device, so that its prior is narrow; the rate of a core, or a fixed rate, differs from
job to job.
"""

_REST: Final = (
    ("volumes", Prior(centre=250, spread=0.5), 0.4),
    ("volumes and cores", Prior(centre=1000, spread=0.7), 1.6),
)
"""Limits of the part that spreads, the prior of `cpu` under each, and its odds.

Types with similar volumes cannot separate them. Cores are no limit at 250 core GHz s/GB or less: Spark sorted 100 TB on
206 x 32 cores of 2.5 GHz in 1406 s, volumes and network included, which is 232 (published record of 2014). Cores count
in all of four other Spark jobs (grep, sgd, k-means, PageRank; benchmarks/sizing/README.md), hence the odds of 1 to 4.
"""

ONE_STREAM: Final = tuple(
    Family(
        name=f"one output stream, limited by {limit}; the rest by {rest}",
        source="Spark jobs on EMR (Will et al., IEEE Big Data 2020): grep's output costs 8-9 s/GB at 2 nodes as at 12",
        serial=serial,
        scatter=0.03,
        stream=stream,
        cpu=cpu,
        odds=odds,
        in_memory=True,
        **_JVM,
    )
    for (stream, limit, serial), (rest, cpu, odds) in product(_STREAMS, _REST)
)
DISTRIBUTED: Final = Family(
    name="distributed output",
    source="Hadoop TeraSort on EC2 (Hsu et al., ICDCS 2018): 5-6 core min/GB with no floor up to 48 nodes",
    serial=Prior(centre=0.5, spread=1.5),
    scatter=0.1,
    cpu=Prior(centre=1000, spread=0.4),
    **_JVM,
)
NATIVE: Final = Family(
    name="native",
    source="sorters that move bytes at device speed: Themis (SoCC 2015), Exoshuffle-CloudSort (arXiv 2301.03734)",
    startup=_STARTUP,
    per_node=Prior(centre=0.5, spread=1.0),
    disk=Prior(centre=1.2, spread=0.25),
    network=Prior(centre=1, spread=0.25),
    cpu=Prior(centre=70, spread=0.5),
    serial=Prior(centre=0.0005, spread=1.0),
    memory=Prior(centre=0.0, spread=0.05),
    scatter=0.05,
)

OWN: Final = replace(
    NATIVE,
    name="this project's sort",
    source="models/engines/ray.toml and local.toml: 0.9 s and 0.04 s a node to start, 0.7 to 4.7 processor s/GB",
    startup=Prior(centre=0.9, spread=1.5),
    per_node=Prior(centre=0.04, spread=1.0),
    cpu=Prior(centre=6, spread=1.0),
)
"""A single machine has no start-up, and its exchange takes 3.1 of 4.7 s/GB: hence the wide spreads."""

EVERY_NODE: Final = replace(
    next(family for family in ONE_STREAM if family.stream == "core" and family.cpu.centre >= _COMPUTES),
    name="output by every node; the rest by volumes and cores",
    source="Spark jobs on Dataproc (spark-autoscaling-evaluation): grep of 3.2 TB gets faster with every node, to 16",
    serial=DISTRIBUTED.serial,
)
"""A Spark job that is no sort and has no stream: what such a stream would take is several times such a job's time."""

MODELS: Final = {
    "framework": (*ONE_STREAM, DISTRIBUTED),
    "spark": ONE_STREAM,
    "hadoop": (DISTRIBUTED,),
    "native": (NATIVE,),
    "own": (OWN,),
}
"""The families considered under each model name, equally likely before the first run."""


def families(model: str, *, share_option: str | None = None, holding: bool = True) -> tuple[Family, ...]:
    """Return the families of a model; those with one stream also as selective ones if an option may be the share.

    Of the explanations with unknown work only the selective ones then remain. If jobs may be `holding` data in memory,
    there is one family for each working set.

    Raises BadInputError for an unknown name.
    """
    if model not in MODELS:
        hint = nearest(model, list(MODELS))
        raise BadInputError(
            f"no calibration prior for model {model!r}; use one of {', '.join(MODELS)}.{hint}", code="unknown-model"
        )
    return _families(model, share_option, working_sets=WORKING_SETS if holding else (), spill=SPILL)


@lru_cache(maxsize=64)
def _families(
    model: str, share_option: str | None, *, working_sets: tuple[tuple[WorkingSet, float], ...], spill: Prior
) -> tuple[Family, ...]:
    """Return the families, cached because building them takes a tenth of a fit."""
    of_model = MODELS[model]
    sharing = of_model if share_option is None else tuple(_selective(family, share_option) for family in of_model)
    no_sorts = (*sharing, EVERY_NODE) if any(family in ONE_STREAM for family in of_model) else sharing
    other = (_of_other_work(family) for family in no_sorts if family.cpu.centre >= _COMPUTES)
    of_any_memory = dict.fromkeys((*of_model, *sharing, *other))
    if not working_sets:
        return tuple(of_any_memory)
    return tuple(held for family in of_any_memory for held in _with_working_sets(family, working_sets, spill))


def _with_working_sets(
    family: Family, working_sets: tuple[tuple[WorkingSet, float], ...], spill: Prior
) -> tuple[Family, ...]:
    """Return the family once for each working set if its output passes through one stream and cores count, as Spark
    jobs keep data in memory; other families unchanged.
    """
    if not family.in_memory or family.cpu.centre < _COMPUTES:
        return (family,)
    return tuple(replace(family, working_set=held, spill=spill, odds=family.odds * odds) for held, odds in working_sets)


def _selective(family: Family, share_option: str) -> Family:
    if family not in ONE_STREAM:
        return family
    return replace(family, name=f"{family.name}; {share_option} is the share let out", selective=True)


def _of_other_work(family: Family) -> Family:
    let_out = Prior(centre=family.serial.centre, spread=math.hypot(family.serial.spread, OTHER_WORK.spread))
    resources = {} if family is DISTRIBUTED else OTHER_RESOURCES
    return replace(family, work=OTHER_WORK, serial=let_out, odds=family.odds * OTHER_ODDS, **resources)

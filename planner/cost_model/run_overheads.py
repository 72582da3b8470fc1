"""Overheads of a run beyond the job, as data: boot, installing, screening, loading, teardown and spare nodes.

The papers' cost covers the job alone; budgets must include everything that is billed.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from planner.arrays import Floats
from planner.catalog.manifest import Boot
from planner.config import paths
from planner.errors import BadInputError

_OF_OTHERS: Final = ("boot", "boot_speed", "start_s", "start_per_node_s", "compiled_for")
"""Fields from the cloud, the engine, the installation and what-ifs, not from `run_overheads.toml`."""
_SCALED: Final = ("boot_s", "install_s", "start_s", "start_per_node_s", "screen_s", "teardown_s")
"""Fields that a what-if of `startup` makes faster."""


@dataclass(frozen=True, kw_only=True)
class RunOverheads:
    """Seconds around the job for which every node is paid, the share of spare nodes, and other figures of a run.

    `memory_share` is the bytes of a job's intermediate data per byte of memory, after the sort's own needs; the papers'
    value is from TritonSort's MinuteSort, 20.5 GB on nodes of 24 GB (section 5.5). `cpu_bytes_per_s_per_vcpu` is the
    sort core's own speed; the sigmas are standard deviations of ln(time): `node_sigma` between the nodes of one
    cluster, `shared_sigma` between the equations and a whole run. `staging_request_bytes` is the size of one request to
    an object store. `boot` holds the cloud's measured launches; without them `boot_s` applies. The head
    compiles the software for the processors `compiled_for`; `install_s` is for installing it on all nodes at once;
    `start_s` and, for each node, `start_per_node_s` pass until it has started there.
    `skew` is the fullest node's excess over the mean as a share, and room is left for the data of `lost_nodes`. A sort
    has `partitions_at_once` in memory, and writes each in pieces of at least `pass_buffer_bytes`, by kind of disk;
    `rotating_disk` holds the `Visits` of a rotating disk that serves several streams. The papers have none of these.
    """

    boot_s: float
    screen_s: float
    teardown_s: float
    spare_fraction: float
    file_system_overhead: float
    memory_share: float
    cpu_bytes_per_s_per_vcpu: dict[str, float]
    node_sigma: dict[str, float]
    shared_sigma: float
    staging_request_bytes: dict[str, float]
    notes: dict[str, str]
    skew: float = 0.0
    lost_nodes: float = 0.0
    partitions_at_once: float = 0.0
    pass_buffer_bytes: dict[str, float] = field(default_factory=dict)
    rotating_disk: dict[str, float] = field(default_factory=dict)
    install_s: float = 0.0
    start_s: float = 0.0
    start_per_node_s: float = 0.0
    compiled_for: frozenset[str] = frozenset()
    boot: Boot | None = None
    boot_speed: Floats | float = 1.0
    """Factor of the speed of measured launches."""

    def with_head_room(self, share: float | None) -> RunOverheads:
        """Return the figures of a request that keeps a `share` of the disks free; None keeps the shipped share."""
        return self if share is None else replace(self, skew=1 / (1 - share) - 1, lost_nodes=0.0)

    def in_cloud(self, boot: Boot | None) -> RunOverheads:
        """Return the figures for a cloud with measured launches; machines that do not boot are unchanged."""
        return replace(self, boot=boot) if self.boot_s else self

    def times(self, factor: Floats | float) -> RunOverheads:
        """Return the figures with boot, installation, screening and teardown `factor` times as fast; if it is an array
        (N,), they are of clusters of `nodes` (N,) alone.
        """
        shorter = {name: getattr(self, name) / factor for name in _SCALED}
        return replace(self, boot_speed=self.boot_speed * factor, **shorter)

    def booting_s(self, nodes: Floats) -> Floats:
        """Return the expected seconds until all of `nodes` (N,) answer."""
        if self.boot is None:
            return np.full(nodes.shape, self.boot_s)
        return expected_boot_s(self.boot, nodes) / self.boot_speed

    def late_booting_s(self, nodes: Floats) -> Floats:
        """Return the 95th percentile of those seconds; an assumed figure has no separate one."""
        if self.boot is None:
            return np.full(nodes.shape, self.boot_s)
        return late_boot_s(self.boot, nodes) / self.boot_speed

    @property
    def boot_note(self) -> str:
        """Basis of the seconds until all nodes answer."""
        if self.boot is None:
            return "assumed: no launches of this cloud were measured"
        return f"{self.boot.evidence}: the slowest node, from {self.boot.launches} launches of all types"

    def starting_s(self, nodes: Floats) -> Floats:
        """Return the seconds until the software runs on all of `nodes` (N,)."""
        return np.asarray(self.start_s + self.start_per_node_s * nodes)

    def fixed_s(self, nodes: Floats) -> Floats:
        """Return the seconds around the job, once all of `nodes` (N,) answer, that do not depend on the data."""
        return self.install_s + self.screening_s(nodes) + self.teardown_s + self.starting_s(nodes)

    def screening_s(self, nodes: Floats) -> Floats:
        """Return the seconds of screening `nodes` (N,): a single one is compared with nothing."""
        return np.asarray(np.where(nodes > 1, self.screen_s, 0.0))

    def ready_s(self, nodes: Floats) -> Floats:
        """Return the expected seconds until all of `nodes` (N,) are booted, equipped and screened."""
        return self.booting_s(nodes) + self.install_s + self.screening_s(nodes)


PAPER = RunOverheads(
    boot_s=0.0,
    screen_s=0.0,
    teardown_s=0.0,
    spare_fraction=0.0,
    file_system_overhead=0.0,
    memory_share=20.5 / 24,
    cpu_bytes_per_s_per_vcpu={"partition": float("inf"), "sort": float("inf")},
    node_sigma={},
    shared_sigma=0.0,
    staging_request_bytes={"read": float("inf"), "write": float("inf")},
    notes={"all": "the papers' equations: nothing but the job, no CPU, no variation"},
)
"""Overheads used by `--paper`."""


def existing_machines() -> RunOverheads:
    """Return the figures for existing machines, measured on the sort's own path: nothing boots, is screened or ends,
    there are no spares, and the measured rates include file system and processors.
    """
    return replace(
        shipped(),
        boot_s=0.0,
        install_s=0.0,
        start_s=0.0,
        start_per_node_s=0.0,
        screen_s=0.0,
        teardown_s=0.0,
        spare_fraction=0.0,
        file_system_overhead=0.0,
        cpu_bytes_per_s_per_vcpu=PAPER.cpu_bytes_per_s_per_vcpu,
        skew=0.0,
        lost_nodes=0.0,
        partitions_at_once=0.0,
        rotating_disk={},
    )


@lru_cache(maxsize=1)
def shipped() -> RunOverheads:
    """Return the shipped figures. Raises BadInputError if their file is damaged."""
    path = paths.catalogs_directory() / "run_overheads.toml"
    document: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    names = [column.name for column in fields(RunOverheads) if column.name not in _OF_OTHERS]
    missing = [name for name in names if name not in document]
    if missing:
        raise BadInputError(f"{path}: missing {', '.join(missing)}; reinstall the package", code="not-installed")
    return RunOverheads(**{name: document[name] for name in names})


_COMPILER_S: Final = 90.0
"""Seconds until the head's apt has fetched and installed the compiler through the caller's connection; assumed."""
_CORE_CPU_S: Final = 300.0
"""Processor seconds to compile the sort core and pack it; measured on x86-64: 303 s."""
_MOST_JOBS: Final = 8
"""More processors do not help: a few files take most of the time; assumed."""


def compiling_s(vcpus: Floats | float) -> Floats:
    """Return the expected seconds to compile the sort core on heads with `vcpus` processors."""
    return np.asarray(_COMPILER_S + _CORE_CPU_S / np.clip(np.nan_to_num(vcpus), 1.0, _MOST_JOBS))


_Z90, _Z95 = (NormalDist().inv_cdf(probability) for probability in (0.9, 0.95))
MOST_NODES: Final = 1_000_000


def expected_boot_s(boot: Boot, nodes: Floats) -> Floats:
    """Return the expected seconds until all of `nodes` (N,) answer."""
    median_s, sigma = _slowest(boot, nodes.tobytes())
    return np.asarray(median_s * np.exp(sigma**2 / 2)).reshape(nodes.shape)


def late_boot_s(boot: Boot, nodes: Floats) -> Floats:
    """Return the 95th percentile of those seconds, never less than that of the launches measured."""
    median_s, sigma = _slowest(boot, nodes.tobytes())
    return np.asarray(np.maximum(median_s * np.exp(_Z95 * sigma), boot.p95_s)).reshape(nodes.shape)


@lru_cache(maxsize=64)
def _slowest(boot: Boot, nodes: bytes) -> tuple[Floats, Floats]:
    """Return the median of the slowest of each number of nodes, and the standard deviation of its logarithm.

    Seconds from launch call to answer are taken as lognormal: the part that the nodes of one launch do not share varies
    by `node_sigma`, the shared part (type, place, hour) makes up the rest of the spread over all launches.
    """
    shared_sigma = math.sqrt(max(0.0, (math.log(boot.p90_s / boot.median_s) / _Z90) ** 2 - boot.node_sigma**2))
    normal, counts = NormalDist(), np.frombuffer(nodes).clip(1, MOST_NODES).tolist()
    half, late = (np.array([normal.inv_cdf(p ** (1 / count)) for count in counts]) for p in (0.5, 0.95))
    slowest_sigma = boot.node_sigma * (late - half) / _Z95
    return boot.median_s * np.exp(boot.node_sigma * half), np.hypot(slowest_sigma, shared_sigma)

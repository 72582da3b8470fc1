"""Sorts on emulated nodes and the cost of each of their phases: its seconds, and the processor seconds."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psutil
from kill_inputs import MADE

from planner.clusters.emulated.cluster import HEAD
from planner.clusters.emulated.ray import NODE_STORE_BYTES, EmulatedRay, emulated_ray
from planner.clusters.emulated.shaping import Cap, Shaping, parse_shaping
from planner.clusters.emulated.sort_trial import CpuMeter
from planner.clusters.ray.driver_session import Session
from planner.measurement.instruments.machine import LocalMachine

RECORD_BYTES: Final = 100
PHASES: Final = ("sample", "map and shuffle", "sort and reduce")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """`nodes` emulated nodes behind links of `rate` ('' for no cap, or one for each) sort `data_bytes` and write
    `copies`. With a `bucket` links begin at `burst_rate`. The data has one of the forms of `kill_inputs.py`.

    Each has an object store of `store_bytes`, and may sort in the same amount of memory in addition.
    """

    nodes: int
    copies: int
    data_bytes: int
    rate: str = ""
    store_bytes: int = NODE_STORE_BYTES
    bucket: str = ""
    burst_rate: str = ""
    form: str = "records"

    def shaping(self) -> Shaping:
        """Return the source of the links' caps."""
        return parse_shaping(rate=self.rate or None, bucket=self.bucket or None, burst_rate=self.burst_rate or None)

    def caps(self) -> list[Cap | None]:
        """Return the cap of each node's link."""
        return self.shaping().draws(self.nodes).draw()


@dataclass(frozen=True, kw_only=True)
class PhaseCost:
    """A phase of one sort: its seconds, the processor seconds of the nodes and of the head, and during the whole sort
    those of everything else on this machine; slices, partitions and tasks of the whole job. `machine` has the rates of
    this machine in one earlier sort, None if not measured.
    """

    shape: Shape
    name: str
    seconds: float
    nodes_cpu_s: float
    head_cpu_s: float
    slices: int
    partitions: int
    tasks: int
    others_cpu_s: float
    machine: LocalMachine | None = None


@contextmanager
def cluster_of(shape: Shape, folder: Path | None) -> Iterator[tuple[EmulatedRay, Session, Path]]:
    """Yield a cluster of a shape, a session on it, and the place of its journal."""
    with (
        TemporaryDirectory(dir=folder) as directory,
        emulated_ray(
            workers=shape.nodes, shaping=shape.shaping(), directory=Path(directory), store_bytes=shape.store_bytes
        ) as cluster,
        cluster.session() as session,
    ):
        if not cluster.nodes.is_shaped:
            sys.exit("processor time by node needs network namespaces: run as root, with ip and tc")
        yield cluster, session, cluster.nodes.directory(HEAD) / "trial.journal"


def generated(cluster: EmulatedRay, session: Session, shape: Shape) -> dict[str, Any]:
    """Generate a dataset on the nodes; return it, with its checksum if it is of records."""
    if shape.form == "records":
        return session.do({"do": "generate", "records": shape.data_bytes // RECORD_BYTES}, lambda _: None)
    made = MADE[shape.form](cluster, shape.data_bytes // RECORD_BYTES // shape.nodes)
    return {"dataset": json.loads(made.source.to_json()), "checksum": None}


def sorted_once(
    cluster: EmulatedRay,
    session: Session,
    source: dict[str, Any],
    *,
    shape: Shape,
    journal: Path,
    machine: LocalMachine | None = None,
) -> list[PhaseCost]:
    """Sort and return the cost of each phase; end with an error unless the output is the input in order."""
    request = {"source": source["dataset"], "output": "output", "copies": shape.copies}
    meter, before_s = CpuMeter(cluster.nodes), busy_cpu_s()
    report = session.do({"do": "sort", "request": request, "journal": str(journal)}, meter.on_event)["report"]
    meter.begin_phase("")
    busy_s = busy_cpu_s() - before_s
    if not report["sorted"] or source["checksum"] not in (None, report["checksum"]):
        sys.exit(f"wrong output: checksum {report['checksum']}, the input's {source['checksum']}")
    return [
        PhaseCost(
            shape=shape,
            name=phase,
            seconds=float(report["phases_s"][phase]),
            nodes_cpu_s=meter.spent_s[phase] - meter.head_s[phase],
            head_cpu_s=meter.head_s[phase],
            slices=int(report["slices"]),
            partitions=int(report["partitions"]),
            tasks=int(report["tasks"]),
            others_cpu_s=busy_s - sum(meter.spent_s[name] for name in PHASES),
            machine=machine,
        )
        for phase in PHASES
    ]


def busy_cpu_s() -> float:
    """Return the processor seconds of this machine so far, of all programs together."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)

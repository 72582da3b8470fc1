"""Machines rented to be measured: repeated rounds of every instrument on all of them, in random order.

Machines have their own disks, so all are measured at once. The instruments' results are kept, one file per machine and
round, for `planner screen` and `planner ingest`.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from planner.catalog.columns import SMALL_IO
from planner.clouds.order import Order
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, down, up
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.remote.bootstrap import Equipped, equip, wait_for_head
from planner.clusters.remote.ssh import Ssh, of_success
from planner.clusters.remote.wheelhouse import Wheelhouse
from planner.clusters.runs.node_benchmarks import (
    SMALL_IO_RUNS,
    Effort,
    cluster_sizes,
    disk_documents,
    network_document,
    small_io_documents,
)
from planner.errors import InterruptedRunError, IoFailureError, PlannerError
from planner.measurement.ingest.ingest import readings_of
from planner.measurement.ingest.measurement import Measurement, complete_reading, merge_readings
from planner.units import count_text

READY_S: Final = 900.0
"""Time until machines can be measured: launching them and installing the software; assumed."""
_SMALL_RUNS: Final = 0.2
"""Share of a DiskBench run's seconds that each run of the small-io suite takes."""
INSTRUMENTS: Final = ("disk", "small-io", "network")


@dataclass(frozen=True, kw_only=True)
class FleetTask:
    """`rounds` of all instruments, spread evenly over `over_s`; `effort` is that of each DiskBench and NetBench run."""

    effort: Effort
    nodes: int
    rounds: int
    over_s: float = 0.0
    seed: int = 1

    @property
    def round_s(self) -> float:
        """Duration of a round."""
        small_s = SMALL_IO_RUNS * self.effort.seconds * _SMALL_RUNS
        network_s = cluster_sizes(self.nodes) * self.effort.seconds * self.effort.repeats
        return self.effort.disk_s + small_s + network_s

    @property
    def expected_s(self) -> float:
        """Time for which machines are needed."""
        last_s = max(self.over_s, self.round_s * (self.rounds - 1))
        return READY_S + last_s + self.round_s


def measure_fleet(
    task: FleetTask,
    order: Order,
    places: Sequence[Place],
    directory: RunDirectory,
    session: ProviderSession,
    *,
    wheelhouse: Wheelhouse,
    results: Path,
) -> tuple[list[Path], Place]:
    """Rent, measure, take everything down, and return the instruments' files and the machines' place.

    Whatever happens, nothing is left in the cloud; files written before a failure remain. Raises what `up` and `equip`
    raise, IoFailureError when nothing could be measured, LeftBehindError.
    """
    cluster = up(order, places, directory, session)
    try:
        with Ssh(cluster.nodes, directory=directory.path, key=directory.key, jump=order.jump) as ssh:
            wait_for_head(ssh, cluster.head, session.provider, policy=session.policy, say=session.say)
            equipment = equip(ssh, cluster.nodes, wheelhouse, policy=session.policy, say=session.say)
            for name, why in equipment.failed.items():
                session.say(f"not measured: {name}: {why}")
            paths = _rounds(task, ssh, equipment.ready, results, session.say)
    except KeyboardInterrupt as error:
        down(directory, session)
        raise InterruptedRunError(f"run {order.run}: interrupted; all that was created has been removed") from error
    except BaseException:
        down(directory, session)
        raise
    down(directory, session)
    if not paths:
        raise IoFailureError(f"run {order.run}: no machine could be measured", code="not-measured")
    return paths, cluster.place


def _rounds(
    task: FleetTask, ssh: Ssh, machines: Sequence[Equipped], results: Path, say: Callable[[str], None]
) -> list[Path]:
    shuffled, began, paths = random.Random(task.seed), time.monotonic(), []
    for number in range(task.rounds):
        due = began + task.over_s * number / max(1, task.rounds - 1)
        time.sleep(max(0.0, due - time.monotonic()))
        order = [name for name in INSTRUMENTS if name != "network" or len(machines) > 1]
        for instrument in shuffled.sample(order, len(order)):
            say(f"round {number + 1} of {task.rounds}: {instrument} of {count_text(len(machines), 'machine')}")
            for name, document in _measure(task, ssh, machines, instrument, say).items():
                path = results / f"{number + 1}-{instrument}-{name}.json"
                path.write_text(json.dumps(document), encoding="utf-8")
                paths.append(path)
    return paths


def _measure(
    task: FleetTask, ssh: Ssh, machines: Sequence[Equipped], instrument: str, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Return an instrument's results by machine, or the network's for all. Failures are reported and left out."""
    effort = task.effort
    if instrument == "network":
        try:
            document, names, silent = network_document(ssh, machines, effort, is_doubling=True, say=say)
        except PlannerError as error:
            say(f"the network could not be measured: {error}")
            return {}
        for name, why in silent.items():
            say(f"not measured: {name}: {why}")
        return {"all": _with_machine_ids(document, names)}
    if instrument == "disk":
        outcomes = disk_documents(ssh, machines, effort)
    else:
        seconds = effort.seconds * _SMALL_RUNS
        outcomes = small_io_documents(ssh, machines, seconds=seconds, file_bytes=effort.file_bytes)
    for name, outcome in outcomes.items():
        if isinstance(outcome, PlannerError):
            say(f"{instrument} of {name} failed: {outcome}")
    return {name: {**document, "host": name} for name, document in of_success(outcomes).items()}


def _with_machine_ids(document: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return NetBench's document with the machines' ids in place of their addresses."""
    for run in document["runs"]:
        for node in run["per_node"]:
            node["address"] = names.get(node["address"], node["address"])
    return document


def fleet_measurements(
    paths: Sequence[Path], place: Place, *, run: str, instance_type: str, volume_type: str | None, volumes: int | None
) -> list[Measurement]:
    """Return the fleet's figures: each machine's mean over the rounds, and the mean of these over the machines.

    So the spread over time and the spread between machines stay separate, and both counts are the real ones.
    """
    by_machine: dict[str, list[Path]] = {}
    for path in paths:
        by_machine.setdefault(path.stem.partition("-")[2], []).append(path)
    rows = [
        row
        for files in by_machine.values()
        for row in merge_readings(
            [{**reading, "file": path.resolve()} for path in files for reading in readings_of(path, mapping={})],
            files_are="repeats",
        )
    ]
    common = {"zone": place.zone or place.region}
    near = {"placement_group": "yes" if place.choice.placement_group else "no"}

    def circumstances(quantity: str) -> dict[str, Any]:
        if quantity == "network":
            return common | near
        # The small-io suite measures only one disk of each machine.
        is_single = quantity in SMALL_IO
        if volume_type:
            return common | {"volume_type": volume_type, "volumes": 1 if is_single else volumes}
        return common | ({"disks": 1} if is_single else {})

    return [
        replace(
            complete_reading(row, circumstances(row["quantity"])),
            instance_type=instance_type,
            source=f"bench fleet {run}",
        )
        for row in merge_readings(rows, files_are="instances")
    ]

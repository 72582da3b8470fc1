"""`planner run --cloud aws`: the whole run on rented machines."""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.cli import renting
from planner.cli.cluster_progress import heard_events
from planner.cli.console import talk
from planner.cli.interrupts import orderly_end
from planner.errors import IoFailureError, PlannerError

if TYPE_CHECKING:
    from planner.cluster.node_trials import Effort
    from planner.cluster.run_directory import RunDirectory
    from planner.cluster.up import Hands
    from planner.cluster.wheelhouse import Wheelhouse
    from planner.plan import Plan
    from planner.run_report import RunReport

_NAMES = {"aarch64": "arm64"}
"""What clouds call a processor that Linux calls otherwise."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to run, beside where."""

    data: str
    model: str
    instances: tuple[str, ...] = ()
    nodes: int | None = None
    memory_bytes: int | None = None
    skew: bool = False
    keep: bool = False
    wheelhouse: Path | None = None


def rehearse_rented(job: Job, wishes: renting.Wishes, *, json: bool) -> None:
    """Print every request of launching and taking down."""
    provider = _hands(wishes).provider
    order = renting.ordered(_plan(job, wishes), wishes, is_rehearsal=True)
    renting.show_rehearsal(order, provider, json=json)


def run_rented(job: Job, wishes: renting.Wishes, *, effort: Effort, yes: bool) -> RunReport:
    """Plan, ask, rent, run, take down, and remember what was measured."""
    from planner.cluster.cloud_run import REPORT, CloudRun, check_runnable, run_on_cloud
    from planner.cluster.up import begin

    hands = _hands(wishes)
    plan = _plan(job, wishes)
    check_runnable(plan)
    order = renting.ordered(plan, wishes, is_rehearsal=False)
    with _wheels(job.wheelhouse) as wheelhouse:
        run = CloudRun(
            plan=plan,
            wheelhouse=wheelhouse,
            effort=effort,
            memory_bytes=job.memory_bytes,
            skew=job.skew,
            keep=job.keep,
        )
        places = renting.agreed_places(order, hands.provider, wishes.limits, yes=yes)
        with orderly_end():
            keyed, directory = begin(order)
            with directory.held():
                report = run_on_cloud(run, keyed, places, directory, hands, listening=heard_events)
    talk(f"report: {directory.path / REPORT}")
    _remember(directory)
    return report


def _hands(wishes: renting.Wishes) -> Hands:
    """Return what works on a cloud. Raises BadInputError for unknown clouds, IoFailureError without SSH."""
    hands = renting.hands_of(wishes.cloud)
    if not shutil.which("ssh"):
        raise IoFailureError("ssh is missing, by which rented machines are reached; install OpenSSH's client")
    return hands


def _plan(job: Job, wishes: renting.Wishes) -> Plan:
    """Plan for machines with one local disk, which is what the cluster sort uses, and with this one's processor unless
    the user brings wheels for others.
    """
    from planner.cluster.cloud_run import types_with_one_disk

    machine = platform.machine()
    plan = renting.plan_of(
        None,
        wishes,
        data=job.data,
        model=job.model,
        instances=types_with_one_disk(wishes.cloud, job.instances),
        nodes=job.nodes,
        architecture=None if job.wheelhouse else _NAMES.get(machine, machine),
    )
    return replace(plan, rejected=())  # each would name all the types that were asked for


@contextmanager
def _wheels(directory: Path | None) -> Iterator[Wheelhouse]:
    """Yield the software to bring along, made now unless the user has made it before."""
    from planner.cluster.wheelhouse import make_wheels, pack

    with tempfile.TemporaryDirectory(prefix="planner-wheels-") as made:
        if directory is None:
            talk("collecting the software that the machines need")
            directory = Path(made) / "wheels"
            make_wheels(directory, architecture=platform.machine())
        yield pack(directory, Path(made) / "wheels.tar")


def _remember(directory: RunDirectory) -> None:
    from planner.cluster.cloud_run import remember

    try:
        talk(f"measurements stored in {remember(directory)}; they override the shipped figures of the next plan")
    except PlannerError as error:
        talk(f"measurements not stored: {error.message}")

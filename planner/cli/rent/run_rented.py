"""`planner run --cloud aws`: the whole run on rented machines."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING

from planner.api import clusters
from planner.api.input_format import InputFormat
from planner.api.rental_options import RentalOptions
from planner.cli.rent import renting
from planner.cli.shell.cluster_progress import shown_events
from planner.cli.shell.console import talk
from planner.cli.shell.interrupts import orderly_end
from planner.errors import BadInputError, IoFailureError, PlannerError
from planner.units import parse_seconds, parse_size

if TYPE_CHECKING:
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.remote.wheelhouse import Wheelhouse
    from planner.clusters.runs.node_benchmarks import Effort
    from planner.clusters.runs.store_credentials import StoreAccess
    from planner.distributed_sort.dataset.dataset import Dataset
    from planner.schemas.plan import Plan
    from planner.schemas.run_report import RunReport

_NAMES = {"aarch64": "arm64"}
"""What clouds call a processor that Linux calls otherwise."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to run, beside where. `input` and `output` are prefixes in an object store; `is_lent` hands its keys to the
    nodes. `data` is needed where there is no `input`. `is_detached` leaves the run as soon as its sort has begun.
    """

    data: str | None
    model: str
    instances: tuple[str, ...] = ()
    nodes: int | None = None
    memory_bytes: int | None = None
    skew: bool = False
    keep: bool = False
    wheelhouse: Path | None = None
    input: str | None = None
    output: str | None = None
    is_lent: bool = False
    is_detached: bool = False
    form: InputFormat = field(default_factory=InputFormat)


def show_rented_dry_run(job: Job, rental: RentalOptions, *, verbose: bool, json: bool) -> None:
    """Print what would be rented, and with `verbose` every request of launching and taking down."""
    from planner.clusters.runs.cloud import check_runnable

    provider = session_with_ssh(rental).provider
    _access(job, rental)
    data_bytes = None if job.data is None else parse_size(job.data)
    check_runnable(job.model, data_bytes=data_bytes, input=job.input, output=job.output)
    if job.data is None:
        job = _sized(job, dataset_to_sort(None, input=job.input, output=None, form=job.form))
    if not json:
        _say_architecture(job)
    order = clusters.ordered(_plan(job, rental), rental, is_dry_run=True)
    renting.show_dry_run(order, rental, provider, verbose=verbose, json=json)


def run_rented(job: Job, rental: RentalOptions, *, effort: Effort, yes: bool) -> RunReport | None:
    """Plan, ask, rent, run, take down, and remember what was measured. A detached job has no report yet."""
    from planner.clusters.provisioning.cluster_lifecycle import begin
    from planner.clusters.runs.cloud import check_runnable, run_on_cloud
    from planner.clusters.runs.cloud_task import CloudRun, CloudTask

    session = session_with_ssh(rental)
    access = _access(job, rental)
    data_bytes = None if job.data is None else parse_size(job.data)
    check_runnable(job.model, data_bytes=data_bytes, input=job.input, output=job.output)
    source = dataset_to_sort(job.data, input=job.input, output=job.output, form=job.form)
    job = _sized(job, source)
    _say_architecture(job)
    plan = _plan(job, rental)
    order = clusters.ordered(plan, rental, is_dry_run=False)
    with wheels(job.wheelhouse, is_table=job.form.is_table) as wheelhouse:
        task = CloudTask(
            plan=plan,
            effort=effort,
            memory_bytes=job.memory_bytes,
            skew=job.skew,
            keep=job.keep,
            source=None if source is None else loads(source.to_json()),
            is_lent=job.is_lent,
        )
        run = CloudRun(task=task, wheelhouse=wheelhouse, store=access.environment)
        order, places = clusters.confirm_order(
            order, session.provider, rental.limits, confirm=renting.asking(yes=yes), say=talk
        )
        with orderly_end():
            keyed, directory = begin(order)
            with directory.held():
                report = run_on_cloud(
                    run, keyed, places, directory, session, listening=shown_events, is_detached=job.is_detached
                )
    if report is not None:
        remember_run(directory)
    return report


def effort_of(length: str, size: str | None) -> Effort:
    """Return how long machines are measured, and by how large a file. Raises BadInputError below a tenth of a second,
    in which nothing can be measured.
    """
    from planner.clusters.runs.node_benchmarks import Effort

    if (seconds := parse_seconds(length)) < 0.1:
        raise BadInputError(f"--screen-seconds {length}: must be 0.1s at least")
    return Effort(seconds=seconds, file_bytes=None if size is None else parse_size(size))


def session_with_ssh(rental: RentalOptions) -> ProviderSession:
    """Return what works on a cloud. Raises BadInputError for unknown clouds, IoFailureError without SSH."""
    session = renting.session_on(rental.cloud)
    if not shutil.which("ssh"):
        raise IoFailureError("ssh is missing, by which rented machines are reached; install OpenSSH's client")
    return session


def _architecture(job: Job) -> str | None:
    """Return the only processors that machines may have; None for any, where the user brings software for them."""
    return None if job.wheelhouse else _NAMES.get(platform.machine(), platform.machine())


def _say_architecture(job: Job) -> None:
    if architecture := _architecture(job):
        talk(f"types with {architecture} processors alone, as this machine's software is; --wheelhouse brings others")


def _plan(job: Job, rental: RentalOptions) -> Plan:
    """Plan for machines with local disks, on which the cluster sort works, and with this one's processor unless the
    user brings wheels for others.
    """
    from planner.clusters.runs.cloud import types_with_disks
    from planner.planning.recommendation import require_best

    plan = renting.plan_of(
        None,
        rental,
        data=job.data,
        model=job.model,
        instances=types_with_disks(rental.cloud, job.instances),
        nodes=job.nodes,
        architecture=_architecture(job),
        input=job.input,
        output=job.output,
    )
    require_best(plan)
    return replace(plan, rejected=())  # each would name all the types that were asked for


def _sized(job: Job, source: Dataset | None) -> Job:
    return job if source is None else replace(job, data=f"{source.bytes}B")


def _access(job: Job, rental: RentalOptions) -> StoreAccess:
    from planner.clusters.runs.store_credentials import access_to

    uris = [uri for uri in (job.input, job.output) if uri]
    return access_to(uris, cloud=rental.cloud, identity=rental.node_identity, is_lent=job.is_lent, environ=os.environ)


def dataset_to_sort(data: str | None, *, input: str | None, output: str | None, form: InputFormat) -> Dataset | None:
    """Look from here, before anything is rented or begun, at what there is to sort; None where it is generated. Input
    and output are prefixes of an object store, or paths of this machine where the nodes reach these.

    Raises BadInputError when there is nothing, or not as much as was said, or something where the output is to go.
    """
    from planner.distributed_sort.dataset.dataset import Layout
    from planner.distributed_sort.staging import dataset_below, require_empty

    source = None
    if input:
        source = form.dataset(input, say=talk) if form.has_keys else dataset_below(input, Layout())
    if source is not None and data is not None and parse_size(data) != source.bytes:
        raise BadInputError(f"--data {data}: {input} holds {source.bytes} bytes; leave --data out")
    if output:
        require_empty(output)
    return source


@contextmanager
def wheels(directory: Path | None, *, is_table: bool = False) -> Iterator[Wheelhouse]:
    """Yield the software to bring along, made now unless the user has made it before. Raises BadInputError where it
    lacks what tables need.
    """
    from planner.clusters.remote.wheelhouse import make_wheels, pack, require_tables

    with tempfile.TemporaryDirectory(prefix="planner-wheels-") as made:
        if directory is None:
            talk("collecting the software that the machines need")
            directory = Path(made) / "wheels"
            make_wheels(directory, architecture=platform.machine())
        if is_table:
            require_tables(directory)
        yield pack(directory, Path(made) / "wheels.tar")


def remember_run(directory: RunDirectory) -> None:
    """Say where the report is, and keep what was measured for the next plan."""
    from planner.clusters.runs.cloud import remember
    from planner.clusters.runs.rented_run import REPORT

    talk(f"report: {directory.path / REPORT}")

    try:
        talk(f"measurements stored in {remember(directory)}; they override the shipped figures of the next plan")
    except PlannerError as error:
        talk(f"measurements not stored: {error.message}")

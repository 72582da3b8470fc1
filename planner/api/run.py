"""Whole runs from Python, `planner.run(...)`: here, on an emulated cluster, or on rented machines."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from planner.api import clusters
from planner.api.clusters import Confirm, Say, silent
from planner.api.input_format import InputFormat
from planner.api.rental_options import RentalOptions
from planner.api.software import (
    Delivery,
    architecture_of,
    delivery_to,
    of_one_processor,
    requested_architecture,
    wheels,
    with_software,
)
from planner.errors import BadInputError, InterruptedRunError, IoFailureError, PlannerError
from planner.schemas.door import Bytes, Count, checked
from planner.schemas.plan import Plan
from planner.units import parse_seconds, parse_size

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.clouds.order import ClusterOffer, Order
    from planner.clusters.emulated.shaping import Shaping
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.cloud_task import CloudRun, CloudTask
    from planner.clusters.runs.node_benchmarks import Effort
    from planner.clusters.runs.store_credentials import StoreAccess
    from planner.distributed_sort.dataset.dataset import Dataset
    from planner.schemas.run_report import RunReport

Place = Literal["emulated", "aws", "gcp", "azure"]
EMULATED: Final = "emulated"
EMULATED_NODES = 4

OnEvent = Callable[[dict[str, Any]], None]


@checked
@dataclass(frozen=True, kw_only=True)
class Work:
    """Job of a run, without its place. `input` and `output` are prefixes in an object store, or paths; `is_lent` hands
    the store's keys to the nodes. `data` is required without `input`. `is_detached` leaves the run as soon as its sort
    has started. `directory` and `threads` are for runs on this machine. `asked` are
    the words after `planner` that the user gave, which repeat the run: none for calls from Python.
    """

    data: str | None
    model: str
    instances: tuple[str, ...] = ()
    nodes: int | None = None
    arch: str | None = None
    memory_bytes: Bytes | None = None
    skew: bool = False
    keep: bool = False
    wheelhouse: Path | None = None
    input: str | None = None
    output: str | None = None
    is_lent: bool = False
    is_detached: bool = False
    form: InputFormat = field(default_factory=InputFormat)
    directory: Path = Path()
    threads: Count | None = None
    asked: tuple[str, ...] = ()


@contextmanager
def _unwatched(name: str) -> Iterator[Any]:
    from planner.native import Progress

    del name
    yield Progress()


@contextmanager
def _ignored_events() -> Iterator[OnEvent]:
    yield lambda event: None


@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Callbacks of a run: `say` gets messages, `watch` yields the progress of a named step on this machine, `events`
    gets the events of a sort on a cluster. `guard`, such as a signal handler, is held while machines are rented.
    """

    say: Say = silent
    watch: Callable[[str], AbstractContextManager[Any]] = _unwatched
    events: Callable[[], AbstractContextManager[OnEvent]] = _ignored_events
    guard: Callable[[], AbstractContextManager[None]] = nullcontext


@checked
def run(
    work: Work | Plan | Recommendation | str,
    *,
    cloud: Place | None = None,
    rental: RentalOptions | None = None,
    shaping: Shaping | None = None,
    effort: Effort | None = None,
    confirm: Confirm = False,
    listeners: Listeners = Listeners(),  # frozen
) -> RunReport | None:
    """Run a plan, or some work, and return predicted and measured figures; None for a detached run.

    `work` is a plan or an answer of `recommend`, whose cluster is used on rented machines and whose data and model are
    used elsewhere; or the amount of data, such as "1GB". Without a `cloud` the work runs on this machine; "emulated"
    caps links by `shaping`; others rent, which needs `confirm`. Data that fails validation is reported, not raised.

    >>> import planner
    >>> planner.run("1MB").passed
    True
    """
    work = _work_of(work)
    if cloud is None and rental is None:
        return run_here(work, listeners=listeners)
    if cloud == EMULATED:
        return run_emulated(work, shaping=shaping, listeners=listeners)
    if confirm is False:
        raise BadInputError("nothing was done: renting needs a confirmation; pass confirm=True, or what is asked")
    where = rental or RentalOptions(cloud=cloud or "", staging=bool(work.input or work.output))
    return run_rented(work, where, effort=effort or effort_of("5s", None), confirm=confirm, listeners=listeners)


def _work_of(work: Work | Plan | Recommendation | str) -> Work:
    if isinstance(work, Work):
        return work
    if isinstance(work, str):
        return Work(data=work, model="daytona")
    from planner.planning.recommendation import require_best

    plan = work if isinstance(work, Plan) else work.plan
    best, request = require_best(plan), plan.request
    return Work(
        data=f"{request.data_bytes}B",
        model=best.model,
        instances=(best.instance_type,),
        nodes=best.nodes,
        input=request.input,
        output=request.output,
        form=InputFormat(format=request.format),  # type: ignore[arg-type]
    )


def run_here(work: Work, *, listeners: Listeners) -> RunReport:
    """Run the work on this machine with generated data. Raises the errors of `run_local`."""
    from planner.clusters.runs.local import LocalRun, run_local

    local_run = LocalRun(
        data_bytes=parse_size(work.data or ""),
        model=work.model,
        directory=work.directory,
        memory_bytes=work.memory_bytes,
        threads=work.threads,
    )
    report = run_local(local_run, say=listeners.say, watch=listeners.watch)
    return replace(report, asked=work.asked)


def run_emulated(work: Work, *, shaping: Shaping | None, listeners: Listeners) -> RunReport:
    """Run the work on a cluster emulated on this machine, with links capped by `shaping`."""
    from planner.clusters.emulated import run as emulated
    from planner.clusters.emulated.shaping import Shaping

    output = _absolute(work.output)
    source = dataset_to_sort(replace(work, output=output), say=listeners.say)
    emulated_run = emulated.EmulatedRun(
        data_bytes=source.bytes if source else parse_size(work.data or ""),
        model=work.model,
        nodes=EMULATED_NODES if work.nodes is None else work.nodes,
        shaping=shaping or Shaping(),
        directory=work.directory,
        memory_bytes=work.memory_bytes,
        skew=work.skew,
        input=work.input,
        output=output,
        source=source,
    )
    with listeners.events() as on_event:
        report = emulated.run_emulated(emulated_run, say=listeners.say, on_event=on_event)
    return replace(report, asked=work.asked)


def _absolute(output: str | None) -> str | None:
    """Return a path as an absolute path, so that nodes can use it in any directory; an object store URI unchanged."""
    return output if not output or "://" in output else str(Path(output).resolve())


def run_rented(
    work: Work, rental: RentalOptions, *, effort: Effort, confirm: Confirm, listeners: Listeners
) -> RunReport | None:
    """Plan, get confirmation, rent, run, take down, and store the measurements. A detached run has no report yet."""
    from planner.clusters.provisioning.cluster_lifecycle import begin
    from planner.clusters.runs.cloud import run_on_cloud
    from planner.clusters.runs.cloud_task import CloudRun
    from planner.clusters.runs.rented_run import KEEPING
    from planner.planning.recommendation import require_best

    session = session_with_ssh(rental, say=listeners.say)
    access = store_access(work, cloud=rental.cloud, identity=rental.node_identity)
    _check_runnable(work)
    source = dataset_to_sort(work, say=listeners.say)
    work = _sized(work, source)
    order, plan = planned_order(work, rental, is_dry_run=False)
    delivery = delivery_to(require_best(plan), wheelhouse=work.wheelhouse)
    listeners.say(delivery.text)
    if work.input and not (work.output or work.keep):
        listeners.say(f"the output stays on the machines' disks and goes with them in the end; {KEEPING}")
    with wheels(
        work.wheelhouse, architecture=delivery.architecture, is_table=work.form.is_table, say=listeners.say
    ) as wheelhouse:
        task = _task_of(work, plan, source, effort=effort)
        run = CloudRun(task=task, wheelhouse=wheelhouse, store=access.environment)
        limits = rental.limits
        order, places = clusters.confirm_order(order, session.provider, limits, confirm=confirm, say=listeners.say)
        with listeners.guard():
            keyed, directory = begin(order, places, month_usd=limits.month_usd)
            with directory.lock():
                report = run_on_cloud(
                    run, keyed, places, directory, session, listening=listeners.events, is_detached=work.is_detached
                )
    if report is not None:
        remember_run(directory, say=listeners.say)
    return report


def rehearsed_order(work: Work, rental: RentalOptions, *, say: Say) -> tuple[Order, ProviderSession, Delivery]:
    """Return the order that `run_rented` would place, its session, and the delivery of the software. Asks neither the
    cloud nor its object store: raises BadInputError if the size of the input is not given.
    """
    from planner.planning.recommendation import require_best

    session = clusters.session_on(rental.cloud, say=say)
    store_access(work, cloud=rental.cloud, identity=rental.node_identity)
    _check_runnable(work)
    if work.data is None:
        raise BadInputError(f"--dry-run looks into no object store: say how much {work.input} holds, --data 1TB")
    order, plan = planned_order(work, rental, is_dry_run=True)
    return order, session, delivery_to(require_best(plan), wheelhouse=work.wheelhouse)


def run_on_machines(
    directory: RunDirectory,
    work: Work,
    effort: Effort,
    *,
    confirm: Callable[[str], bool] | bool = False,
    listeners: Listeners = Listeners(),  # frozen
) -> RunReport | None:
    """Plan work for the machines of a run, get confirmation, run it, and store the measurements. A detached run has no
    report yet.
    """
    from planner.clusters.runs.cloud_task import CloudRun
    from planner.clusters.runs.reuse import run_another_job

    order, say = directory.order(), listeners.say
    identity = order.node_identity if work.input or work.output else None
    access = store_access(work, cloud=order.cloud, identity=identity)
    _check_runnable(work)
    source = dataset_to_sort(work, say=say)
    architecture = machines_architecture(directory)
    with (
        wheels(work.wheelhouse, architecture=architecture, is_table=work.form.is_table, say=say) as wheelhouse,
        directory.lock(),
    ):

        def prepare_run(choice: ClusterOffer, region: str) -> CloudRun:
            plan = _plan_for_machines(_sized(work, source), choice, cloud=order.cloud, region=region)
            task = _task_of(work, plan, source, effort=effort)
            return CloudRun(task=task, wheelhouse=wheelhouse, store=access.environment)

        name, session = directory.path.name, clusters.session_on(order.cloud, say=say)
        text = f"run {name}: what an earlier job left on its machines' disks is deleted"
        say(text)
        if not (confirm is True or (callable(confirm) and confirm(text))):
            raise InterruptedRunError("nothing was done")
        with listeners.guard():
            report = run_another_job(
                directory, session, prepare_run=prepare_run, listening=listeners.events, is_detached=work.is_detached
            )
    if report is not None:
        remember_run(directory, say=say)
    return report


def machines_architecture(directory: RunDirectory) -> str:
    """Return the processor of a run's machines."""
    from planner.clusters.runs.cloud import rented_choice
    from planner.clusters.runs.reuse import catalog_type

    cloud = directory.order().cloud
    return architecture_of(cloud, catalog_type(cloud, rented_choice(directory)))


def _plan_for_machines(work: Work, choice: ClusterOffer, *, cloud: str, region: str) -> Plan:
    """Return the plan of the work for exactly the machines of a cluster."""
    from planner.clusters.runs.reuse import catalog_type

    rental = RentalOptions(cloud=cloud, regions=(region,), pricing=choice.pricing)
    machines = replace(work, instances=(catalog_type(cloud, choice),), nodes=choice.nodes)
    return plan_to_rent(machines, rental)


def plan_to_rent(work: Work, rental: RentalOptions, *, architecture: str | None = None) -> Plan:
    """Return the plan for some work on machines that the rental options allow."""
    from datetime import UTC, datetime

    from planner.api.recommend import recommend

    return recommend(
        data=work.data,
        model=work.model,
        catalogs=(rental.cloud,),
        regions=rental.regions[:1],
        instances=work.instances,
        arch=architecture,
        nodes=work.nodes,
        pricing=rental.pricing,
        input=work.input,
        output=work.output,
        today=datetime.now(UTC).date(),
    ).plan


def planned_order(work: Work, rental: RentalOptions, *, is_dry_run: bool) -> tuple[Order, Plan]:
    """Return the order and plan of some work: on machines with local disks, which the cluster sort needs, all with one
    processor, and with the installation time of their software.
    """
    from planner.clusters.runs.cloud import types_with_disks
    from planner.planning.recommendation import require_best

    architecture = requested_architecture(work.arch, work.wheelhouse)
    on_disks = replace(work, instances=types_with_disks(rental.cloud, work.instances))
    plan = plan_to_rent(on_disks, rental, architecture=architecture)
    best = require_best(plan)
    plan = replace(plan, rejected=())  # each rejection would list all requested types
    plan = of_one_processor(plan, architecture=architecture_of(best.cloud, best.instance_type))
    plan = with_software(plan, wheelhouse=work.wheelhouse)
    return clusters.ordered(plan, rental, is_dry_run=is_dry_run), plan


def _task_of(work: Work, plan: Plan, source: Dataset | None, *, effort: Effort) -> CloudTask:
    from planner.clusters.runs.cloud_task import CloudTask

    return CloudTask(
        plan=plan,
        effort=effort,
        memory_bytes=work.memory_bytes,
        skew=work.skew,
        keep=work.keep,
        source=None if source is None else loads(source.to_json()),
        is_lent=work.is_lent,
        asked=work.asked,
    )


def _check_runnable(work: Work) -> None:
    from planner.clusters.runs.cloud import check_runnable

    data_bytes = None if work.data is None else parse_size(work.data)
    check_runnable(work.model, data_bytes=data_bytes, input=work.input, output=work.output)


def effort_of(length: str, size: str | None) -> Effort:
    """Return the duration and file size of machine measurements. Raises BadInputError below a tenth of a second, which
    is too short to measure.
    """
    from planner.clusters.runs.node_benchmarks import Effort

    if (seconds := parse_seconds(length)) < 0.1:
        raise BadInputError(f"--screen-seconds {length}: must be 0.1s at least")
    return Effort(seconds=seconds, file_bytes=None if size is None else parse_size(size))


def session_with_ssh(rental: RentalOptions, *, say: Say) -> ProviderSession:
    """Return the session for a cloud. Raises BadInputError for unknown clouds, PermissionDeniedError without
    credentials, IoFailureError without SSH.
    """
    session = clusters.session_with_access(rental.cloud, say=say)
    if not shutil.which("ssh"):
        raise IoFailureError("ssh is missing, by which rented machines are reached; install OpenSSH's client")
    return session


def _sized(work: Work, source: Dataset | None) -> Work:
    return work if source is None else replace(work, data=f"{source.bytes}B")


def store_access(work: Work, *, cloud: str, identity: str | None) -> StoreAccess:
    """Return the nodes' access to the object store. Raises BadInputError if they have none."""
    from planner.clusters.runs.store_credentials import access_to

    uris = [uri for uri in (work.input, work.output) if uri]
    return access_to(uris, cloud=cloud, identity=identity, is_lent=work.is_lent, environ=os.environ)


def dataset_to_sort(work: Work, *, say: Say) -> Dataset | None:
    """Return the data to sort, looked up from here before anything is rented or started; None if it is generated. Input
    and output are object store prefixes, or paths of this machine that the nodes reach.

    Raises BadInputError if there is no data, less than was given, or something at the output already.
    """
    from planner.distributed_sort.dataset.dataset import Layout
    from planner.distributed_sort.staging import dataset_below, require_empty

    source = None
    if work.input:
        source = work.form.dataset(work.input, say=say) if work.form.has_keys else dataset_below(work.input, Layout())
    if source is not None and work.data is not None and parse_size(work.data) != source.bytes:
        raise BadInputError(f"--data {work.data}: {work.input} holds {source.bytes} bytes; leave --data out")
    if work.output:
        require_empty(work.output)
    return source


def remember_run(directory: RunDirectory, *, say: Say) -> None:
    """Print the place of the report, and keep the measurements for the next plan."""
    from planner.clusters.runs.cloud import remember
    from planner.clusters.runs.rented_run import REPORT

    say(f"report: {directory.path / REPORT}")
    try:
        say(f"measurements stored in {remember(directory)}; they override the shipped figures of the next plan")
    except PlannerError as error:
        say(f"measurements not stored: {error.message}")

"""Whole runs from Python, `planner.run(...)`: here, on an emulated cluster, or on rented machines."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Unpack

from planner.api import clusters
from planner.api.arguments.run_arguments import EffortArguments, LinkArguments, RentalArguments, RunArguments
from planner.api.clusters import Confirm, Say, silent
from planner.api.input_dataset import input_dataset
from planner.api.rental_options import RentalOptions, rental_options
from planner.api.run_job import Listeners, Work
from planner.api.software import (
    Delivery,
    architecture_of,
    delivery_to,
    of_one_processor,
    requested_architecture,
    wheels,
)
from planner.errors import BadInputError, InterruptedRunError, IoFailureError, PlannerError
from planner.schemas.arguments import with_typed_arguments
from planner.schemas.door import Help, checked
from planner.schemas.plan import Candidate, Plan, Request
from planner.schemas.request_forms import name_list
from planner.sorting.sort_job import InputFormat
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


def run(
    data: Plan | Recommendation | str | None = None,
    *,
    cloud: Place | None = None,
    confirm: Confirm = False,
    say: Say = silent,
    **asked: Unpack[RunArguments],
) -> RunReport | None:
    """Run a plan, or some work, and return predicted and measured figures; None for a detached run.

    `data` is a plan or an answer of `recommend`, whose cluster is used on rented machines and whose data and model are
    used elsewhere; the amount of data, such as "1GB"; or None for all of `input`. Without a `cloud` the work runs on
    this machine, "emulated" on several nodes here whose links are capped (`rate`); others rent, which needs `confirm`.
    The other arguments are options of `planner run`. `say` gets the messages. Data that fails validation is reported,
    not raised.

    >>> import planner
    >>> planner.run("1MB").passed
    True
    """
    require_place(asked, cloud)
    work, listeners = _work_of(data, asked), Listeners(say=say)
    if cloud is None:
        return run_here(work, listeners=listeners)
    if cloud == EMULATED:
        from planner.clusters.emulated.shaping import parse_shaping

        shaping = parse_shaping(**_named(asked, LinkArguments.__annotations__))
        return run_emulated(work, shaping=shaping, listeners=listeners)
    rental = rental_options(_place_of(data) | {"staging": bool(work.input or work.output)} | asked | {"cloud": cloud})
    effort = effort_of(**_named(asked, EffortArguments.__annotations__))
    if confirm is False:
        raise BadInputError(
            "nothing was done: renting needs a confirmation; pass confirm=True, or what is asked", code="not-confirmed"
        )
    return run_rented(work, rental, effort=effort, confirm=confirm, listeners=listeners)


run.__signature__ = with_typed_arguments(run, RunArguments, Work, InputFormat, RentalOptions)  # type: ignore[attr-defined]
run = checked(run)


def _named(asked: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name in names}


def require_place(given: Collection[str], cloud: str | None) -> None:
    """Raise BadInputError for arguments that say nothing about the place of a run: they would be ignored."""
    for name in given:
        if name in LinkArguments.__annotations__ and cloud != EMULATED:
            needed = f"`cloud={EMULATED}`"
        elif name in OF_RENTED and cloud in (None, EMULATED):
            needed = "`cloud`, aws, gcp or azure"
        elif name in OF_A_CLUSTER and cloud is None:
            needed = "`cloud`"
        elif (name == "threads" and cloud is not None) or (name == "directory" and cloud not in (None, EMULATED)):
            text = f"`{name}` does not apply with `cloud={cloud}`: leave out one of them"
            raise BadInputError(text, field=name, code="not-applicable")
        else:
            continue
        raise BadInputError(
            f"`{name}` says nothing about {cloud or 'this machine'}: add {needed}, or leave it out",
            field=name,
            code="not-applicable",
        )


OF_RENTED: Final = (
    *(RentalArguments.__annotations__ | EffortArguments.__annotations__),
    *("instance", "arch", "keep", "detach", "lend_credentials", "wheelhouse", "dry_run"),
)
OF_A_CLUSTER: Final = ("nodes", "skew", "input", "output")
"""Arguments that say something about some places alone."""


def _place_of(data: Plan | Recommendation | str | None) -> dict[str, Any]:
    """Return where and how a plan rents its machines; nothing without a plan."""
    if isinstance(data, str | None):
        return {}
    best = (data if isinstance(data, Plan) else data.plan).best
    return {} if best is None else {"region": best.region, "pricing": best.pricing}


def _work_of(data: Plan | Recommendation | str | None, asked: Mapping[str, Any]) -> Work:
    """Return the job that arguments describe; the rest of a plan's job is the plan's."""
    form = {item.name for item in fields(InputFormat)}
    given = _named(asked, {item.name for item in fields(Work)})
    if not isinstance(data, str | None):
        from planner.planning.recommendation import require_best

        plan = data if isinstance(data, Plan) else data.plan
        best, request = require_best(plan), plan.request
        of_plan: dict[str, Any] = {"model": best.model, "instance": best.instance_type, "nodes": best.nodes}
        of_plan |= {"input": request.input, "output": request.output}
        asked, given = {"format": request.format, **asked}, of_plan | given
        data = f"{request.data_bytes}B"
    elif data is None and not asked.get("input"):
        raise BadInputError(
            'say how much to sort, such as "1GB", or what: `input`', field="data", code="missing-argument"
        )
    paths = {name: Path(given[name]) for name in ("directory", "wheelhouse") if given.get(name) is not None}
    return Work(data=data, form=InputFormat(**_named(asked, form)), **{"model": Request.model} | given | paths)


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
    _, source = input_of(replace(work, output=output), say=listeners.say)
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
    work, source = input_of(work, say=listeners.say)
    order, plan = planned_order(work, rental, is_dry_run=False, say=listeners.say)
    delivery = delivery_to(require_best(plan), wheelhouse=work.wheelhouse)
    listeners.say(delivery.text)
    if work.input and not (work.output or work.keep):
        listeners.say(f"the output stays on the machines' disks and goes with them in the end; {KEEPING}")
    limits, is_table = rental.limits, work.form.format == "parquet"
    order, places = clusters.confirm_order(order, session.provider, limits, confirm=confirm, say=listeners.say)
    with wheels(
        work.wheelhouse, architecture=delivery.architecture, is_table=is_table, say=listeners.say
    ) as wheelhouse:
        wanted = CloudRun(
            task=_task_of(work, plan, source, effort=effort), wheelhouse=wheelhouse, store=access.environment
        )
        with listeners.guard():
            keyed, directory = begin(order, places, month_usd=limits.month_usd)
            with directory.lock():
                report = run_on_cloud(
                    wanted, keyed, places, directory, session, listening=listeners.events, is_detached=work.detach
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
        raise BadInputError(
            f"--dry-run looks into no object store: say how much {work.input} holds, --data 1TB", code="data-unknown"
        )
    order, plan = planned_order(work, rental, is_dry_run=True, say=say)
    return order, session, delivery_to(require_best(plan), wheelhouse=work.wheelhouse)


def run_on_machines(
    directory: RunDirectory,
    work: Work,
    effort: Effort,
    *,
    confirm: Callable[[str], bool] | bool = False,
    listeners: Listeners,
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
    found, source = input_of(work, say=say)
    name, session = directory.path.name, clusters.session_on(order.cloud, say=say)
    with directory.lock():
        text = f"run {name}: what an earlier job left on its machines' disks is deleted"
        say(text)
        if not (confirm is True or (callable(confirm) and confirm(text))):
            raise InterruptedRunError("nothing was done")
        architecture, is_table = machines_architecture(directory), found.form.format == "parquet"
        with wheels(work.wheelhouse, architecture=architecture, is_table=is_table, say=say) as wheelhouse:

            def task_for(choice: ClusterOffer, region: str) -> CloudRun:
                plan = _plan_for_machines(found, choice, cloud=order.cloud, region=region)
                task = _task_of(work, plan, source, effort=effort)
                return CloudRun(task=task, wheelhouse=wheelhouse, store=access.environment)

            with listeners.guard():
                report = run_another_job(
                    directory, session, task_for=task_for, listening=listeners.events, is_detached=work.detach
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

    rental = RentalOptions(cloud=cloud, region=region, pricing=choice.pricing)  # type: ignore[arg-type]  # checked there
    machines = replace(work, instance=(catalog_type(cloud, choice),), nodes=choice.nodes)
    return plan_to_rent(machines, rental)


def plan_to_rent(work: Work, rental: RentalOptions, *, architecture: str | None = None) -> Plan:
    """Return the plan for some work on machines that the rental options allow. Without a wheel for their processor, the
    head of each cluster compiles the sort core first.
    """
    from datetime import UTC, datetime

    from planner.api.recommend import answer, request_of
    from planner.clusters.remote.wheelhouse import compiled_processors
    from planner.planning.ranking.selection import narrowed

    asked = {
        "data": work.data,
        "model": work.model,
        "catalogs": (rental.cloud,),
        "regions": rental.regions[:1],
        "instances": work.instance,
        "arch": architecture,
        "nodes": work.nodes,
        "pricing": rental.pricing,
        "input": work.input,
        "output": work.output,
    }
    plan = answer(request_of(asked), today=datetime.now(UTC).date()).plan
    compiled_for = frozenset[str]() if work.wheelhouse else compiled_processors()

    def compiled(each: Candidate) -> Candidate:
        """Return the cluster with the time in which its head compiles the sort core, and what that costs."""
        if architecture_of(each.cloud, each.instance_type) not in compiled_for:
            return each
        alone = narrowed(plan.request, each, nodes=each.nodes)
        found = answer(alone, explained=False, compiled_for=compiled_for).plan.candidates
        again = next((of for of in found if of.bandwidth_weighting == each.bandwidth_weighting), found[0])
        return replace(each, overheads_s=again.overheads_s, cost_usd=again.cost_usd, bill=again.bill)

    candidates = tuple(map(compiled, plan.candidates))
    return replace(plan, candidates=candidates, best=plan.best and candidates[plan.candidates.index(plan.best)])


def planned_order(work: Work, rental: RentalOptions, *, is_dry_run: bool, say: Say) -> tuple[Order, Plan]:
    """Return the order and plan of some work: on machines with local disks, which the cluster sort needs, all with one
    processor.
    """
    from planner.clusters.runs.cloud import types_with_disks
    from planner.planning.recommendation import require_best

    architecture = requested_architecture(work.arch, work.wheelhouse)
    on_disks = replace(work, instance=types_with_disks(rental.cloud, name_list(work.instance)))
    plan = plan_to_rent(on_disks, rental, architecture=architecture)
    best = require_best(plan)
    plan = replace(plan, rejected=())  # each rejection would list all requested types
    plan = of_one_processor(plan, architecture=architecture_of(best.cloud, best.instance_type))
    return clusters.ordered(plan, rental, is_dry_run=is_dry_run, say=say), plan


def _task_of(work: Work, plan: Plan, source: Dataset | None, *, effort: Effort) -> CloudTask:
    from planner.clusters.runs.cloud_task import CloudTask

    return CloudTask(
        plan=plan,
        effort=effort,
        memory_bytes=work.memory_bytes,
        skew=work.skew,
        keep=work.keep,
        source=None if source is None else loads(source.to_json()),
        is_lent=work.lend_credentials,
        asked=work.asked,
    )


def _check_runnable(work: Work) -> None:
    from planner.clusters.runs.cloud import check_runnable

    data_bytes = None if work.data is None else parse_size(work.data)
    check_runnable(work.model, data_bytes=data_bytes, input=work.input, output=work.output)


def effort_of(
    screen_seconds: Annotated[str, Help("Length of each measurement of rented machines.")] = "5s",
    screen_size: Annotated[str | None, Help("File on each disk for it; as DiskBench chooses otherwise.")] = None,
) -> Effort:
    """Return the duration and file size of machine measurements. Raises BadInputError below a tenth of a second, which
    is too short to measure.
    """
    from planner.clusters.runs.node_benchmarks import Effort

    if (seconds := parse_seconds(screen_seconds)) < 0.1:
        raise BadInputError(
            f"`screen_seconds={screen_seconds}`: must be 0.1s at least", field="screen_seconds", code="out-of-range"
        )
    return Effort(seconds=seconds, file_bytes=None if screen_size is None else parse_size(screen_size))


def session_with_ssh(rental: RentalOptions, *, say: Say) -> ProviderSession:
    """Return the session for a cloud. Raises BadInputError for unknown clouds, PermissionDeniedError without
    credentials, IoFailureError without SSH.
    """
    session = clusters.session_with_access(rental.cloud, say=say)
    if not shutil.which("ssh"):
        raise IoFailureError(
            "ssh is missing, by which rented machines are reached; install OpenSSH's client", code="no-ssh"
        )
    return session


def store_access(work: Work, *, cloud: str, identity: str | None) -> StoreAccess:
    """Return the nodes' access to the object store. Raises BadInputError if they have none."""
    from planner.clusters.runs.store_credentials import access_to

    uris = [uri for uri in (work.input, work.output) if uri]
    return access_to(uris, cloud=cloud, identity=identity, is_lent=work.lend_credentials, environ=os.environ)


def input_of(work: Work, *, say: Say) -> tuple[Work, Dataset | None]:
    """Return the work with the format and size of its input, and the data to sort, looked up from here before anything
    is rented or started; None if it is generated. Input and output are object store prefixes, or paths of this machine
    that the nodes reach.

    Raises BadInputError if there is no data, less than was given, or of an unknown kind, or something at the output
    already.
    """
    from planner.distributed_sort.dataset.dataset import Layout
    from planner.distributed_sort.staging import dataset_below, require_empty

    source = None
    if work.input:
        form = _form_of(work.input, work.form, say=say)
        has_keys = form.format not in (None, "records")
        source = input_dataset(form, work.input, say=say) if has_keys else dataset_below(work.input, Layout())
        if work.data is not None and parse_size(work.data) != source.bytes:
            raise BadInputError(
                f"--data {work.data}: {work.input} holds {source.bytes} bytes; leave --data out", code="contradiction"
            )
        work = replace(work, form=form, data=f"{source.bytes}B")
    if work.output:
        require_empty(work.output)
    return work, source


def _form_of(place: str, form: InputFormat, *, say: Say) -> InputFormat:
    """Return the form with the format that the files at a place show, unless it has one. Raises BadInputError."""
    from planner.api.contents.inspection import inspect
    from planner.distributed_sort.dataset.input_files import files_of

    form.require(input=place)
    if form.format:
        return form
    return replace(form, format=inspect(list(files_of(place)), {}, say=say).cluster_format)


def remember_run(directory: RunDirectory, *, say: Say) -> None:
    """Print the place of the report, and keep the measurements for the next plan."""
    from planner.clusters.runs.cloud import remember
    from planner.clusters.runs.rented_run import REPORT

    say(f"report: {directory.path / REPORT}")
    try:
        say(f"measurements stored in {remember(directory)}; they override the shipped figures of the next plan")
    except PlannerError as error:
        say(f"measurements not stored: {error.message}")

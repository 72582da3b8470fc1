"""A whole run on an emulated cluster: measure, plan for its caps, generate, sort, validate, and compare."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from planner.catalog import Catalog, load_catalog
from planner.clusters.emulated.cluster import HEAD, emulated_cluster
from planner.clusters.emulated.network_trial import measure_links, payload_bytes_per_s
from planner.clusters.emulated.ray import EmulatedRay, emulated_ray, start_ray
from planner.clusters.emulated.relay import relay_url
from planner.clusters.emulated.shaping import Shaping
from planner.clusters.emulated.sort_trial import Trial, trial_size, try_sort
from planner.clusters.ray.driver_session import OnEvent
from planner.clusters.ray.nodes import ray_program
from planner.clusters.runs.local import check_space
from planner.clusters.runs.report import cluster_report, record_count
from planner.cost_model import run_overheads
from planner.cost_model.engine import IDEAL
from planner.cost_model.model import CostModel, on_a_cluster
from planner.cost_model.model_reader import load_engine, load_model
from planner.cost_model.run_overheads import RunOverheads
from planner.distributed_sort.dataset.dataset import Dataset
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.dataset.readable_input import has_decompressed_copy
from planner.errors import BadInputError
from planner.measurement.instruments.local_catalog import write_catalog
from planner.measurement.instruments.machine import LocalMachine, measure_machine, sample_size
from planner.planning.recommendation import recommend, require_best
from planner.schemas.plan import Plan, Request
from planner.schemas.run_report import RunReport
from planner.units import format_bytes

_ON_VOLUME: Final = {"local": False, "volumes": True}
_IN_MEMORY: Final = {"local": False, "memory": True}
"""The models' storage of data, and of intermediate data, in the sort's terms. Other models do not run here."""


@dataclass(frozen=True, kw_only=True)
class EmulatedRun:
    """The run to do: `nodes` emulated nodes with files below `directory`, each with `memory_bytes` for sorting.

    `source` is the data at `input`, and the output goes to `output`: prefixes of an object store, or absolute paths of
    this machine. Without them the data is generated, and removed with the nodes.
    """

    data_bytes: int
    model: str
    nodes: int
    shaping: Shaping
    directory: Path
    memory_bytes: int | None = None
    skew: bool = False
    input: str | None = None
    output: str | None = None
    source: Dataset | None = None


def run_emulated(run: EmulatedRun, *, say: Callable[[str], None], on_event: OnEvent) -> RunReport:
    """Do the run and remove the whole cluster afterwards, whatever happens.

    Raises BadInputError for half a record or a model that does not run here, and IoFailureError when the disk cannot
    hold the data or something is lost. Failed validation is reported, not raised.
    """
    model = _model(run)
    check_space(run.directory, run.data_bytes, model, input_bytes=copied_bytes(run))
    with _emulated_ray(run, say=say) as cluster, cluster.session() as session:
        say(f"{run.nodes} emulated nodes are up; caps: {', '.join(str(cap or 'none') for cap in cluster.nodes.caps)}")
        folder = cluster.nodes.directory(HEAD)
        machine = measure_machine(folder, sample_bytes=sample_size(run.data_bytes), copies=model.output_copies)
        trial = try_sort(cluster.nodes, session, data_bytes=trial_size(run.data_bytes), copies=model.output_copies)
        network = _network_bytes_per_s(cluster)
        plan = question_for(machine, run, folder, network_bytes_per_s=network, trial=trial).plan()
        best = require_best(plan)
        rates = "those of the disk alone" if trial is None else "those of a trial sort on these nodes"
        planned = f"planned for the sort of {format_bytes(run.data_bytes)}: {best.time_s.both_times}"
        say(f"{planned}; rates are {rates}, not the shipped ones of the engine ray")
        order = {"do": "run", "request": _run_request(run, cluster, model), "journal": str(folder / "journal")}
        done = session.do(order, on_event)
    seen = machine.to_dict() | {"network_bytes_per_s": network}
    seen |= {} if trial is None else trial.to_dict()
    return cluster_report(plan, machine=seen, done=done, vcpus=machine.vcpu)


def copied_bytes(run: EmulatedRun) -> int:
    """Return the input bytes that the nodes' disks hold: everything generated, copied in or decompressed, but no files
    sorted in place.
    """
    if run.source is None:
        return run.data_bytes
    is_fetched = _in_store(run.input)
    copied = (part.records for part in run.source.partitions if is_fetched or not has_decompressed_copy(part))
    return sum(copied) * run.source.layout.record_size


@contextmanager
def _emulated_ray(run: EmulatedRun, *, say: Callable[[str], None]) -> Iterator[EmulatedRay]:
    """Yield Ray on emulated nodes, with a relay to the object store if the run needs one."""
    if not (_in_store(run.input) or _in_store(run.output)):
        with emulated_ray(workers=run.nodes, shaping=run.shaping, directory=run.directory, say=say) as cluster:
            yield cluster
        return
    ray_program()
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    with (
        emulated_cluster(workers=run.nodes, shaping=run.shaping, directory=run.directory, say=say) as nodes,
        relay_url(nodes, endpoint) as url,
    ):
        yield start_ray(nodes, store=dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"), url))


@dataclass(frozen=True, kw_only=True)
class Question:
    """The inputs of an emulated run's plan."""

    request: Request
    model: CostModel
    catalog: Catalog
    overheads: RunOverheads

    def plan(self) -> Plan:
        """Return the plan."""
        return recommend(self.request, model=self.model, catalogs=[self.catalog], overheads=self.overheads)


def question_for(
    machine: LocalMachine, run: EmulatedRun, folder: Path, *, network_bytes_per_s: float, trial: Trial | None = None
) -> Question:
    """Return the question to plan: a run on N nodes that share this machine's disk and processors evenly, each with a
    link that carries `network_bytes_per_s` of payload in each direction.

    As in a local run, the disks' rates are those of the sort's own path, so they include the sort core's CPU work. A
    `trial` gives the rates while all nodes work, the CPU that Ray and the kernel need in addition, and the duration of
    the sample; text and Parquet take more CPU than its records, at the rates of the engine `ray`.
    """
    share = replace(
        machine,
        disk_free_bytes=machine.disk_free_bytes // run.nodes,
        read_bytes_per_s=machine.read_bytes_per_s / run.nodes,
        write_bytes_per_s=machine.write_bytes_per_s / run.nodes,
    )
    simultaneous = None if trial is None else trial.disk_bytes_per_s
    catalog = write_catalog(share, folder / "catalog", today=date.today(), simultaneous_bytes_per_s=simultaneous)
    request = Request(
        data_bytes=run.data_bytes,
        model=run.model,
        catalogs=(str(catalog),),
        nodes=run.nodes,
        assume={"network": network_bytes_per_s},
        input=_in_store(run.input),
        output=_in_store(run.output),
        engine=IDEAL.name,
    )
    model, overheads = on_a_cluster(load_model(run.model)), run_overheads.existing_machines()
    if trial is not None:
        model = trial.apply_to(model)
        coding_s = coding_s_per_byte(run)
        rates = {work: 1 / (1 / rate + run.nodes * coding_s[work]) for work, rate in trial.cpu_bytes_per_s.items()}
        overheads = replace(overheads, cpu_bytes_per_s_per_vcpu=rates)
    return Question(request=request, model=model, catalog=load_catalog(catalog), overheads=overheads)


def _model(run: EmulatedRun) -> CostModel:
    if run.source is None:
        record_count(run.data_bytes)
    model = load_model(run.model)
    if model.storage["data"] not in _ON_VOLUME or model.storage["intermediate"] not in _IN_MEMORY:
        raise BadInputError(
            f"--model {run.model} does not run on an emulated cluster; indy, daytona, cloudsort and minutesort do",
            code="unsupported-model",
        )
    return model


def coding_s_per_byte(run: EmulatedRun) -> dict[str, float]:
    """Return the additional processor seconds of a byte of the source over a byte of records, by CPU work."""
    form, engine = "records" if run.source is None else run.source.layout.form, load_engine("ray")
    stated = {"partition": engine.decode_s_per_byte, "sort": engine.encode_s_per_byte}
    return {work: seconds.get(form, 0.0) for work, seconds in stated.items()}


def _in_store(place: str | None) -> str | None:
    """Return a prefix of an object store; None for a path, whose files are read and written like the nodes' own."""
    return place if place and is_object(place) else None


def _network_bytes_per_s(cluster: EmulatedRay) -> float:
    """Return each link's payload rate: that of the slowest cap, or without caps the measured one."""
    caps = [cap.bytes_per_s for cap in cluster.nodes.caps if cap is not None]
    return payload_bytes_per_s(min(caps)) if caps else measure_links(cluster.nodes)


def _run_request(run: EmulatedRun, cluster: EmulatedRay, model: CostModel) -> dict[str, Any]:
    caps = {cluster.nodes.name(node): cap for node, cap in enumerate(cluster.nodes.caps, start=1)}
    return {
        "records": record_count(run.data_bytes) if run.source is None else 0,
        "copies": model.output_copies,
        "source": None if run.source is None else json.loads(run.source.to_json()),
        "output": run.output or "",
        "memory_bytes": run.memory_bytes,
        "skew": run.skew,
        "rates": {name: cap.bytes_per_s for name, cap in caps.items() if cap is not None},
        "on_volume": _ON_VOLUME[model.storage["data"]],
        "in_memory": _IN_MEMORY[model.storage["intermediate"]],
    }

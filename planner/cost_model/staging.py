"""Work around the job on every node: loading or generating the input, validating, and exporting the output."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats
from planner.catalog.place_links import PlaceLink, area_of, link_between
from planner.cost_model.disk_layout import OBJECTS, VOLUMES
from planner.cost_model.model import Phase
from planner.cost_model.object_store import HERE
from planner.cost_model.rates import evidence_name
from planner.cost_model.run_overheads import compiling_s
from planner.cost_model.workload import JobContext
from planner.units import count_text, format_duration, format_rate

GENERATE: Final = Phase(name="generate", read={}, write={"data": {"map_in": 1}}, network={}, cpu={})
VALIDATE: Final = Phase(name="validate", read={"data": {"reduce_out": 1}}, write={}, network={}, cpu={})


def staging_node_seconds(context: JobContext) -> Mapping[str, Floats]:
    """Return the node-seconds of each step around the job, shape (R,): none for the papers. No step is shorter than its
    `least_seconds`.

    Data that the model reads from or writes to the cluster's own object store is not moved before or after.
    """
    if context.place is None:
        return _of_all_layouts(context)
    larger, rows = context.place
    return {name: seconds[rows] for name, seconds in staging_node_seconds(larger).items()}


@lru_cache(maxsize=32)
def _of_all_layouts(context: JobContext) -> Mapping[str, Floats]:
    """Return them for every layout: each batch of clusters asks for some of them."""
    link = link_node_seconds(context)
    return {name: np.maximum(seconds, link[name]) for name, seconds in device_node_seconds(context).items()}


def device_node_seconds(context: JobContext) -> dict[str, Floats]:
    """Return the part of them that disks, volumes and object store take, as if no network were too slow."""
    rates = dict(zip(("stage in", "stage out"), context.device_rates("objects")[:2], strict=True))
    return {
        name: _staged(context, name, _devices(context, phase), rates[name] if _own_store(context, name) else None)
        for name, phase in _steps(context).items()
    }


def link_node_seconds(context: JobContext, *, late: bool = False) -> dict[str, Floats]:
    """Return the part of them that a node's link takes: for traffic with the store, and for volumes without their own
    link. To and from another region or cloud it has what one machine was measured to reach, if that is less; `late`,
    only what nineteen in twenty of the measured pairs of regions reached.
    """
    link = context.rates.network.flat[context.layouts.type_row] * context.layouts.speed("network")
    stores = _store_of_step(context)
    return {
        name: _staged(
            context, name, _link(context, phase, link), _far(context, name, link, late=late) if name in stores else None
        )
        for name, phase in _steps(context).items()
    }


def _far(context: JobContext, name: str, link: Floats, *, late: bool) -> Floats:
    """Return the rate (R,) at which a node's `link` carries the traffic of a step with a store."""
    far = place_link(context, name)
    return link if far is None else np.fmin(link, far.low_bytes_per_s if late else far.bytes_per_s)


def place_link(context: JobContext, step: str) -> PlaceLink | None:
    """Return the link that a step of staging crosses between regions or clouds; None within a region, and where none
    was measured. A bucket of another cloud whose region is not given is taken to be in the machines' area.
    """
    staging, cloud, here = context.staging, context.catalog.cloud, context.region or context.catalog.default_region
    inward = step == "stage in"
    place, region = (staging.source, staging.source_region) if inward else (staging.sink, staging.sink_region)
    if context.paper or place in ("", HERE) or (place == cloud and region in ("", here)):
        return None
    there, ours = (place, area_of(region or here)), (cloud, area_of(here))
    return link_between(there, ours) if inward else link_between(ours, there)


def _steps(context: JobContext) -> dict[str, Phase]:
    """Return the steps around the job, each with its work on the nodes' disks."""
    steps = {"validate": VALIDATE, "stage in" if context.staging.source else "generate": GENERATE}
    return steps | ({"stage out": VALIDATE} if context.staging.sink else {})


def _store_of_step(context: JobContext) -> dict[str, str]:
    """Return the cloud that each step of staging reads from or writes to."""
    places = {"stage in": context.staging.source, "stage out": context.staging.sink}
    return {name: place for name, place in places.items() if place}


def _own_store(context: JobContext, name: str) -> bool:
    return _store_of_step(context).get(name) == context.catalog.cloud


def _staged(context: JobContext, name: str, on_disks: Floats, rate: Floats | None) -> Floats:
    """Return the node-seconds of a step: `on_disks`, or if it streams to or from a store at a node's `rate` (R,), the
    slower of both; nothing where the data stays there.
    """
    if name not in _store_of_step(context):
        return on_disks
    moved = moved_bytes(context)[name]
    streamed = on_disks if rate is None else np.maximum(on_disks, moved / rate)
    return np.where(moved == 0, 0.0, streamed)


def _devices(context: JobContext, phase: Phase) -> Floats:
    """Return the node-seconds of disks, volumes and store, (R,)."""
    zeros = np.zeros(len(context.layouts.type_row))
    return zeros if context.paper else sum((w.node_seconds for w in context.works(phase).values()), start=zeros)


def _link(context: JobContext, phase: Phase, rate: Floats) -> Floats:
    """Return the node-seconds of the link, at its `rate`, for traffic of a step with volumes or a store, (R,)."""
    zeros = np.zeros(len(context.layouts.type_row))
    sent = zeros if context.paper else context.network_bytes(phase, np.ones(1))[:, 0]
    return np.divide(sent, rate, out=zeros, where=sent > 0)


def least_seconds(context: JobContext) -> dict[str, Floats]:
    """Return the seconds, shape (R,), that steps around the job take on any number of nodes: until the store at one
    place has served all their requests, and until one node has loaded a file that is not divided.
    """
    least = _request_seconds(context)
    if (of_a_file := _file_seconds(context)) is not None:
        least["stage in"] = np.maximum(least.get("stage in", 0.0), of_a_file)
    return least


def _file_seconds(context: JobContext) -> Floats | None:
    """Return the seconds in which a node loads one of the files, (R,); None where several nodes share a file."""
    staging = context.staging
    if not staging.source or staging.files is None or staging.is_divided:
        return None
    return np.asarray(staging_node_seconds(context)["stage in"] / staging.files)


def _request_seconds(context: JobContext) -> dict[str, Floats]:
    """Return the seconds until the store has served all requests of a step, (R,)."""
    sizes, per_s = context.overheads.staging_request_bytes, context.requests_per_s
    limits = {"stage in": (sizes["read"], per_s["read"]), "stage out": (sizes["write"], per_s["write"])}
    return {
        name: moved / limits[name][0] / limits[name][1] / context.layouts.speed("requests")
        for name, moved in moved_bytes(context).items()
        if _own_store(context, name) and np.isfinite(limits[name][1])
    }


def staging_seconds(context: JobContext, nodes: Floats) -> dict[str, Floats]:
    """Return the seconds of each step around the job on `nodes` (N,) of each layout, shape (R, N)."""
    return _on_nodes(staging_node_seconds(context), least_seconds(context), nodes)


def late_staging_s(context: JobContext, nodes: Floats) -> Floats:
    """Return the seconds, (R, N), that slow links between places add to the steps in one of twenty runs."""
    if not any(place_link(context, step) for step in _store_of_step(context)):
        return np.zeros((1, 1))
    usual, links = staging_node_seconds(context), link_node_seconds(context, late=True)
    late = {name: np.maximum(seconds, links[name]) for name, seconds in usual.items()}
    least = least_seconds(context)
    steps = zip(_on_nodes(late, least, nodes).values(), _on_nodes(usual, least, nodes).values(), strict=True)
    return sum((slow - seconds for slow, seconds in steps), start=np.zeros((1, 1)))


def loading_seconds(context: JobContext, nodes: Floats) -> dict[str, Floats]:
    """Return the seconds of the steps until the input is on the nodes."""
    return _on_nodes(loading_node_seconds(context), least_seconds(context), nodes)


def _on_nodes(node_seconds: Mapping[str, Floats], least: dict[str, Floats], nodes: Floats) -> dict[str, Floats]:
    shared = {name: seconds[:, None] / nodes for name, seconds in node_seconds.items()}
    return {
        name: np.maximum(seconds, least[name][:, None]) if name in least else seconds
        for name, seconds in shared.items()
    }


def compiling_node_s(context: JobContext) -> Floats:
    """Return the seconds for which the head of each layout compiles the sort core, shape (R, 1)."""
    types, rows = context.catalog.instances, context.layouts.type_row
    if not context.overheads.compiled_for:
        return np.zeros((len(rows), 1))
    is_compiled = np.isin(types.arch[rows], list(context.overheads.compiled_for))
    return np.where(is_compiled, compiling_s(types.vcpu[rows]), 0.0)[:, None]


def overheads_s(context: JobContext, nodes: Floats) -> Floats:
    """Return the time of a run outside its job, boot included, on `nodes` (N,) of each layout, shape (R, N)."""
    steps = sum(staging_seconds(context, nodes).values(), start=np.zeros((1, 1)))
    return np.asarray(
        context.overheads.booting_s(nodes) + context.overheads.fixed_s(nodes) + compiling_node_s(context) + steps
    )


def loading_node_seconds(context: JobContext) -> dict[str, Floats]:
    """Return the node-seconds, shape (R,), until the input is on the nodes, under the name of the step."""
    return {name: s for name, s in staging_node_seconds(context).items() if name in ("stage in", "generate")}


def moved_bytes(context: JobContext) -> dict[str, Floats]:
    """Return the bytes that staging moves in and out over the whole cluster, shape (R,)."""
    share = context.staging.stored_share
    amounts = {"stage in": context.job.map_in * share, "stage out": context.job.reduce_out * share}
    places = _store_of_step(context).items()
    return {name: np.where(_is_in_store(context, place), 0.0, amounts[name]) for name, place in places}


def on_volumes_bytes(context: JobContext) -> Floats:
    """Return the bytes that a whole run reads from and writes to volumes, including the steps around it, shape (R,)."""
    steps = () if context.paper else (GENERATE, VALIDATE, *([VALIDATE] if context.staging.sink else []))
    return sum(
        (context.moved_on(VOLUMES, phase) for phase in (*context.model.phases, *steps)),
        start=np.zeros(len(context.layouts.type_row)),
    )


def _is_in_store(context: JobContext, place: str) -> Flags:
    """Return whether a layout keeps its data in the object store it would be moved to or from, shape (R,)."""
    return np.asarray((context.layouts.data_on == OBJECTS) & (place == context.catalog.cloud))


def staging_notes(context: JobContext, nodes: int) -> dict[str, str]:
    """Return a note on each staging step of a cluster on the only layout of `context`, by the name of the step."""
    seconds = staging_seconds(context, np.array([float(nodes)]))
    notes = {}
    for name, of_layouts in moved_bytes(context).items():
        if moved := float(of_layouts[0]):
            rate = format_rate(moved / nodes / float(seconds[name][0, 0]))
            notes[name] = f"{rate} a node: {_binding(context, name, moved, nodes)}"
            if place_link(context, name):
                slow_s = float(link_node_seconds(context, late=True)[name][0]) / nodes
                notes[name] += f"; in 95 of 100 runs within {format_duration(max(slow_s, float(seconds[name][0, 0])))}"
    return notes


def _binding(context: JobContext, name: str, moved: float, nodes: int) -> str:
    """Return the resource that limits a step of `moved` bytes, with its evidence."""
    type_row, store, inward = int(context.layouts.type_row[0]), context.objects, name == "stage in"
    objects, verb = context.rates.objects, "read" if inward else "write"
    link_s, devices_s = (float(of(context)[name][0]) / nodes for of in (link_node_seconds, device_node_seconds))
    waits = {
        f"the network limits it ({evidence_name(int(context.rates.network.evidence[type_row]))})": link_s,
        "disks or volumes bind": devices_s,
    }
    if (context.staging.source if inward else context.staging.sink) == context.catalog.cloud:
        rate = float(context.device_rates("objects")[0 if inward else 1][0])
        per_vcpu = format_rate(rate / float(context.catalog.instances.vcpu[type_row]))
        basis = f"{per_vcpu} for each vCPU, {evidence_name(int(objects.evidence[type_row]))}"
        waits[f"the object store limits it ({basis})"] = moved / nodes / rate * (1 + 1e-9)
        per_s = context.requests_per_s[verb] * float(context.layouts.speed("requests")[0])
        size = context.overheads.staging_request_bytes[verb]
        limit = f"{per_s:,.0f} {verb}s of {size / 1e6:.3g} MB a second"
        least = _request_seconds(context).get(name, np.zeros(1))
        waits[f"requests bind ({limit} at {count_text(context.prefixes, 'place')}, {store.request_evidence})"] = float(
            least[0]
        )
    if inward and (of_a_file := _file_seconds(context)) is not None:
        waits[f"files bind: {context.staging.files} of them, each loaded by one node"] = float(of_a_file[0]) - 1e-9
    return max(waits, key=lambda text: waits[text])

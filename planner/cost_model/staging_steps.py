"""What surrounds the job on every node: loading or generating the input, validating, and taking the output away."""

from __future__ import annotations

from typing import Final

import numpy as np

from planner.arrays import Flags, Floats
from planner.cost_model.disk_layout import OBJECTS, VOLUMES
from planner.cost_model.model import Phase
from planner.cost_model.workload import JobContext

GENERATE: Final = Phase(name="generate", read={}, write={"data": {"map_in": 1}}, network={}, cpu={})
VALIDATE: Final = Phase(name="validate", read={"data": {"reduce_out": 1}}, write={}, network={}, cpu={})


def around_node_seconds(context: JobContext) -> dict[str, Floats]:
    """Return the node-seconds of each step around the job, shape (R,): none for the papers. No step is shorter than
    its `least_seconds`.

    Data in the cluster's own object store that the model reads from there, or writes to, is not moved before or after.
    """
    steps = {"validate": device_seconds(context, VALIDATE), **loading_node_seconds(context)}
    if context.staging.sink:
        steps["stage out"] = _staged(context, context.staging.sink, VALIDATE, context.rates.objects.write)
    return steps


def least_seconds(context: JobContext) -> dict[str, Floats]:
    """Return the seconds, shape (R,), that steps around the job take on any number of nodes: until the store at one
    place has taken all their requests.
    """
    sizes, store = context.overheads.staging_request_bytes, context.objects
    limits = {"stage in": (sizes["read"], store.reads_per_s), "stage out": (sizes["write"], store.writes_per_s)}
    places = {"stage in": context.staging.source, "stage out": context.staging.sink}
    return {
        name: moved / limits[name][0] / limits[name][1]
        for name, moved in moved_bytes(context).items()
        if places[name] == context.catalog.cloud and np.isfinite(limits[name][1])
    }


def around_seconds(context: JobContext, nodes: Floats) -> dict[str, Floats]:
    """Return the seconds of each step around the job on `nodes` (N,) of each layout, shape (R, N)."""
    return _on_nodes(around_node_seconds(context), least_seconds(context), nodes)


def loading_seconds(context: JobContext, nodes: Floats) -> dict[str, Floats]:
    """Return those of them until the input is on the nodes."""
    return _on_nodes(loading_node_seconds(context), least_seconds(context), nodes)


def _on_nodes(node_seconds: dict[str, Floats], least: dict[str, Floats], nodes: Floats) -> dict[str, Floats]:
    shared = {name: seconds[:, None] / nodes for name, seconds in node_seconds.items()}
    return {
        name: np.maximum(seconds, least[name][:, None]) if name in least else seconds
        for name, seconds in shared.items()
    }


def around_s(context: JobContext, nodes: Floats) -> Floats:
    """Return how long a run takes beside its job, boot included, on `nodes` (N,) of each layout, shape (R, N)."""
    steps = sum(around_seconds(context, nodes).values(), start=np.zeros((1, len(nodes))))
    return np.asarray(context.overheads.booting_s(nodes) + context.overheads.fixed_s + steps)


def loading_node_seconds(context: JobContext) -> dict[str, Floats]:
    """Return the node-seconds, shape (R,), until the input is on the nodes, under the name of the step."""
    if context.staging.source:
        source = context.staging.source
        return {"stage in": _staged(context, source, GENERATE, context.rates.objects.read)}
    return {"generate": device_seconds(context, GENERATE)}


def moved_bytes(context: JobContext) -> dict[str, Floats]:
    """Return the bytes that staging moves in and out over the whole cluster, shape (R,)."""
    staging, job = context.staging, context.job
    both = {"stage in": (staging.source, job.map_in), "stage out": (staging.sink, job.reduce_out)}
    moves = {name: amount for name, (place, amount) in both.items() if place}
    places = {name: place for name, (place, _) in both.items()}
    return {name: np.where(_stays(context, places[name]), 0.0, amount) for name, amount in moves.items()}


def on_volumes_bytes(context: JobContext) -> Floats:
    """Return what a whole run reads from and writes to volumes, the steps around the job included, shape (R,)."""
    steps = () if context.paper else (GENERATE, VALIDATE, *([VALIDATE] if context.staging.sink else []))
    return sum(
        (context.moved_on(VOLUMES, phase) for phase in (*context.model.phases, *steps)),
        start=np.zeros(len(context.layouts.type_row)),
    )


def _stays(context: JobContext, place: str) -> Flags:
    """Whether a layout keeps its data in the very object store it would be moved to or from, shape (R,)."""
    return np.asarray((context.layouts.data_on == OBJECTS) & (place == context.catalog.cloud))


def _staged(context: JobContext, place: str, on_disks: Phase, store_bytes_per_s: Floats) -> Floats:
    """A stream between disks and store lasts as long as its slowest part: disks, NIC, store. Between clouds the store's
    rate is not known, and the NIC's stands for it.
    """
    type_rows = context.layouts.type_row
    amount = context.job.map_in if on_disks is GENERATE else context.job.reduce_out
    rates = [context.rates.network.link_at(type_rows)]
    if place == context.catalog.cloud:
        rates.append(store_bytes_per_s[type_rows])
    seconds = np.maximum(device_seconds(context, on_disks), amount / np.minimum.reduce(rates))
    return np.where(_stays(context, place), 0.0, seconds)


def device_seconds(context: JobContext, phase: Phase) -> Floats:
    """Return the node-seconds of disks, volumes and store, and at least those of the link that leads to them."""
    zeros = np.zeros(len(context.layouts.type_row))
    if context.paper:
        return zeros
    devices_s = sum((work.node_seconds for work in context.works(phase).values()), start=zeros)
    sent = context.network_bytes(phase, slice(None), np.ones(1))[:, 0]
    link = context.rates.network.link_at(context.layouts.type_row)
    return np.maximum(devices_s, np.divide(sent, link, out=zeros, where=sent > 0))

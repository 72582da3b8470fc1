"""Where the rates of staging are from, and whether disks, network, store or requests bind."""

from __future__ import annotations

import numpy as np

from planner.cost_model.rates import evidence_name
from planner.cost_model.staging_steps import (
    GENERATE,
    VALIDATE,
    around_seconds,
    device_seconds,
    least_seconds,
    moved_bytes,
)
from planner.cost_model.workload import JobContext
from planner.units import format_rate


def staging_notes(context: JobContext, nodes: int) -> dict[str, str]:
    """Return a note on each staging step of a cluster on the only layout of `context`, by the name of the step."""
    seconds = around_seconds(context, np.array([float(nodes)]))
    notes = {}
    for name, of_layouts in moved_bytes(context).items():
        if moved := float(of_layouts[0]):
            rate = format_rate(moved / nodes / float(seconds[name][0, 0]))
            notes[name] = f"{rate} a node: {_binding(context, name, moved, nodes)}"
    return notes


def _binding(context: JobContext, name: str, moved: float, nodes: int) -> str:
    """Say what a step of `moved` bytes waits for longest, and what that rests on."""
    type_row, store, inward = int(context.layouts.type_row[0]), context.objects, name == "stage in"
    place = context.staging.source if inward else context.staging.sink
    objects, network = context.rates.objects, context.rates.network
    rate = float((objects.read if inward else objects.write)[type_row])
    link = float(network.link_at(np.array([type_row]))[0])
    at_once = store.reads_per_s if inward else store.writes_per_s
    size = context.overheads.staging_request_bytes["read" if inward else "write"]
    verb = "reads" if inward else "writes"
    waits = {
        "disks or volumes bind": float(device_seconds(context, GENERATE if inward else VALIDATE)[0]) / nodes,
        f"the network binds ({_evidence(network.evidence[type_row])})": moved / nodes / link,
    }
    if place == context.catalog.cloud:
        each = format_rate(rate / float(context.catalog.instances.vcpu[type_row]))
        basis = f"{each} for each vCPU, {_evidence(objects.evidence[type_row])}"
        waits[f"the object store binds ({basis})"] = moved / nodes / rate
        limit = f"{at_once:,.0f} {verb} of {size / 1e6:.3g} MB a second at one place"
        waits[f"requests bind ({limit}, {store.request_evidence})"] = float(least_seconds(context).get(name, [0.0])[0])
    return max(waits, key=lambda text: waits[text])


def _evidence(code: int) -> str:
    return evidence_name(int(code))

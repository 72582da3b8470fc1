"""Where the rates of staging are from, and whether disks, network, store or requests bind."""

from __future__ import annotations

import numpy as np

from planner.cost_model.rates import evidence_name
from planner.cost_model.staging_steps import (
    around_seconds,
    device_node_seconds,
    least_seconds,
    link_node_seconds,
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
    objects, verb = context.rates.objects, "read" if inward else "write"
    link_s, devices_s = (float(of(context)[name][0]) / nodes for of in (link_node_seconds, device_node_seconds))
    waits = {
        f"the network binds ({evidence_name(int(context.rates.network.evidence[type_row]))})": link_s,
        "disks or volumes bind": devices_s,
    }
    if (context.staging.source if inward else context.staging.sink) == context.catalog.cloud:
        rate = float((objects.read if inward else objects.write)[type_row])
        per_vcpu = format_rate(rate / float(context.catalog.instances.vcpu[type_row]))
        basis = f"{per_vcpu} for each vCPU, {evidence_name(int(objects.evidence[type_row]))}"
        waits[f"the object store binds ({basis})"] = moved / nodes / rate * (1 + 1e-9)
        size = context.overheads.staging_request_bytes[verb]
        limit = f"{store.reads_per_s if inward else store.writes_per_s:,.0f} {verb}s of {size / 1e6:.3g} MB a second"
        least = least_seconds(context).get(name, np.zeros(1))
        waits[f"requests bind ({limit} at one place, {store.request_evidence})"] = float(least[0])
    return max(waits, key=lambda text: waits[text])

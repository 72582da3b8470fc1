"""The plan of an emulated run at the rates of a measured engine, without the trial sort that `planner run` makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median_high

from planner.clusters.emulated.ray import NODE_STORE_BYTES
from planner.clusters.emulated.run import EmulatedRun, Question, coding_s_per_byte, question_for
from planner.clusters.emulated.sort_trial import SAMPLE
from planner.cost_model.engine import Engine
from planner.cost_model.model import Phase, run_by
from planner.measurement.instruments.machine import LocalMachine


def measured_question(
    machine: LocalMachine, run: EmulatedRun, folder: Path, *, network_bytes_per_s: float, engine: Engine
) -> Question:
    """Return the question to plan: as `question_for`, with a measured engine's CPU work and sample."""
    if engine.sizes is None:
        return question_for(machine, run, folder, network_bytes_per_s=network_bytes_per_s)
    share = replace(machine, vcpu=machine.vcpu / run.nodes)
    asked = question_for(share, run, folder, network_bytes_per_s=network_bytes_per_s)
    coding_s = coding_s_per_byte(run)
    engine = replace(engine, cpu_s_per_byte={w: s + coding_s[w] for w, s in engine.cpu_s_per_byte.items()})
    emulated = _on_emulated_nodes(engine, machine, cap_bytes_per_s=_cap_bytes_per_s(run))
    sample = Phase(name=SAMPLE, read={}, write={}, network={}, cpu={}, startup_s=engine.emulated.sample_s)
    model = run_by(replace(asked.model, phases=(sample, *asked.model.phases)), emulated)
    return replace(asked, request=replace(asked.request, engine=engine.name), model=model)


def _cap_bytes_per_s(run: EmulatedRun) -> float | None:
    """Return the initial rate of most links of a run; None without caps."""
    caps = [cap for cap in run.shaping.draws(run.nodes).draw() if cap is not None]
    rates = [cap.bucket.burst_bytes_per_s if cap.bucket else cap.bytes_per_s for cap in caps]
    return median_high(rates) if rates else None


def _on_emulated_nodes(engine: Engine, machine: LocalMachine, *, cap_bytes_per_s: float | None) -> Engine:
    """Return an engine adapted to emulated nodes: their memory is fixed, and all use this machine's processors."""
    seen = engine.emulated
    disks = {"partition": seen.partition_disk_share, "sort": seen.sort_disk_share}
    packets_s = seen.packets_s_per_byte(cap_bytes_per_s)
    share = NODE_STORE_BYTES / machine.memory_bytes
    sizes = None if engine.sizes is None else replace(engine.sizes, store_share=share, sort_share=share)
    return replace(
        engine,
        sizes=sizes,
        send_s_per_byte=engine.send_s_per_byte + packets_s,
        copy_s_per_byte=engine.copy_s_per_byte + packets_s,
        busy={**engine.busy, "local_disks": disks},
        shares_processors=True,
        evidence="measured",
    )

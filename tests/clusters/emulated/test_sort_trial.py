"""Results of trial sorts on emulated nodes, and their use in a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.clusters.emulated.run import EmulatedRun, question_for
from planner.clusters.emulated.shaping import Shaping
from planner.clusters.emulated.sort_trial import Trial, trial_size
from planner.cost_model.model_reader import load_engine
from planner.distributed_sort.dataset.dataset import Dataset, Layout, TextFormat
from planner.measurement.instruments.machine import LocalMachine
from planner.planning.recommendation import require_best

MACHINE = LocalMachine(
    vcpu=2,
    memory_bytes=32 * 10**9,
    disk_free_bytes=10**12,
    read_bytes_per_s=9e9,
    write_bytes_per_s=9e9,
    sample_bytes=10**8,
    repeats=3,
    measured_s=1.0,
)
TRIAL = Trial(cpu_bytes_per_s={"partition": 40e6, "sort": 500e6}, disk_bytes_per_s=125e6, sample_s=0.5)


@pytest.mark.parametrize(("network", "second"), [(50e6, 15.0), (100e6, 12.5)])
def test_a_plan_knows_what_the_nodes_share(tmp_path: Path, network: float, second: float) -> None:
    """Of 1 GB a node, 3/4 cross: 15 s at 50 MB/s, or the processors' 12.5 s at 2 x 40 MB/s; then the disk's 8 s, in
    files although all of it would fit in memory.
    """
    run = EmulatedRun(data_bytes=4 * 10**9, model="indy", nodes=4, shaping=Shaping(), directory=tmp_path)
    best = require_best(question_for(MACHINE, run, tmp_path, network_bytes_per_s=network, trial=TRIAL).plan())
    assert [phase.equation_s for phase in best.phases] == pytest.approx([0.5, second, 8.0])
    assert [phase.bottleneck for phase in best.phases][::2] == ["start_up", "local_disks"]


def test_text_takes_the_processors_longer_than_the_records_of_a_trial(tmp_path: Path) -> None:
    """1 GB a node on 2 processors, shared by all 4 nodes."""
    run = EmulatedRun(
        data_bytes=4 * 10**9,
        model="indy",
        nodes=4,
        shaping=Shaping(),
        directory=tmp_path,
        source=Dataset(partitions=(), layout=Layout.of_text(TextFormat())),
    )
    best = require_best(question_for(MACHINE, run, tmp_path, network_bytes_per_s=1e9, trial=TRIAL).plan())
    decode_s = load_engine("ray").decode_s_per_byte["lines"]
    assert best.phases[1].equation_s == pytest.approx(1e9 * (1 / 40e6 + 4 * decode_s) / 2)


def test_a_trial_is_as_large_as_the_job_within_limits() -> None:
    assert [trial_size(size) for size in (10**6, 5 * 10**8, 10**12)] == [64_000_000, 500_000_000, 1_000_000_000]

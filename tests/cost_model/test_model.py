"""Cost models as data."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from refusals import refused

from planner import recommend as recommend_by
from planner.config.paths import model_names
from planner.cost_model.model import JobVolumes, on_one_machine
from planner.cost_model.model_reader import load_model
from planner.errors import InfeasibleError
from planner.planning.recommendation import require_best

recommend = partial(recommend_by, engine="ideal")
"""The sums here use the equations alone."""


def test_the_papers_three_models_are_shipped() -> None:
    assert {"cloudsort", "daytona", "indy"} <= set(model_names())


def test_daytona_writes_its_output_twice_and_sends_one_copy_away() -> None:
    reduce = load_model("daytona").phases[1]
    assert reduce.write["data"] == {"reduce_out": 2}
    assert (reduce.network, reduce.replicate) == ({}, {"reduce_out": 1})


@pytest.mark.parametrize(("model", "nodes"), [("daytona", 2), ("indy", 1), ("cloudsort", 1)])
def test_copies_on_another_node_need_two(model: str, nodes: int) -> None:
    assert load_model(model).nodes_min == nodes
    assert on_one_machine(load_model(model)).nodes_min == 1


@pytest.mark.parametrize(
    ("instance", "nodes", "data_bytes", "shuffled", "copied"),
    [("i4i.8xlarge", 2, 1e12, 250e9, 500e9), ("i3.4xlarge", 11, 5e12, 5e12 / 11 * 10 / 11, 5e12 / 11)],
)
def test_a_copy_crosses_the_network_whole_and_a_shuffle_but_for_a_nodes_own_share(
    instance: str, nodes: int, data_bytes: float, shuffled: float, copied: float
) -> None:
    """By hand: each of two nodes sends 1e12 / 2 x 1/2 = 250 GB of 1 TB in phase 1, and its 500 GB of output in phase 2.
    i3.4xlarge at 625 MB/s: 5e12 / 11 / 625e6 = 727 s of phase 2.
    """
    best = recommend(data=data_bytes, model="daytona", instances=(instance,), nodes=nodes).best
    assert best is not None
    sent = [phase.resources["network"].bytes_per_node for phase in best.phases]
    assert sent == [pytest.approx(shuffled), pytest.approx(copied)]
    if instance == "i3.4xlarge":
        assert (best.phases[1].bottleneck, best.phases[1].equation_s) == ("network", pytest.approx(727.27, abs=0.01))


def test_one_node_cannot_keep_copies_apart() -> None:
    with refused("infeasible", "--nodes 1", "2 nodes", kind=InfeasibleError):
        require_best(recommend(data="1TB", model="daytona", nodes=1).plan)
    best = recommend(data="1TB", model="daytona").best
    assert best is not None
    assert best.nodes >= 2


def test_volumes_follow_their_ratios() -> None:
    """100 B in, half of that out of the map, three times that out of the reduce."""
    assert JobVolumes.of(100, map_ratio=0.5, reduce_ratio=3.0) == JobVolumes(map_in=100, map_out=50, reduce_out=150)


def test_volumes_total_by_their_coefficients() -> None:
    job = JobVolumes(map_in=10, map_out=5, reduce_out=1)
    assert job.total({"map_in": 2, "reduce_out": 3}) == 23
    assert job.total({}) == 0


@pytest.mark.parametrize(
    ("writes", "copies"), [({"data": {"reduce_out": 3}}, 3), ({"data": {"map_in": 1, "reduce_out": 3}}, 3), ({}, 1)]
)
def test_the_output_has_as_many_copies_as_the_last_phase_writes(
    writes: dict[str, dict[str, float]], copies: int
) -> None:
    """A model that writes no data, such as one that ends in memory or in an object store, has one copy."""
    indy = load_model("indy")
    last = replace(indy.phases[-1], write=writes)
    assert replace(indy, phases=(*indy.phases[:-1], last)).output_copies == copies
    assert replace(indy, phases=(*indy.phases, last)).output_copies == copies, "of three phases the third"


def test_a_framework_on_volumes_needs_no_local_disks_and_differs_in_nothing_else() -> None:
    on_disks, on_volumes = load_model("framework"), load_model("framework-volumes")
    assert set(on_volumes.storage.values()) == {"volumes"}
    assert (on_volumes.phases, on_volumes.capacity) == (on_disks.phases, on_disks.capacity)


def test_a_sort_puts_out_what_it_takes_in() -> None:
    """A job with ratios 0.5 and 4 makes 5 bytes of 10, and 20 of those."""
    assert JobVolumes.of(10.0) == JobVolumes(map_in=10, map_out=10, reduce_out=10)
    assert JobVolumes.of(10.0, map_ratio=0.5, reduce_ratio=4) == JobVolumes(map_in=10, map_out=5, reduce_out=20)

"""A node's work in a phase, and the part of it that memory keeps from the disks."""

from __future__ import annotations

import pytest

import planner
from planner.api.request_inputs import inputs_of
from planner.simulation.machines import machines_of
from planner.simulation.phase_work import PhaseWork, phase_work
from planner.simulation.simulate import simulation_context


def works(data: str, *, model: str = "indy", engine: str = "ray", instance: str = "i4i.8xlarge") -> list[PhaseWork]:
    """Return the phases of a job on ten nodes."""
    answer = planner.recommend(data, instance=instance, nodes=10, model=model, engine=engine)
    request, given = inputs_of(answer.plan.request)
    assert answer.best is not None
    context = simulation_context(
        request, answer.best, models=given.models, catalogs=given.catalogs, overheads=given.overheads
    )
    machines = machines_of(context, 10)
    return [phase_work(context, phase, 10, machines) for phase in context.model.phases]


def test_intermediate_data_that_fits_in_the_page_cache_costs_no_disk() -> None:
    """i4i.8xlarge has 256 GiB. The sort takes a twelfth: 21.3 GB a node, 213 GB in all, less 1 GB for Ray."""
    shuffle, reduce = works("200GB")
    assert sum(shuffle.write_s.values()) == sum(reduce.read_s.values()) == 0.0
    assert min(sum(shuffle.read_s.values()), sum(reduce.write_s.values())) > 0
    shuffle, reduce = works("250GB")
    assert min(sum(shuffle.write_s.values()), sum(reduce.read_s.values())) > 0


@pytest.mark.parametrize(("model", "expected"), [("object-store", True), ("indy", False)])
def test_what_lies_in_an_object_store_is_anyones(model: str, expected: bool) -> None:
    shuffle, reduce = works("2TB", model=model)
    assert shuffle.is_anyones == expected
    assert not reduce.is_anyones

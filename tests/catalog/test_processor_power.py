"""Power that no cloud states: assumed by processor where energy decides, and never without a word."""

from __future__ import annotations

import numpy as np
import pytest

from planner import recommend
from planner.catalog import load_catalog
from planner.catalog.processors.power import processor_power


@pytest.mark.parametrize(
    ("cloud", "instance_type", "processor", "busy_w"),
    [
        ("aws", "m5.4xlarge", "Cascade Lake", 3.9673),
        ("aws", "c8gd.8xlarge", "Graviton2", 1.6930),
        ("aws", "m6a.large", "EPYC 3rd Gen", 2.0193),
        ("aws", "i3.8xlarge", "Broadwell", 3.6853),
        ("gcp", "n2d-standard-8", "EPYC 3rd Gen", 1.8719),
        ("azure", "Standard_D4pls_v6", "Graviton2", 1.6930),
        ("azure", "Standard_E16as_v4", "EPYC 2nd Gen", 1.6930),
        ("oci", "VM.DenseIO.E5.Flex-8", "EPYC 3rd Gen", 2.0193),
    ],
)
def test_types_take_what_their_processors_take(cloud: str, instance_type: str, processor: str, busy_w: float) -> None:
    power = processor_power(cloud, instance_type)
    assert power is not None and (power.processor, power.busy_w) == (processor, busy_w)


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure", "oci"])
def test_nearly_all_types_of_clouds_have_a_power_between_one_and_nine_watts_for_each_processor(cloud: str) -> None:
    catalog = load_catalog(cloud)
    each = catalog.assumed_power_w / catalog.instances.vcpu
    assert np.isfinite(each).mean() > 0.95
    assert (each[np.isfinite(each)] > 1).all() and (each[np.isfinite(each)] < 9).all()


def test_the_least_energy_is_found_and_said_to_be_assumed() -> None:
    best = recommend("1TB", cloud="aws", objective="energy").best
    assert best is not None and best.energy_j is not None
    power = processor_power("aws", best.instance_type)
    assert power is not None and best.machine is not None
    watts = best.nodes * power.busy_w * best.machine.vcpus
    assert best.energy_j >= best.time_s.expected * watts
    (note,) = (text for text in best.warnings if text.startswith("power: no cloud states it; assumed as"))
    assert f"{power.busy_w:.3g} W for each vCPU, as a busy {power.processor} takes" in note


def test_without_the_question_no_energy_is_assumed_and_with_exclude_none_ever_is() -> None:
    best = recommend("1TB", cloud="aws").best
    assert best is not None and best.energy_j is None
    refused = recommend("1TB", cloud="aws", objective="energy", unknown="exclude")
    assert refused.best is None
    assert "power unknown" in {rejection.reason for rejection in refused.plan.rejected}


def test_power_that_the_user_states_comes_first() -> None:
    asked = {"cloud": "aws", "instance": "i4i.8xlarge", "nodes": 4, "objective": "energy"}
    own = recommend("1TB", assume={"power:i4i.*": "350"}, **asked).best  # type: ignore[arg-type]
    assumed = recommend("1TB", **asked).best  # type: ignore[arg-type]
    assert own is not None and assumed is not None and own.energy_j is not None and assumed.energy_j is not None
    assert own.energy_j > assumed.energy_j
    assert not any(text.startswith("power:") for text in own.warnings)

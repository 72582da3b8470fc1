"""Installing the planner on rented machines: the method, the processor, and the time and cost it adds to the plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from approvals import Approve

import planner
from planner.api import software
from planner.api.rental_options import RentalOptions
from planner.api.run import plan_to_rent
from planner.api.run_job import Work
from planner.api.software import Delivery, architecture_of, delivery_to, of_one_processor, requested_architecture
from planner.clusters.remote import wheelhouse
from planner.errors import BadInputError
from planner.planning.recommendation import require_best
from planner.schemas.plan import Candidate, Plan


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planner.recommend("1TB", model="indy", instance=["i8g.4xlarge", "i4i.4xlarge"], nodes=4).plan


@pytest.fixture
def arm(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Candidate:
    """The arm64 candidate, planned on a laptop whose own wheel does not fit it."""
    monkeypatch.setattr(wheelhouse, "_fits", lambda **_: False)
    monkeypatch.setattr(wheelhouse, "is_installed_from_index", lambda: False)
    return next(each for each in plan.candidates if each.instance_type == "i8g.4xlarge")


def test_processors_are_those_of_the_catalog() -> None:
    assert architecture_of("aws", "i8g.4xlarge") == "arm64" and architecture_of("aws", "i4i.4xlarge") == "x86_64"


def test_an_order_has_machines_of_one_processor(plan: Plan) -> None:
    assert {each.instance_type for each in plan.candidates} == {"i8g.4xlarge", "i4i.4xlarge"}
    for architecture, instance in (("arm64", "i8g.4xlarge"), ("x86_64", "i4i.4xlarge")):
        fitting = of_one_processor(plan, architecture=architecture).candidates
        assert [each.instance_type for each in fitting] == [instance]


def test_compiling_is_in_the_time_and_the_bill_unless_the_user_has_wheels(
    arm: Candidate, tmp_path: Path, approve: Approve
) -> None:
    """The head compiles for all machines, which are paid meanwhile."""
    rental = RentalOptions(cloud="aws")
    bare, brought = (Work(data="1TB", instance=("i8g.4xlarge",), wheelhouse=made) for made in (None, tmp_path))
    best = require_best(plan_to_rent(bare, rental))
    (line,) = (line for line in best.bill if line.name == "compile")
    assert (line.time_s, best.overheads_s["compile"]) == (pytest.approx(90 + 300 / 8),) * 2
    assert line.usd == pytest.approx(best.usd_per_hour * (90 + 300 / 8) / 3600)
    assert not list(best.contradictions())
    assert "compile" not in require_best(plan_to_rent(brought, rental)).overheads_s
    approve(delivery_to(arm, wheelhouse=tmp_path).text)


def test_what_is_said_before_it_rents(arm: Candidate, approve: Approve) -> None:
    text = delivery_to(arm, wheelhouse=None).text
    approve(text)
    assert "$" in text
    own = Delivery(architecture="x86_64", form="own wheel")
    approve(own.text)
    assert own.added_s == 0
    index = Delivery(architecture="arm64", form="wheel of the index", compiling_s=90.0, usd_per_hour=36.0)
    approve(index.text)


def test_a_processor_without_compiling_is_named_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheelhouse, "_fits", lambda **_: True)
    here = software.cloud_name_here()
    other = "arm64" if here == "x86_64" else "x86_64"
    assert Delivery(architecture=other, form="source", compiling_s=90.0).text.endswith(f"; --arch {here} needs none")


def test_the_users_wheels_say_which_processor_is_planned_for(tmp_path: Path) -> None:
    assert requested_architecture("arm64", None) == "arm64" and requested_architecture(None, None) is None
    (tmp_path / "numpy-2.0-cp312-cp312-manylinux_2_28_aarch64.whl").touch()
    assert requested_architecture(None, tmp_path) == "arm64"
    with pytest.raises(BadInputError, match=r"--arch x86_64: the wheels in .* are for arm64"):
        requested_architecture("x86_64", tmp_path)
    (tmp_path / "sortplanner-0.1.0-cp312-cp312-linux_x86_64.whl").touch()
    assert requested_architecture(None, tmp_path) == "x86_64"

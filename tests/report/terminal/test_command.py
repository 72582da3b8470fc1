"""A request's command line, parsed again by the command line."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest
from approvals import Approve
from typer.testing import CliRunner

from planner.api.recommend import answer
from planner.cli.app import build
from planner.report.terminal.command import plan_command, rent_commands
from planner.schemas.json_values import to_jsonable
from planner.schemas.plan import NodeLimit, OwnPrice, Request
from planner.schemas.request_forms import discounts, own_prices

PLAIN = Request(data_bytes=10**14, model="indy")
REQUESTS = [
    PLAIN,
    replace(
        PLAIN, data_bytes=1, catalogs=("aws-2014", "aws-2019"), instances=("i2.*",), exclude=("i2.xlarge", "hs1.*")
    ),
    replace(PLAIN, catalogs=("aws-2014",), deadline_s=0.1 + 0.2 + 3600, confidence=0.9, budget_usd=1e5 / 3, nodes=170),
    replace(
        PLAIN, catalogs=("aws-2014",), assume={"network": 8.79e8, "price": 1.65}, scale={"network": 1.5, "price": 0.7}
    ),
    replace(PLAIN, model="all", objective="time", arch="x86_64", max_vcpus=10**5, max_nodes=200, top=3),
    replace(PLAIN, map_ratio=0.5, reduce_ratio=2.0, compute_bytes_per_s_per_vcpu=5e7, regions=("us-east-1",)),
    replace(PLAIN, catalogs=("aws-2014",), paper=True),
    replace(PLAIN, catalogs=("gcp",), pricing="spot", interruptions_per_node_hour=0.05),
    replace(PLAIN, own_prices=(*own_prices(["i4i.4xlarge=0.95", "i4i.*=0.08/vcpu"]), *discounts(["aws=15%"]))),
    replace(PLAIN, catalogs=("aws-2014",), network_distribution="C"),
    replace(PLAIN, node_limits=(NodeLimit(instance="i4i.*", nodes=40, note="--capacity"),)),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=plan_command)
def test_command_asks_what_the_request_asks(request_: Request) -> None:
    words = shlex.split(plan_command(request_))
    assert words[0] == "plan"
    done = CliRunner().invoke(build(), ["plan", *words[1:], "--json"])
    assert json.loads(done.stdout)["request"] == json.loads(json.dumps(to_jsonable(request_))), done.output


def test_the_usual_command_is_as_people_write_it() -> None:
    assert plan_command(PLAIN) == "plan --data 100TB --model indy --catalog aws"


def test_prices_of_the_settings_are_said_beside_the_command(approve: Approve) -> None:
    settled = replace(PLAIN, own_prices=(OwnPrice(cloud="aws", discount=0.1, note="framework agreement"),))
    approve(plan_command(settled))


def test_what_can_be_rented_has_its_commands(approve: Approve) -> None:
    request = replace(PLAIN, data_bytes=10**12)
    commands = rent_commands(answer(request).plan)
    approve(commands)


@pytest.mark.parametrize(
    "change", [{"catalogs": ("oci",)}, {"catalogs": ("aws-2014",)}, {"catalogs": ("gcp",), "pricing": "spot"}], ids=str
)
def test_what_cannot_be_rented_has_none(change: dict[str, Any]) -> None:
    assert rent_commands(answer(replace(PLAIN, data_bytes=10**12, **change)).plan) is None

"""A newcomer's commands before spending: machines to rent, running ones, leftovers, and the answers they need."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from approvals import Approve
from emulated_ec2 import EmulatedEc2

Typed = Callable[..., str]


def test_what_would_be_rented_and_its_limit(typed: Typed) -> None:
    answer = typed("planner cluster up --data 5TB --model indy --dry-run --max-cost 5")
    cost = re.search(r"cost: \$([\d.]+) expected", answer)
    cap = re.search(r"cap: \$([\d.]+), because every machine ends by itself", answer)
    assert cost is not None and cap is not None and float(cost[1]) < float(cap[1]) <= 5
    assert "to be created, and removed in the end" in answer
    assert "aws was asked nothing" in answer


def test_what_to_ask_of_the_quota(typed: Typed) -> None:
    assert "Did you mean: planner cluster up --dry-run" in typed("planner quota", code=2)
    answer = typed("planner run --cloud aws --data 5TB --model indy --instance i8g.8xlarge --nodes 4 --dry-run")
    # 4 machines of 32 vCPUs and the spare ones that the first line counts
    machines = re.search(r"(\d+) x i8g.8xlarge", answer)
    assert machines is not None
    assert f"quota: {32 * int(machines[1])} on-demand vCPUs" in answer


def test_arm64_machines_can_be_rented_from_a_laptop(typed: Typed) -> None:
    answer = typed("planner run --cloud aws --data 5TB --model indy --instance i8g.8xlarge --nodes 4 --dry-run")
    assert "machines: arm64 processors" in answer and "the head compiles the sort core" in answer


def test_what_runs(typed: Typed, approve: Approve) -> None:
    assert "Did you mean: planner cluster status" in typed("planner status", code=2)
    approve(typed("planner cluster status"))


def test_what_is_left_behind(typed: Typed) -> None:
    assert "Did you mean: planner cluster sweep" in typed("planner cleanup", code=2)
    refused = typed("planner cluster sweep --cloud aws", code=4)
    assert "AWS: no credentials found" in refused and "aws configure" in refused


def test_nothing_is_left_behind_in_an_empty_account(
    typed: Typed, ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ec2.environment().items():
        monkeypatch.setenv(name, value)
    assert "0 runs taken down, 0 resources" in typed("planner cluster sweep --cloud aws --yes")


def test_go_on_after_ctrl_c(typed: Typed, approve: Approve) -> None:
    approve(typed("planner run --resume", code=2))
    assert "`planner cluster status` lists those" in typed("planner cluster attach monday", code=2)

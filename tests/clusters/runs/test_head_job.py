"""The job on the head: its scripts run in a real shell, in a directory that stands in for the head's home."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest
from emulated_cloud import QUICK
from emulated_ec2 import EmulatedEc2, choice, order
from refusals import refused

from planner.clouds.protocol import Node, Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.remote.ssh import Ssh
from planner.clusters.runs import head_job, rented_run
from planner.clusters.runs.cloud import reopen_run
from planner.clusters.runs.cloud_task import SortJob
from planner.clusters.runs.head_job import HeadJob, OutOfSightError
from planner.clusters.runs.rented_run import OutOfTimeError, carry_out
from planner.clusters.runs.run import Run
from planner.distributed_sort.job.stopwatch import Stopwatch
from planner.errors import BadInputError, IoFailureError, LeftBehindError, PlannerError
from planner.schemas.plan import Plan
from planner.schemas.run_report import RunReport

HEAD = Node(id="h", region="r", zone="z", head=True, state="running", instance_type="t", private_address="10.0.0.1")
ORDER = {"do": "run", "request": {"name": "it's one"}}
RESULT = {"event": "result", "manifest": "", "checksum": "2a"}
STEP = {"event": "step", "name": "sort"}


class LocalShell(Ssh):
    """Runs the head's commands here. While `is_cut`, none is answered; each of `cuts` ends one command that way."""

    def __init__(self, home: Path) -> None:
        super().__init__([HEAD], directory=home, key=home / "key")
        self.home = home
        self.is_cut = False
        self.cuts: list[str] = []

    def command(self, node: str, *words: str, options: Sequence[str] = ()) -> list[str]:
        if self.is_cut:
            return ["sh", "-c", "echo gone >&2; exit 255"]
        follow = f"cd {shlex.quote(str(self.home))}; " + 'exec "$@"'
        if self.cuts and "tail" in words[-1]:
            follow = f"cd {shlex.quote(str(self.home))}; " + self.cuts.pop(0)
        return ["sh", "-c", follow, "sh", *words]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[LocalShell]:
    (tmp_path / "planner" / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "planner" / "ray.env").write_text("export TOKEN=t\n", "utf-8")
    with LocalShell(tmp_path) as made:
        yield made


def drives(shell: LocalShell, *events: dict[str, Any], then: str = "") -> None:
    """Install a driver that records its order, its address and its environment, and reports events."""
    lines = "".join(f"echo '{json.dumps(event)}' >&3\n" for event in events)
    program = shell.home / "planner" / "venv" / "bin" / "python"
    program.write_text(f'#!/bin/sh\ncat >>orders\necho "$5 $TOKEN" >>started\necho spoken\n{lines}{then}\n', "utf-8")
    program.chmod(0o755)


def job(shell: LocalShell, messages: list[str] | None = None, *, join_s: float = 60.0) -> HeadJob:
    return HeadJob(
        ssh=shell, policy=replace(QUICK, join_s=join_s), say=[].append if messages is None else messages.append
    )


def begun(shell: LocalShell, messages: list[str] | None = None, **policy: float) -> HeadJob:
    made = job(shell, messages, **policy)
    made.begin(ORDER, address="10.0.0.1:6379", ends_unclaimed=False)
    return made


def test_an_order_is_carried_out_and_its_events_are_passed_on(shell: LocalShell) -> None:
    drives(shell, STEP, STEP | {"name": "validate"}, RESULT)
    events: list[dict[str, Any]] = []
    made = begun(shell)
    assert made.result(events.append) == {"manifest": "", "checksum": "2a"}
    assert [event["name"] for event in events] == ["sort", "validate"]
    assert json.loads((shell.home / "orders").read_text("utf-8")) == ORDER
    assert (shell.home / "started").read_text("utf-8") == "10.0.0.1:6379 t\n"
    assert made.log().splitlines()[-1] == "spoken"


def test_it_begins_once_however_often_it_is_asked_for(shell: LocalShell) -> None:
    drives(shell, RESULT)
    for _ in range(3):
        begun(shell).result(lambda _: None)
    assert len((shell.home / "started").read_text("utf-8").splitlines()) == 1


def test_another_order_follows_one_that_has_ended_and_no_other(shell: LocalShell) -> None:
    drives(shell, {"event": "error", "kind": "IoFailureError", "message": "refused", "details": []})
    made = begun(shell)
    with pytest.raises(IoFailureError, match="refused"):
        made.result(lambda _: None)
    drives(shell, RESULT)
    made.begin({"do": "finish"}, address="a:1", ends_unclaimed=False, after_another=True)
    assert made.result(lambda _: None)["checksum"] == "2a"
    assert json.loads((shell.home / "orders").read_text("utf-8").splitlines()[-1]) == {"do": "finish"}


def test_a_second_follower_hears_all_from_the_beginning(shell: LocalShell) -> None:
    drives(shell, STEP, RESULT)
    begun(shell).result(lambda _: None)
    events: list[dict[str, Any]] = []
    job(shell).result(events.append)
    assert events == [STEP]


def test_a_lost_connection_is_taken_up_where_it_broke(shell: LocalShell) -> None:
    """The first connection passes on one event and half of the next, the second none; each event is reported once."""
    drives(shell, STEP, STEP | {"name": "validate"}, RESULT)
    begun(shell).result(lambda _: None)
    half = f"echo '{json.dumps(STEP)}'; printf '{{\"event\": \"st'; exit 255"
    shell.cuts = [half, "exit 255"]
    events: list[dict[str, Any]] = []
    messages: list[str] = []
    assert job(shell, messages).result(events.append)["checksum"] == "2a"
    assert [event["name"] for event in events] == ["sort", "validate"]
    assert [line for line in messages if line == "the head answers again"] == ["the head answers again"] * 2


def test_a_head_that_stays_silent_is_out_of_sight(shell: LocalShell) -> None:
    drives(shell, STEP, then="sleep 60")
    made = begun(shell, join_s=0.1)
    shell.is_cut = True
    with pytest.raises(OutOfSightError, match=r"silent for 0.1 s: .*gone"):
        made.result(lambda _: None)
    subprocess.run(["kill", (shell.home / "planner/job/driver.pid").read_text().strip()], check=True)


def test_what_the_driver_reports_is_raised(shell: LocalShell) -> None:
    drives(shell, {"event": "error", "kind": "BadInputError", "message": "no such object", "details": ["s3://x"]})
    with pytest.raises(BadInputError, match="no such object"):
        begun(shell).result(lambda _: None)


def test_a_driver_that_ends_without_a_result_leaves_its_last_words(shell: LocalShell) -> None:
    drives(shell, STEP, then="echo 'out of memory' >&2; exit 137")
    with pytest.raises(IoFailureError, match="without a result") as raised:
        begun(shell).result(lambda _: None)
    assert raised.value.details[-1] == "out of memory"


@pytest.mark.parametrize(
    ("manifest", "is_claimed", "ends"),
    [("s3://b/m.json", False, True), ("s3://b/m.json", True, False), ("", False, False)],
)
def test_machines_end_when_nobody_comes_for_a_result_in_a_store(
    shell: LocalShell, monkeypatch: pytest.MonkeyPatch, manifest: str, *, is_claimed: bool, ends: bool
) -> None:
    monkeypatch.setattr(head_job, "UNCLAIMED_S", 600 if is_claimed else 1)  # a claim may come late
    drives(shell, RESULT | {"manifest": manifest})
    made = job(shell)
    made.begin(ORDER, address="a:1", ends_unclaimed=True)
    made.result(lambda _: None)
    if is_claimed:
        made.claim()
    wait_for_script(shell)
    orders = (shell.home / "orders").read_text("utf-8").splitlines()
    assert orders[1:] == (['{"do": "end"}'] if ends else [])


def test_a_run_ends_in_order_before_its_machines_do(shell: LocalShell, ec2: EmulatedEc2) -> None:
    """The driver is stopped, everything is taken down, and the losses are reported."""
    sort_job = sorting(ec2, keep=True)
    drives(shell, STEP, then="exec sleep 600")
    rented = short_lived(shell, ec2, kind=PatientShell)
    with pytest.raises(OutOfTimeError) as raised:
        carry_out(replace(rented, job=sort_job), listening=lambda: nullcontext(lambda _: None))
    assert ec2.left() == {}
    assert list(raised.value.details[:2]) == [
        "lost: what they had sorted",
        "what was written below s3://b/out so far stays there, without a manifest",
    ]
    wait_for_script(shell)
    assert "spoken" in (rented.directory.path / "driver.log").read_text("utf-8")


def wait(_: Run, ssh: Ssh) -> NoReturn:
    """Wait for machines without end."""
    while True:
        with suppress(PlannerError):
            ssh.run("head", "exec sleep 60", within_s=600)


@pytest.mark.parametrize("unreadable", ["", "{", '{"plan": 1}'])
def test_a_run_that_is_being_prepared_ends_before_its_machines_do(
    shell: LocalShell, ec2: EmulatedEc2, unreadable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what an earlier process stored cannot be read."""
    monkeypatch.setattr(rented_run, "prepare", wait)
    rented = short_lived(shell, ec2)
    if unreadable:
        (rented.directory.path / "job.json").write_text(unreadable, "utf-8")
    with refused("out-of-time", kind=OutOfTimeError):
        carry_out(rented, listening=lambda: nullcontext(lambda _: None))
    assert ec2.left() == {}


@pytest.mark.parametrize("is_full", [False, True])
def test_a_driver_that_fails_leaves_its_log_and_no_machine(shell: LocalShell, ec2: EmulatedEc2, is_full: bool) -> None:
    drives(shell, STEP, then="echo 'out of memory' >&2; exit 137")
    rented = short_lived(shell, ec2, lives_s=3600)
    log = rented.directory.path / "driver.log"
    if is_full:
        log.mkdir()  # no file can be written
    with pytest.raises(IoFailureError, match="without a result"):
        carry_out(replace(rented, job=sorting(ec2, keep=False)), listening=lambda: nullcontext(lambda _: None))
    assert ec2.left() == {}
    assert is_full or "out of memory" in log.read_text("utf-8")


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("is_full", [False, True])
def test_a_run_that_is_done_ends_its_machines_unless_they_are_kept(
    shell: LocalShell, ec2: EmulatedEc2, is_full: bool, keep: bool
) -> None:
    """Also where its report cannot be written, which is an error in the end."""
    rented, sort_job = short_lived(shell, ec2, lives_s=3600), sorting(ec2, keep=keep)
    report = RunReport(plan=sort_job.plan, machine={}, steps_s={}, phases=(), checks=())
    stored = rented.directory.path / "report.json"
    if is_full:
        stored.mkdir()  # no file can be written
        with pytest.raises(IsADirectoryError):
            rented_run._close(rented, report, sort_job)
    else:
        closed = rented_run._close(rented, report, sort_job)
        assert closed.cost is not None and closed.cost.node_hours > 0
        assert list(closed.steps_s) == ([] if keep else ["take down"])
        assert RunReport.from_json(stored.read_text("utf-8")) == closed
    assert ec2.machines() == (4 if keep else 0) and bool(ec2.left()) == keep
    down(rented.directory, rented.session)


def test_what_is_lost_is_said_where_something_cannot_be_removed_too(
    shell: LocalShell, ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(directory: RunDirectory, session: ProviderSession) -> int:
        raise LeftBehindError("1 resource remains", ["i-1: UnauthorizedOperation"])

    rented = short_lived(shell, ec2)
    with monkeypatch.context() as patched:
        patched.setattr(rented_run, "down", refuse)
        patched.setattr(rented_run, "prepare", wait)
        with pytest.raises(LeftBehindError, match="1 resource remains") as raised:
            carry_out(rented, listening=lambda: nullcontext(lambda _: None))
    assert raised.value.details[:2] == ("i-1: UnauthorizedOperation", "lost: what they had sorted")
    assert raised.value.details[-1].endswith("follows from --max-hours and --max-cost: allow more")
    down(rented.directory, rented.session)


def test_a_run_whose_time_is_over_cannot_be_attached_to_and_says_what_is_gone(ec2: EmulatedEc2) -> None:
    past = datetime.now(UTC) - timedelta(minutes=1)
    directory = RunDirectory.create(order("over", expires_at=past))
    session = ProviderSession(provider=ec2.provider(), policy=QUICK, say=str)
    with refused("no-running-head", "run over") as raised:
        reopen_run(directory, session)
    assert raised.value.details == (
        "`planner cluster down over` removes what may be left",
        f"its machines' time, by --max-hours and --max-cost, was over at {past:%Y-%m-%d %H:%M} UTC",
        "what lay on their disks alone is gone",
    )


class PatientShell(LocalShell):
    """Has its time up only once the driver has spoken, however slow the machine is."""

    def give_up(self) -> None:
        log = self.home / "planner" / "job" / "driver.log"
        until = time.monotonic() + 60
        while not (log.exists() and log.read_text("utf-8")) and time.monotonic() < until:
            time.sleep(0.05)
        super().give_up()


def sorting(ec2: EmulatedEc2, *, keep: bool) -> SortJob:
    plan = Plan.from_json(ec2.plan.read_text("utf-8"))
    return SortJob(
        plan=plan,
        first_plan=plan,
        machine={},
        order={"do": "run", "request": {"output": "s3://b/out"}},
        address="a:1",
        steps_s={},
        predicted_usd=1.0,
        keep=keep,
    )


def short_lived(shell: LocalShell, ec2: EmulatedEc2, *, kind: type[LocalShell] = LocalShell, lives_s: float = 4) -> Run:
    """Return a run on machines that end in four seconds, with a local shell as its head."""

    class Here(Run):
        def ssh(self) -> Ssh:
            return kind(shell.home)

    session = ProviderSession(provider=ec2.provider(), policy=QUICK, say=str)
    keyed, directory = begin(order("short"))
    cluster = up(keyed, [Place(choice=choice(), region="us-east-1", zone="us-east-1a")], directory, session)
    ending = replace(keyed, expires_at=datetime.now(UTC) + timedelta(seconds=lives_s))
    return Here(order=ending, cluster=cluster, directory=directory, session=session, stopwatch=Stopwatch())


def wait_for_script(shell: LocalShell) -> None:
    """Return when the job's shell has ended: no process works in the head's home any more."""
    until = time.monotonic() + 60
    while any(works_in(process, shell.home) for process in Path("/proc").glob("[0-9]*")):
        assert time.monotonic() < until
        time.sleep(0.05)


def works_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").readlink() == folder
    except OSError:
        return False

"""What can go wrong on Azure: each fault, how the command must end, and that nothing stays behind."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

import pytest
from azure_bed import AzureBed
from bed import HASTY, QUICK
from fault_proxy import Answer, Fault, Lose, Seen

from planner.providers.pace import Pace

Judge = Callable[[Seen], Fault]
WRITES = {
    f"PUT {name}"
    for name in (
        *("resourceGroups", "networkSecurityGroups", "virtualNetworks"),
        *("proximityPlacementGroups", "virtualMachines", "schedules"),
    )
} | {"DELETE resourceGroups"}
WHOLE = {
    "groups": 1,
    "networkSecurityGroups": 2,
    "virtualNetworks": 1,
    "proximityPlacementGroups": 1,
    "instances": 4,
    "schedules": 4,
    "disks": 4,
    "networkInterfaces": 4,
    "publicIPAddresses": 1,
}


def once_each(fault: Fault, met: set[str]) -> Judge:
    """Fail the first request of every action, which `met` then holds."""

    def judge(seen: Seen) -> Fault:
        if seen.action not in met:
            met.add(seen.action)
            return fault
        return None

    return judge


def always(action: str, fault: Fault) -> Judge:
    return lambda seen: fault if seen.action == action else None


def places_tried(azure: AzureBed) -> list[str]:
    """Return the zones in which machines were asked for, each once, in order."""
    paths = [seen.path for seen in azure.proxy.seen if seen.action == azure.launching]
    found = [re.search(r"/planner-r\d+-\d+-\w+?-([^/]+)/", path) for path in paths]
    return list(dict.fromkeys(match[1] for match in found if match))


def went_up_and_down(azure: AzureBed) -> None:
    ended = azure.planner(*azure.up)
    assert ended.code == 0, ended.text
    assert azure.left() == WHOLE, "something was made twice, or not at all"
    assert azure.planner("cluster", "down", azure.runs()[0]).code == 0
    assert azure.left() == {}


def refused(azure: AzureBed, *, code: int = 4, pace: Pace = QUICK) -> str:
    ended = azure.planner(*azure.up, pace=pace)
    assert ended.code == code, ended.text
    assert azure.left() == {}
    return ended.text


@pytest.mark.parametrize("at_once", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_no_capacity_in_one_zone(azure: AzureBed, at_once: bool) -> None:
    """Two machines fit, two do not; Azure says so in its answer, or later, and leaves machines that have failed."""
    azure.world(capacity={"eastus-1": 2}, starting_polls=1, refuse_at_once=at_once)
    went_up_and_down(azure)
    assert places_tried(azure) == ["eastus-1", "eastus-2"]


def test_no_capacity_anywhere(azure: AzureBed) -> None:
    azure.world(capacity=dict.fromkeys(azure.zones, 0))
    text = refused(azure)
    assert places_tried(azure) == list(azure.zones)
    assert "ZonalAllocationFailed" in text and all(zone in text for zone in azure.zones)
    assert len([seen for seen in azure.proxy.seen if seen.action == azure.launching]) == 3 * 4, "no machine asked twice"


@pytest.mark.soak
def test_next_region_when_the_first_is_full(azure: AzureBed) -> None:
    azure.world(capacity=dict.fromkeys(azure.zones, 0))
    ended = azure.planner(*azure.up, "--region", "westus2")
    assert ended.code == 0, ended.text
    assert places_tried(azure)[-1].startswith("westus2")
    assert azure.left() == WHOLE, "nothing stays in the first region"
    assert azure.planner("cluster", "down", azure.runs()[0]).code == 0
    assert azure.left() == {}


def test_quota_known_beforehand(azure: AzureBed) -> None:
    azure.world(quota_vcpus={"eastus": 31})
    assert "quota standardLSv3Family for Standard_L8s_v3 in eastus: 32 needed, 31 of 31 free" in refused(azure)
    assert places_tried(azure) == [] and azure.runs() == []


def test_quota_met_only_on_launch(azure: AzureBed) -> None:
    body = '{"error": {"code": "OperationNotAllowed", "message": "results in exceeding approved Cores quota"}}'
    answer = Answer(status=409, body=body, headers={"Content-Type": "application/json"})
    azure.proxy.judge = always(azure.launching, answer)
    assert "OperationNotAllowed" in refused(azure)
    assert places_tried(azure) == ["eastus-1"], "a quota is of the region: no other zone helps"


def test_permission_denied(azure: AzureBed) -> None:
    azure.proxy.judge = always(azure.launching, azure.refusal("AuthorizationFailed", status=403))
    assert "AuthorizationFailed" in refused(azure)
    assert len(places_tried(azure)) == 1


@pytest.mark.parametrize(
    ("code", "status"), [("TooManyRequests", 429), pytest.param("InternalServerError", 500, marks=pytest.mark.soak)]
)
def test_throttled_at_every_call(azure: AzureBed, code: str, status: int) -> None:
    met: set[str] = set()
    azure.proxy.judge = once_each(azure.refusal(code, status=status), met)
    went_up_and_down(azure)
    assert met >= WRITES


@pytest.mark.soak
def test_throttled_for_ever(azure: AzureBed) -> None:
    azure.proxy.judge = always("PUT virtualNetworks", azure.refusal("TooManyRequests", status=429))
    assert "gave up after" in refused(azure, code=6, pace=HASTY)


@pytest.mark.parametrize("carried_out", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_connection_lost_at_every_call(azure: AzureBed, carried_out: bool) -> None:
    """The idempotency test: nothing is made twice, whether the lost request was carried out or not."""
    met: set[str] = set()
    azure.proxy.judge = once_each(Lose(carried_out=carried_out), met)
    went_up_and_down(azure)
    assert met >= WRITES


def test_machines_that_fail_later_are_replaced(azure: AzureBed) -> None:
    azure.world(fail_machines=[["OSProvisioningTimedOut", "the guest has failed"]] * 2, starting_polls=1)
    ended = azure.planner(*azure.up)
    assert ended.code == 0, ended.text
    assert "the guest has failed" in ended.text
    assert azure.left()["instances"] == 6, "the two that failed go with the rest"
    assert azure.planner("cluster", "down", azure.runs()[0]).code == 0
    assert azure.left() == {}


@pytest.mark.soak
def test_a_volume_that_will_not_attach_sends_the_cluster_elsewhere(azure: AzureBed) -> None:
    """Every machine of the first zone fails, those that replace them too."""
    azure.world(fail_machines=[["AttachDiskWhileBeingDetached", "the disk could not be attached"]] * 12)
    ended = azure.planner(*azure.up)
    assert ended.code == 0, ended.text
    assert "the disk could not be attached" in ended.text
    assert places_tried(azure) == ["eastus-1", "eastus-2"]
    assert azure.planner("cluster", "down", azure.runs()[0]).code == 0
    assert azure.left() == {}


@pytest.mark.soak
def test_machines_that_never_run_are_given_up(azure: AzureBed) -> None:
    azure.world(starting_polls=100_000)
    assert "0 of 4 machines run" in refused(azure, pace=HASTY)


def test_a_deletion_that_comes_to_nothing_is_repeated(azure: AzureBed) -> None:
    """Azure accepts the deletion of a group and gives up, because something in it was still in use."""
    azure.world(reject_deletions=2, ending_polls=3)
    went_up_and_down(azure)
    assert azure.proxy.actions().count("DELETE resourceGroups") == 3


def test_not_found_right_after_create(azure: AzureBed) -> None:
    """Eventual consistency: the first call that needs something new is told that it does not exist."""
    met: set[str] = set()
    within = WRITES - {"PUT resourceGroups", "DELETE resourceGroups"}
    fault = azure.refusal("ResourceGroupNotFound", status=404)
    judge = once_each(fault, met)
    azure.proxy.judge = lambda seen: judge(seen) if seen.action in within else None
    went_up_and_down(azure)
    assert met == within


def test_something_that_will_not_go_is_named(azure: AzureBed) -> None:
    assert azure.planner(*azure.up).code == 0
    run = azure.runs()[0]
    azure.proxy.judge = always("DELETE resourceGroups", azure.refusal("ScopeLocked", status=409))
    ended = azure.planner("cluster", "down", run, pace=HASTY)
    assert ended.code == 7
    assert f"resource-group planner-{run}-eastus-1" in ended.text
    azure.proxy.judge = lambda _: None
    assert azure.planner("cluster", "down", run).code == 0
    assert azure.left() == {}


@pytest.mark.soak
def test_interrupted_going_up(azure: AzureBed) -> None:
    """SIGTERM arrives while machines start: all is taken down before the command ends with 130."""
    azure.world(starting_polls=100_000)
    ended = azure.planner(*azure.up, signal_at="GET virtualMachines")
    assert ended.code == 130, ended.text
    assert azure.left() == {}


def test_expired_runs_are_swept_and_others_are_not(azure: AzureBed) -> None:
    assert azure.planner(*azure.up).code == 0
    sweep = ("cluster", "sweep", "--cloud", "azure", "--yes", "--json")
    assert json.loads(azure.planner(*sweep).text)["removed"] == {}
    assert azure.left()["instances"] == 4
    assert azure.planner(*sweep[:-1], "--all").code == 0
    assert azure.left() == {}


def test_two_runs_never_touch_each_other(azure: AzureBed) -> None:
    assert azure.planner(*azure.up).code == 0
    first = Counter(azure.left())
    assert azure.planner(*azure.up).code == 0
    one, other = azure.runs()
    assert azure.planner("cluster", "down", one).code == 0
    assert Counter(azure.left()) == first
    assert azure.planner("cluster", "down", other).code == 0
    assert azure.left() == {}

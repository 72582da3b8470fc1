"""Faults specific to Azure; test_faults has those common to all clouds."""

from __future__ import annotations

import json
import re
import urllib.request
from collections import Counter

import pytest
from cluster_outcomes import always, refused, went_down, went_up
from emulated_azure import EmulatedAzure, order
from emulated_cloud import QUICK
from fault_proxy import Answer, ProxiedRequest
from host_keys import ED25519

from planner.clouds.azure.provider import AzureProvider
from planner.clusters.provisioning.run_directory import RunDirectory


def test_no_capacity_said_at_once(azure: EmulatedAzure) -> None:
    """In the answer to the call, and not later in failed machines."""
    azure.world(capacity={"eastus-1": 2}, starting_polls=1, refuse_at_once=True)
    went_up(azure)
    assert list(dict.fromkeys(azure.launches())) == ["eastus-1", "eastus-2"]
    went_down(azure)


def test_a_quota_that_is_called_an_operation_not_allowed(azure: EmulatedAzure) -> None:
    body = '{"error": {"code": "OperationNotAllowed", "message": "results in exceeding approved Cores quota"}}'
    answer = Answer(status=409, body=body, headers={"Content-Type": "application/json"})
    azure.proxy.judge = always(azure, azure.launching, answer)
    assert "OperationNotAllowed" in refused(azure)
    assert set(azure.launches()) == {"eastus-1"}, "a quota is of the region: no other zone helps"


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("PropertyChangeNotAllowed", 409, "virtualMachines"),
        ("Unheard", 409, "virtualMachines"),
        ("Conflict", 409, "virtualMachines"),
        ("PlatformImageNotFound", 404, "virtualMachines"),
        ("Unheard", 409, "virtualNetworks"),
    ],
)
def test_a_creation_refused_for_an_unknown_reason_is_not_repeated(
    azure: EmulatedAzure, code: str, status: int, kind: str
) -> None:
    """Accepted machines would be billed meanwhile; they are taken down."""
    asked: list[str] = []

    def judge(seen: ProxiedRequest) -> Answer | None:
        is_head = "/head-0-0000" in seen.path or kind != "virtualMachines"
        if seen.action != f"PUT {kind}" or not is_head:
            return None
        asked.append(seen.path)
        return azure.refusal(code, status=status)

    azure.proxy.judge = judge
    ended = azure.planner(*azure.up)
    assert ended.code not in (0, 5) and code in ended.text, ended.text
    assert len(asked) == 1
    assert not azure.left()


@pytest.mark.parametrize("code", ["AnotherOperationInProgress", "RetryableError", "ReferencedResourceNotProvisioned"])
def test_a_creation_that_another_operation_holds_up_is_repeated(azure: EmulatedAzure, code: str) -> None:
    answers = [azure.refusal(code, status=409)] * 2

    def judge(seen: ProxiedRequest) -> Answer | None:
        return answers.pop() if answers and seen.action == "PUT virtualMachines" else None

    azure.proxy.judge = judge
    went_up(azure)
    went_down(azure)
    assert not answers


def test_a_deletion_refused_for_an_unknown_conflict_is_repeated(azure: EmulatedAzure) -> None:
    """Nothing else ends what is billed."""
    went_up(azure)
    answers = [azure.refusal("Unheard", status=409)] * 2

    def judge(seen: ProxiedRequest) -> Answer | None:
        return answers.pop() if answers and seen.action == "DELETE resourceGroups" else None

    azure.proxy.judge = judge
    went_down(azure)
    assert not answers


def test_a_deletion_that_comes_to_nothing_is_repeated(azure: EmulatedAzure) -> None:
    """Azure accepts the deletion of a group, then gives up because something in it was still in use."""
    azure.world(reject_deletions=2, ending_polls=3)
    went_up(azure)
    went_down(azure)
    assert azure.proxy.actions().count("DELETE resourceGroups") == 3


def test_a_subscription_without_the_services_is_told_how_to_register(azure: EmulatedAzure) -> None:
    azure.world(unregistered=["Microsoft.DevTestLab"])
    assert "az provider register --namespace Microsoft.DevTestLab" in refused(azure)
    assert "PUT resourceGroups" not in azure.proxy.actions()


def test_machines_end_at_once_with_their_group(azure: EmulatedAzure) -> None:
    went_up(azure)
    went_down(azure)
    deletions = [seen for seen in azure.proxy.seen if seen.action == "DELETE resourceGroups"]
    assert {seen.params["forceDeletionTypes"] for seen in deletions} == {"Microsoft.Compute/virtualMachines"}


def test_machines_tell_their_host_keys_by_boot_diagnostics(azure: EmulatedAzure) -> None:
    """Available as soon as the log exists; a machine that has written nothing yet has no keys, and is not an error."""
    went_up(azure)
    (run,) = azure.runs()
    provider = AzureProvider(policy=QUICK)
    head = next(node for node in provider.nodes(run, region=azure.region) if node.head)
    assert provider.host_keys(head) == ()
    azure.show(head.id, f"-----BEGIN SSH HOST KEY KEYS-----\n{ED25519} root\n-----END SSH HOST KEY KEYS-----\n")
    assert provider.host_keys(head) == (ED25519,)
    went_down(azure)


def test_a_stopped_machine_is_billed_and_a_deallocated_one_is_not(azure: EmulatedAzure) -> None:
    """As for a machine that powered itself off, until Azure's shutdown schedule runs."""
    assert azure.planner(*azure.up).code == 0
    run = azure.runs()[0]
    (group, name) = RunDirectory.open(run).ordered()[-1].id.rsplit(".", 1)
    for call, machines, stopped in (("powerOff", 4, [f"{group}.{name}"]), ("deallocate", 3, [])):
        does(azure, group, name, call)
        status = json.loads(azure.planner("cluster", "status", run, "--json").text)["runs"][0]
        assert (status["machines"], status["stopped"]) == (machines, stopped)
    went_down(azure)


def test_machines_that_stop_at_boot_are_ended_and_replaced(azure: EmulatedAzure) -> None:
    """They would be billed together with their replacements."""
    looks: list[str] = []

    def judge(seen: ProxiedRequest) -> None:
        match = re.search("/resourceGroups/([^/]+)/", seen.path, re.IGNORECASE)
        if match and seen.action == "GET virtualMachines" and azure.machines() == 4:
            looks.append(match[1])
            if len(looks) == 3:  # all have been created by the first
                does(azure, match[1], "node-0-0000", "powerOff")

    azure.proxy.judge = judge
    ended = azure.planner(*azure.up)
    assert ended.code == 0 and "node-0-0000 ended at boot" in "".join(ended.text.split("\n")), ended.text
    assert azure.machines() == 4, "one was ended, another took its place"


def does(azure: EmulatedAzure, group: str, name: str, call: str) -> None:
    """Stop a machine, as a call or the machine itself would."""
    machine = f"subscriptions/s/resourceGroups/{group}/providers/Microsoft.Compute/virtualMachines/{name}"
    url = f"http://127.0.0.1:{azure.port}/{machine}/{call}?api-version=2024-07-01"
    urllib.request.urlopen(urllib.request.Request(url, data=b"{}", method="POST"), timeout=60).close()


@pytest.mark.parametrize("body", ["{}", '{"fieldRestrictions": []}', '{"contentEvaluationResult": null}'])
def test_policies_that_azure_did_not_evaluate_are_not_known(azure: EmulatedAzure, body: str) -> None:
    def judge(seen: ProxiedRequest) -> Answer | None:
        asks = seen.path.partition("?")[0].endswith("Restrictions")
        return Answer(status=200, body=body, headers={"Content-Type": "application/json"}) if asks else None

    azure.proxy.judge = judge
    seen = AzureProvider(policy=QUICK).preflight(order("unknown"))
    (found,) = (finding for finding in seen.findings if finding.subject.startswith("policies on"))
    assert found.ok is None
    azure.proxy.judge = lambda seen: None
    seen = AzureProvider(policy=QUICK).preflight(order("known"))
    assert [finding.ok for finding in seen.findings if finding.subject == found.subject] == [True]


def test_a_policy_on_sizes_is_known_beforehand(azure: EmulatedAzure) -> None:
    """The policy is checked with the resources that the launch creates, and the allowed size is launched."""
    azure.world(policies={"allowed-sizes": ["Standard_D2s_v5"]})
    text = refused(azure)
    assert "policies on Standard_L8s_v3 in eastus: denied: Microsoft.Compute/virtualMachines by allowed-sizes" in text
    assert "properties.hardwareProfile.vmSize NotIn" in text
    asked = [json.loads(seen.body) for seen in azure.proxy.seen if seen.path.partition("?")[0].endswith("Restrictions")]
    kinds = Counter(body["resourceDetails"]["resourceContent"]["type"].rpartition("/")[2] for body in asked)
    assert kinds["virtualMachines"] == kinds["schedules"] == 2 and kinds["resourceGroups"] == 1
    azure.world(policies={"allowed-sizes": ["Standard_L8s_v3"]})
    went_up(azure)
    went_down(azure)

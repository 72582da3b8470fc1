"""What can go wrong on Azure alone; see test_faults for what can go wrong everywhere."""

from __future__ import annotations

from cluster_outcomes import always, refused, went_down, went_up
from emulated_azure import EmulatedAzure
from emulated_cloud import QUICK
from fault_proxy import Answer
from host_keys import ED25519

from planner.clouds.azure.provider import AzureProvider


def test_no_capacity_said_at_once(azure: EmulatedAzure) -> None:
    """In the answer to the call, and not later in machines that have failed."""
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


def test_a_deletion_that_comes_to_nothing_is_repeated(azure: EmulatedAzure) -> None:
    """Azure accepts the deletion of a group and gives up, because something in it was still in use."""
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
    """As soon as their log is there; a machine that has written nothing yet has no keys, and is no error."""
    went_up(azure)
    (run,) = azure.runs()
    provider = AzureProvider(policy=QUICK)
    head = next(node for node in provider.nodes(run, region=azure.region) if node.head)
    assert provider.host_keys(head) == ()
    azure.show(head.id, f"-----BEGIN SSH HOST KEY KEYS-----\n{ED25519} root\n-----END SSH HOST KEY KEYS-----\n")
    assert provider.host_keys(head) == (ED25519,)
    went_down(azure)

"""A cluster's life on Azure when nothing goes wrong: every request is safe, announced, tagged, and undone."""

from __future__ import annotations

import base64
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from emulated_azure import EmulatedAzure, choice, order
from emulated_cloud import QUICK, volumes
from fault_proxy import ProxiedRequest

from planner.clouds.azure.provider import AzureProvider
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import Order
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.dry_run import rehearse
from planner.clusters.provisioning.launch import Cluster
from planner.clusters.provisioning.run_directory import RunDirectory

ROLE = Path(__file__).resolve().parents[3] / "docs" / "azure-role.json"


def place(at: Order) -> Place:
    return Place(choice=at.choices[0], region="eastus", zone="eastus-1")


def launched(asked: Order, policy: RetryPolicy = QUICK) -> tuple[Cluster, RunDirectory]:
    keyed, directory = begin(asked)
    return up(keyed, [place(keyed)], directory, session(policy)), directory


def session(policy: RetryPolicy = QUICK) -> ProviderSession:
    return ProviderSession(provider=AzureProvider(policy=policy), policy=policy, say=lambda _: None)


def bodies(azure: EmulatedAzure, action: str) -> list[dict[str, Any]]:
    return [json.loads(seen.body) for seen in azure.proxy.seen if seen.action == action]


def test_machines_are_what_was_ordered(azure: EmulatedAzure) -> None:
    cluster, directory = launched(order("life", choice(volumes=volumes("standard-ssd"))))
    assert len(cluster.nodes) == 4
    assert cluster.head.head and cluster.head.public_address
    assert not [node for node in cluster.nodes[1:] if node.public_address]
    assert all(node.private_address.startswith("10.77.") for node in cluster.nodes)
    assert azure.left()["disks"] == 4 * 3, "a root and two volumes each"
    assert down(directory, session()) == 1, "the group, and all that is in it"
    assert azure.left() == {}
    assert not directory.key.exists()


def test_every_launch_is_safe(azure: EmulatedAzure) -> None:
    asked = order("safe", choice(volumes=volumes("standard-ssd")))
    _, directory = launched(asked)
    machines = bodies(azure, azure.launching)
    public = [json.dumps(body).count("publicIPAddressConfiguration") for body in machines]
    assert sorted(public) == [0, 0, 0, 1]
    for body in machines:
        wanted = body["properties"]
        assert wanted["securityProfile"]["encryptionAtHost"] is True
        assert wanted["osProfile"]["linuxConfiguration"]["disablePasswordAuthentication"] is True
        disks = [wanted["storageProfile"]["osDisk"], *wanted["storageProfile"]["dataDisks"]]
        assert [disk["deleteOption"] for disk in disks] == ["Delete"] * 3
        interfaces = wanted["networkProfile"]["networkInterfaceConfigurations"]
        assert [interface["properties"]["deleteOption"] for interface in interfaces] == ["Delete"]
        assert "identity" not in body, "a machine holds no credentials"
        assert b"planner-end.timer" in base64.b64decode(wanted["osProfile"]["customData"])
    down(directory, session())


@pytest.mark.parametrize(
    ("size", "zone", "accelerated", "image"),
    [
        ("Standard_L8s_v3", "eastus-1", True, "server"),
        ("Standard_B2ms", "eastus-1", False, "server"),
        ("Standard_DS2_v2", "", False, "server-gen1"),
    ],
)
def test_a_size_is_asked_for_what_it_can(
    azure: EmulatedAzure, size: str, zone: str, accelerated: bool, image: str
) -> None:
    """A cloud trial rents the cheapest size with a disk, Standard_B2ms, which has no accelerated networking."""
    alike = choice(instance_type=size, spares=0)
    keyed, directory = begin(order("able", alike))
    up(keyed, [Place(choice=alike, region="eastus", zone=zone)], directory, session())
    for body in bodies(azure, azure.launching):
        wanted = body["properties"]
        (interface,) = wanted["networkProfile"]["networkInterfaceConfigurations"]
        assert interface["properties"]["enableAcceleratedNetworking"] is accelerated
        assert wanted["storageProfile"]["imageReference"]["sku"] == image
    down(directory, session())


def test_what_sizes_cannot_do_is_known_beforehand(azure: EmulatedAzure) -> None:
    names = ("Standard_D2_v2", "Standard_D13_v2_Promo", "Standard_NV6", "Standard_M1", "Standard_DS2_v2")
    asked = order("odd", *(choice(instance_type=name) for name in names))
    seen = AzureProvider(policy=QUICK).preflight(asked)
    texts = {finding.subject: finding.text for finding in seen.findings}
    assert [texts[f"{name} in eastus"] for name in names] == [
        "cannot encrypt at host",
        "closed to this subscription",
        "cannot encrypt at host",
        "not offered",
        "offered, in no zone of its own",
    ]
    assert [(place.choice.instance_type, place.zone) for place in seen.places] == [("Standard_DS2_v2", "")]


def test_all_that_is_against_a_launch_is_said_at_once(azure: EmulatedAzure) -> None:
    azure.world(
        features={"EncryptionAtHost": "NotRegistered"},
        unregistered=["Microsoft.DevTestLab"],
        quota_network={"eastus": {"VirtualNetworks": 0}},
        quota_vcpus={"eastus": 8},
    )
    seen = AzureProvider(policy=QUICK).preflight(order("all"))
    against = {finding.subject: finding.text for finding in seen.findings if finding.ok is False}
    assert seen.places == () and {"registration", "encryption"} < against.keys()
    assert "az feature register --namespace Microsoft.Compute --name EncryptionAtHost" in against["encryption"]
    assert against["quota VirtualNetworks for Standard_L8s_v3 in eastus"] == "1 needed, 0 of 0 free"
    assert against["quota standardLSv3Family for Standard_L8s_v3 in eastus"] == "32 needed, 8 of 8 free"


def test_the_root_of_an_image_of_ones_own_has_its_size() -> None:
    image = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/own"
    provider = AzureProvider(policy=QUICK)
    roots = [
        request.parameters["body"]["properties"]["storageProfile"]["osDisk"]
        for request in rehearse(order("own", image=image), provider).requests
        if request.operation == "create machine"
    ]
    assert len(roots) == 4 and not any("diskSizeGB" in root for root in roots)


def test_azure_itself_stops_every_machine(azure: EmulatedAzure) -> None:
    """To the minute, never before the run has expired."""
    asked = order("ends", expires_at=datetime(2026, 11, 21, 18, 29, 30, tzinfo=UTC))
    _, directory = launched(asked)
    schedules = bodies(azure, "PUT schedules")
    assert {body["properties"]["dailyRecurrence"]["time"] for body in schedules} == {"1830"}
    assert {body["properties"]["taskType"] for body in schedules} == {"ComputeVmShutdownTask"}
    assert len({body["properties"]["targetResourceId"] for body in schedules}) == 4
    down(directory, session())


def test_what_would_not_be_stopped_in_time_is_refused(azure: EmulatedAzure) -> None:
    ended = azure.planner(*azure.up, "--max-hours", "30h")
    assert ended.code == 4
    assert "--max-hours 23h" in ended.text
    assert azure.left() == {} and azure.runs() == []


def test_only_the_caller_gets_in_and_nothing_out(azure: EmulatedAzure) -> None:
    _, directory = launched(order("shut", ssh_from="198.51.100.4/32"))
    groups = bodies(azure, "PUT networkSecurityGroups")
    rules = [[rule["properties"] for rule in group["properties"]["securityRules"]] for group in groups]
    for some in rules:
        assert [rule["priority"] for rule in some] == sorted(rule["priority"] for rule in some)
        for direction in ("Inbound", "Outbound"):
            last = [rule for rule in some if rule["direction"] == direction][-1]
            ends = (last["access"], last["sourceAddressPrefix"], last["destinationAddressPrefix"], last["protocol"])
            assert ends == ("Deny", "*", "*", "*")
    allowed = {
        (r["sourceAddressPrefix"], r["destinationPortRange"]) for s in rules for r in s if r["access"] == "Allow"
    }
    assert allowed == {("10.77.0.0/16", "*"), ("198.51.100.4/32", "22")}
    subnets = bodies(azure, "PUT virtualNetworks")[0]["properties"]["subnets"]
    assert [subnet["properties"]["defaultOutboundAccess"] for subnet in subnets] == [False, False]
    assert all("networkSecurityGroup" in subnet["properties"] for subnet in subnets)
    down(directory, session())


def test_every_create_call_is_tagged_and_announced(azure: EmulatedAzure) -> None:
    """The journal on disk announces every create call before it arrives."""
    asked = order("told", staging=True)
    missed: list[str] = []

    def judge(seen: ProxiedRequest) -> None:
        if seen.method != "PUT":
            return
        body = json.loads(seen.body)
        if not asked.tags.items() <= body["tags"].items():
            missed.append(f"{seen.action} without tags")
        name = seen.path.partition("?")[0].rpartition("/")[2].removeprefix("shutdown-computevm-")
        announced = {event.details["name"] for event in RunDirectory.open("told").events() if event.what == "intent"}
        if name not in announced:
            missed.append(f"{seen.action} {name} not announced")

    azure.proxy.judge = judge
    _, directory = launched(asked)
    assert missed == []
    down(directory, session())


def test_no_secret_in_state_requests_or_process_list(azure: EmulatedAzure) -> None:
    seen_processes: list[str] = []

    def judge(seen: ProxiedRequest) -> None:
        if seen.action == azure.launching:
            listing = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True)
            seen_processes.append(listing.stdout)

    azure.proxy.judge = judge
    _, directory = launched(order("hush"))
    private = directory.key.read_text("utf-8")
    elsewhere = [path for path in directory.path.rglob("*") if path.is_file() and path != directory.key]
    texts = [path.read_text("utf-8") for path in elsewhere] + seen_processes
    texts += [seen.body.decode("latin-1") + seen.path for seen in azure.proxy.seen]
    texts += [
        base64.b64decode(body["properties"]["osProfile"]["customData"]).decode()
        for body in bodies(azure, azure.launching)
    ]
    assert len(seen_processes) == 4 and len(elsewhere) >= 2
    assert not [secret for secret in (private.splitlines()[1], "PRIVATE KEY") for text in texts if secret in text]
    down(directory, session())


def test_the_dry_run_is_what_is_done(azure: EmulatedAzure) -> None:
    """The rehearsal without an account and the real run make the same writes."""
    asked = order("same", staging=True)
    with pytest.MonkeyPatch.context() as without:
        without.delenv("AZURE_SUBSCRIPTION_ID")
        rehearsed = rehearse(asked, AzureProvider(policy=QUICK)).requests
    assert azure.proxy.seen == [], "a dry run asks nothing"
    assert rehearsed[0].parameters["subscription"] == "<subscription>"
    _, directory = launched(asked)
    down(directory, session())
    names = {
        "resource-group": "resourceGroups",
        "network-security-group": "networkSecurityGroups",
        "virtual-network": "virtualNetworks",
        "proximity-placement-group": "proximityPlacementGroups",
        "machine": "virtualMachines",
        "schedule": "schedules",
    }
    verbs = {"create": "PUT", "delete": "DELETE"}
    planned = [
        (verbs[verb], names[resource_kind])
        for verb, resource_kind in (r.operation.split() for r in rehearsed)
        if verb in verbs
    ]
    done = [tuple(seen.action.split()) for seen in azure.proxy.seen if seen.method in ("PUT", "DELETE")]
    assert sorted(planned) == sorted(done), "machines and their schedules come several at once"


def test_status_tells_cost_and_what_is_there(azure: EmulatedAzure) -> None:
    assert azure.planner(*azure.up).code == 0
    run = azure.runs()[0]
    seen = json.loads(azure.planner("cluster", "status", run, "--json").text)["runs"][0]
    assert seen["state"] == "up" and seen["machines"] == 4
    assert 0 < seen["cost_usd"] < 1
    assert len(seen["resources"]) == 1
    assert azure.planner("cluster", "down", run).code == 0
    after = json.loads(azure.planner("cluster", "status", run, "--json").text)["runs"][0]
    assert (after["state"], after["machines"], after["resources"]) == ("down", 0, [])


def test_too_dear_is_refused(azure: EmulatedAzure) -> None:
    azure.world(price_factor=5000.0)
    ended = azure.planner(*azure.up, "--max-cost", "50")
    assert ended.code == 4
    assert "over --max-cost" in ended.text
    assert azure.left() == {} and azure.runs() == []


def test_no_subscription(azure: EmulatedAzure, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = azure.environment()
    monkeypatch.setattr(azure, "environment", lambda: usual | {"AZURE_SUBSCRIPTION_ID": ""})
    ended = azure.planner(*azure.up)
    assert ended.code == 2
    assert "AZURE_SUBSCRIPTION_ID" in ended.text


def role() -> list[str]:
    return list(json.loads(ROLE.read_text("utf-8"))["Actions"])


def whole_life(azure: EmulatedAzure) -> list[int]:
    """Go up and down, then up again and be swept; return the exit codes."""
    codes = [azure.planner(*azure.up).code]
    codes += [azure.planner("cluster", "down", run).code for run in azure.runs()]
    return [*codes, azure.planner(*azure.up).code, azure.planner(*azure.sweep).code]


def test_the_role_is_enough(azure: EmulatedAzure) -> None:
    azure.world(actions=role())
    assert whole_life(azure) == [0, 0, 0, 0]
    assert azure.left() == {}


def test_policies_that_may_not_be_asked_are_unknown(azure: EmulatedAzure) -> None:
    azure.world(actions=[action for action in role() if "PolicyInsights" not in action])
    ended = azure.planner(*azure.up)
    assert ended.code == 0, ended.text
    assert "?   policies on Standard_L8s_v3 in eastus: not known: " in ended.text
    assert azure.planner("cluster", "down", azure.runs()[0]).code == 0 and azure.left() == {}

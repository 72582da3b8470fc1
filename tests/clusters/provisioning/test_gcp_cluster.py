"""A cluster's life on Compute Engine without faults: requests are safe, announced, labelled, and undone."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from emulated_cloud import QUICK, volumes
from emulated_gcp import EmulatedGcp, choice, order
from fault_proxy import ProxiedRequest

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.gcp import client
from planner.clouds.gcp.permissions import permissions
from planner.clouds.gcp.preflight import MOST_PLACED
from planner.clouds.gcp.provider import GcpProvider
from planner.clouds.order import Order
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.dry_run import rehearse
from planner.clusters.provisioning.launch import Cluster
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.errors import BadInputError

NOT_IN_A_LIFE = {"compute.disks.delete", "compute.instances.getSerialPortOutput"}
"""Used where a machine left a disk behind, and by runs for the head's host key, which is otherwise pinned unseen."""
ROLE = Path(__file__).resolve().parents[3] / "docs" / "gcp-role.json"


def place(at: Order) -> Place:
    return Place(choice=at.choices[0], region="us-central1", zone="us-central1-a")


def launched(asked: Order, policy: RetryPolicy = QUICK) -> tuple[Cluster, RunDirectory]:
    keyed, directory = begin(asked)
    return up(keyed, [place(keyed)], directory, session(policy)), directory


def session(policy: RetryPolicy = QUICK) -> ProviderSession:
    return ProviderSession(provider=GcpProvider(policy=policy), policy=policy, say=lambda _: None)


def bodies(gcp: EmulatedGcp, action: str) -> list[dict[str, Any]]:
    return [json.loads(seen.body) for seen in gcp.proxy.seen if seen.action == action]


def test_the_network_takes_the_largest_packets(gcp: EmulatedGcp) -> None:
    _, directory = launched(order("wide"))
    (network,) = bodies(gcp, "POST networks")
    assert network["mtu"] == 8896
    down(directory, session())


def test_machines_are_what_was_ordered(gcp: EmulatedGcp) -> None:
    cluster, directory = launched(order("life", choice(volumes=volumes("hyperdisk-balanced"))))
    assert len(cluster.nodes) == 4
    assert cluster.head.head and cluster.head.public_address
    assert not [node for node in cluster.nodes[1:] if node.public_address]
    assert all(node.private_address.startswith("10.77.") for node in cluster.nodes)
    assert gcp.left()["disks"] == 4 * 3, "a root and two volumes each"
    for body in bodies(gcp, gcp.launching):
        kinds = [disk["initializeParams"]["diskType"] for disk in body["instanceProperties"]["disks"]]
        assert kinds == ["pd-balanced", *["local-ssd"] * 2, *["hyperdisk-balanced"] * 2]
    assert down(directory, session()) > 10
    assert gcp.left() == {}
    assert not directory.key.exists()


def test_every_launch_is_safe(gcp: EmulatedGcp) -> None:
    _, directory = launched(order("safe", choice(volumes=volumes("pd-ssd")), staging=True))
    nodes, head = bodies(gcp, gcp.launching)
    assert (nodes["count"], nodes["minCount"], head["count"], head["minCount"]) == ("3", "3", "1", "1")
    for body, public in ((nodes, False), (head, True)):
        wanted = body["instanceProperties"]
        assert ("accessConfigs" in wanted["networkInterfaces"][0]) == public
        assert wanted["scheduling"]["instanceTerminationAction"] == "DELETE"
        assert 7000 < int(wanted["scheduling"]["maxRunDuration"]["seconds"]) <= 7200
        assert wanted["scheduling"]["automaticRestart"] is False
        assert all(wanted["shieldedInstanceConfig"].values())
        assert all(disk["autoDelete"] for disk in wanted["disks"])
        assert "serviceAccounts" not in wanted, "a machine holds no credentials"
        metadata = {item["key"]: item["value"] for item in wanted["metadata"]["items"]}
        assert metadata["block-project-ssh-keys"] == "TRUE" and metadata["serial-port-enable"] == "FALSE"
        assert "199.36.153.8 storage.googleapis.com" in metadata["user-data"]
        assert "planner-end.timer" in metadata["user-data"]
    down(directory, session())


def test_only_the_caller_gets_in_and_nothing_out(gcp: EmulatedGcp) -> None:
    _, directory = launched(order("shut", ssh_from="198.51.100.4/32"))
    rules = {rule["name"].rpartition("-")[2]: rule for rule in bodies(gcp, "POST firewalls")}
    assert set(rules) == {"in", "out", "door", "shut"}
    assert rules["door"]["sourceRanges"] == ["198.51.100.4/32"]
    assert rules["door"]["allowed"] == [{"IPProtocol": "tcp", "ports": ["22"]}]
    (run,) = gcp.runs()
    assert rules["door"]["targetTags"] == [f"planner-{run}-head"]
    assert rules["in"]["sourceTags"] == [f"planner-{run}"] and rules["out"]["destinationRanges"] == ["10.77.0.0/16"]
    assert all(rules[name]["targetTags"] == [f"planner-{run}"] for name in ("in", "out", "shut"))
    assert rules["shut"]["denied"] == [{"IPProtocol": "all"}] and rules["shut"]["destinationRanges"] == ["0.0.0.0/0"]
    assert rules["shut"]["priority"] > rules["out"]["priority"]
    assert bodies(gcp, "POST networks")[0]["autoCreateSubnetworks"] is False
    down(directory, session())


def test_every_create_call_is_labelled_and_announced(gcp: EmulatedGcp) -> None:
    """The journal on disk announces every create call before it arrives, so a repetition could be recognised."""
    asked = order("told", staging=True)
    announced: list[str] = []

    def judge(seen: ProxiedRequest) -> None:
        if seen.method == "POST" and "wait" not in seen.action:
            last = [event for event in RunDirectory.open("told").events() if event.what in ("intent", "made")][-1]
            announced.append(last.what if last.what == "intent" else f"{seen.action} not announced")
            assert seen.params["requestId"].startswith(client.run_mark("told"))
            for key, value in asked.tags.items():
                text = seen.body.decode()
                assert f'"{key}": "{value}"' in text or f"{key}={value}" in text, f"{seen.action} without {key}"

    gcp.proxy.judge = judge
    _, directory = launched(asked)
    assert announced == ["intent"] * 10
    down(directory, session())


def test_no_secret_in_state_requests_or_process_list(gcp: EmulatedGcp) -> None:
    seen_processes: list[str] = []

    def judge(seen: ProxiedRequest) -> None:
        if seen.action == gcp.launching:
            listing = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True)
            seen_processes.append(listing.stdout)

    gcp.proxy.judge = judge
    _, directory = launched(order("hush"))
    account = json.loads(gcp.account_file.read_text("utf-8"))["private_key"]
    private = directory.key.read_text("utf-8")
    secrets = [account.splitlines()[1], private.splitlines()[1], "PRIVATE KEY", "the-token-of-the-account"]
    elsewhere = [path for path in directory.path.rglob("*") if path.is_file() and path != directory.key]
    texts = [path.read_text("utf-8") for path in elsewhere] + seen_processes
    texts += [seen.body.decode("latin-1") + seen.path for seen in gcp.proxy.seen]
    assert len(seen_processes) == 2 and len(elsewhere) >= 2
    assert not [secret for secret in secrets for text in texts if secret in text]
    down(directory, session())


def test_the_dry_run_is_what_is_done(gcp: EmulatedGcp) -> None:
    """The rehearsal without credentials and the real run make the same writes in the same order."""
    asked = order("same", staging=True)
    with pytest.MonkeyPatch.context() as without:
        without.setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
        without.setenv("CLOUDSDK_CONFIG", str(gcp.home))
        without.delenv("GOOGLE_CLOUD_PROJECT")
        rehearsed = rehearse(asked, GcpProvider(policy=QUICK)).requests
    assert gcp.proxy.seen == [], "a dry run asks nothing"
    assert rehearsed[0].parameters["project"] == "<project>"
    _, directory = launched(asked)
    down(directory, session())
    done = [seen.action for seen in gcp.proxy.seen if seen.method != "GET" and "wait" not in seen.action]
    verbs = {"insert": "POST", "delete": "DELETE", "bulkInsert": "POST"}
    names = [request.operation.partition(".") for request in rehearsed]
    planned = [f"{verbs[v]} {c}{'/bulkInsert' if v == 'bulkInsert' else ''}" for c, _, v in names if v in verbs]
    assert planned == done


def test_what_was_accepted_before_a_crash_is_waited_for(gcp: EmulatedGcp) -> None:
    """Killed after a launch is accepted: its machines do not exist yet, and `down` must still leave none."""
    gcp.world(operation_polls=3)
    started = [f"POST {name}" for name in ("networks", "subnetworks", "resourcePolicies")]
    count = Counter[str]()
    number = {"kill": 0}

    def find_launch(seen: ProxiedRequest) -> None:
        count[seen.action] += 1
        if seen.action == gcp.launching and not number["kill"]:
            number["kill"] = seen.number

    gcp.proxy.judge = find_launch
    assert gcp.planner(*gcp.up).code == 0
    assert all(count[name] == 1 for name in started)
    before = gcp.runs()[0]
    assert gcp.planner("cluster", "down", before).code == 0
    gcp.world(operation_polls=3)
    assert gcp.planner(*gcp.up, kill_at=number["kill"]).code == -9
    assert "instances" not in gcp.left() and gcp.left()["operations"] == 1
    killed = next(run for run in gcp.runs() if run != before)
    assert gcp.planner("cluster", "down", killed).code == 0
    assert gcp.left() == {}


def test_the_role_is_what_is_asked_for() -> None:
    assert json.loads(ROLE.read_text("utf-8"))["includedPermissions"] == sorted(permissions())


def test_the_root_of_an_image_of_ones_own_has_its_size() -> None:
    requests = rehearse(order("own", image="projects/some/global/images/own"), GcpProvider(policy=QUICK)).requests
    launches = [request.parameters["body"] for request in requests if request.operation == "instances.bulkInsert"]
    roots = [body["instanceProperties"]["disks"][0]["initializeParams"] for body in launches]
    assert len(roots) == 2 and not any("diskSizeGb" in root for root in roots)


def whole_life(gcp: EmulatedGcp) -> list[int]:
    """Go up and down, then up again and be swept from all regions; return the exit codes."""
    codes = [gcp.planner(*gcp.up).code]
    codes += [gcp.planner("cluster", "down", run).code for run in gcp.runs()]
    codes.append(gcp.planner(*gcp.up).code)
    return [*codes, gcp.planner("cluster", "sweep", "--cloud", "gcp", "--all", "--anyone", "--yes").code]


def test_the_role_is_enough(gcp: EmulatedGcp) -> None:
    gcp.world(permissions=json.loads(ROLE.read_text("utf-8"))["includedPermissions"])
    assert whole_life(gcp) == [0, 0, 0, 0]
    assert gcp.left() == {}


def without_a_permission(gcp: EmulatedGcp, permission: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether something fails. Preflight, which would notice first, cannot ask, and operations take long enough
    to be polled.
    """
    usual = gcp.environment()
    blind = usual | {"CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER": f"{gcp.proxy.url}/nowhere"}
    monkeypatch.setattr(gcp, "environment", lambda: blind)
    gcp.world(permissions=[granted for granted in permissions() if granted != permission], operation_polls=1)
    return any(whole_life(gcp))


@pytest.mark.parametrize("permission", ["compute.resourcePolicies.use"])
def test_of_the_role_nothing_can_go(gcp: EmulatedGcp, permission: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert without_a_permission(gcp, permission, monkeypatch)
    gcp.world(permissions=[granted for granted in permissions() if granted != permission])


@pytest.mark.soak
@pytest.mark.parametrize("permission", permissions())
def test_of_the_role_nothing_at_all_can_go(gcp: EmulatedGcp, permission: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert without_a_permission(gcp, permission, monkeypatch) or permission in NOT_IN_A_LIFE


def test_a_permission_that_lacks_is_seen_beforehand(gcp: EmulatedGcp) -> None:
    gcp.world(permissions=[granted for granted in permissions() if granted != "compute.firewalls.create"])
    ended = gcp.planner(*gcp.up)
    assert ended.code == 4
    assert "lacks compute.firewalls.create" in ended.text
    assert gcp.left() == {} and gcp.runs() == []


def test_status_tells_cost_and_what_is_there(gcp: EmulatedGcp) -> None:
    assert gcp.planner(*gcp.up).code == 0
    run = gcp.runs()[0]
    seen = json.loads(gcp.planner("cluster", "status", run, "--json").text)["runs"][0]
    assert seen["state"] == "up" and seen["machines"] == 4
    assert 0 < seen["cost_usd"] < 1
    assert len(seen["resources"]) == 8 + 4 + 4, "with the machines' disks"
    assert gcp.planner("cluster", "down", run).code == 0
    after = json.loads(gcp.planner("cluster", "status", run, "--json").text)["runs"][0]
    assert (after["state"], after["machines"], after["resources"]) == ("down", 0, [])


def test_too_dear_is_refused(gcp: EmulatedGcp) -> None:
    gcp.world(price_factor=5000.0)
    ended = gcp.planner(*gcp.up, "--max-cost", "50")
    assert ended.code == 4
    assert "over --max-cost" in ended.text
    assert gcp.left() == {} and gcp.runs() == []


def test_no_credentials(gcp: EmulatedGcp, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = gcp.environment()
    nothing = {"GOOGLE_APPLICATION_CREDENTIALS": "", "CLOUDSDK_CONFIG": str(gcp.home)}
    monkeypatch.setattr(gcp, "environment", lambda: usual | nothing)
    ended = gcp.planner(*gcp.up)
    assert ended.code == 4
    assert "gcloud auth application-default login" in ended.text
    assert gcp.left() == {}


def test_a_policy_holds_so_many_machines(gcp: EmulatedGcp) -> None:
    seen = GcpProvider(policy=QUICK).preflight(order("wide", choice(nodes=MOST_PLACED, spares=1)))
    assert [f.text for f in seen.findings if f.ok is False] == ["1501 machines; a compact placement policy takes 1500"]
    assert seen.places == ()


def test_whose_machines_may_be_whose(gcp: EmulatedGcp) -> None:
    """The right is granted on the project, on the account itself, or not at all."""
    asked = order("whose", node_identity="sorter@some-project.iam.gserviceaccount.com")
    worlds: list[dict[str, object]] = [
        {"permissions": None},
        {"permissions": permissions(), "account_permissions": ["iam.serviceAccounts.actAs"]},
        {"permissions": permissions()},
    ]
    found = []
    for world in worlds:
        gcp.world(**world)
        seen = GcpProvider(policy=QUICK).preflight(asked)
        [finding] = [finding for finding in seen.findings if finding.subject.startswith("service account")]
        found.append((finding.ok, bool(seen.places)))
    assert found == [(True, True), (True, True), (False, False)]


def test_a_role_may_be_granted_for_what_has_a_runs_name(gcp: EmulatedGcp) -> None:
    """The project as a whole lacks the right; the troubleshooter is asked about the names that a run uses."""
    creating = "compute.instances.create"
    usual = [name for name in permissions() if name != creating]
    gcp.world(permissions=usual, conditional={creating: "planner-"})
    ended = gcp.planner(*gcp.up)
    assert ended.code == 0, ended.text
    assert f"all granted, under conditions: {creating}" in ended.text
    gcp.world(permissions=usual, conditional={creating: "/instances/web-"})
    assert f"lacks {creating}" in gcp.planner(*gcp.up).text
    gcp.world(permissions=usual, troubleshoots=False)
    ended = gcp.planner(*gcp.up)
    assert ended.code == 4
    assert f"lacks {creating}; whether a conditional role grants them is not known" in ended.text
    assert gcp.left() == {}


def test_a_body_that_google_would_not_know_is_not_sent(gcp: EmulatedGcp) -> None:
    compute = client.LiveCompute(policy=replace(QUICK, give_up_s=0.05))
    with pytest.raises(BadInputError, match="nonsense"):
        compute.create("networks.insert", body={"name": "x", "nonsense": 1}, run="x")
    assert gcp.proxy.seen == []

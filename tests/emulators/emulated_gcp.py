"""The test cloud of Compute Engine: its emulator, a fault proxy before it, and `planner` run on both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import emulated_cloud
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from emulated_cloud import EmulatedCloud, served, write_plan
from fault_proxy import Answer, ProxiedRequest

from planner.api.recommend import recommend
from planner.clouds.order import ClusterOffer, Order

PROJECT = "some-project"
KINDS = ("networks", "subnetworks", "firewalls", "resourcePolicies")


class EmulatedGcp(EmulatedCloud):
    """A Compute Engine whose state and failures a test can set."""

    cloud = "gcp"
    region, other_region = "us-central1", "us-east4"
    zones = tuple(f"us-central1-{letter}" for letter in "abc")
    launching, ending = "POST instances/bulkInsert", "DELETE instances"
    kept_when_ended = ("instances", "disks")
    calls_of_a_launch, calls_refused_at_once = 2, 1
    whole: ClassVar = {
        "networks": 1,
        "subnetworks": 1,
        "firewalls": 5,
        "resourcePolicies": 1,
        "instances": 4,
        "disks": 4,
    }
    writes = frozenset(
        [f"POST {name}" for name in (*KINDS, "instances/bulkInsert")]
        + [f"DELETE {name}" for name in (*KINDS, "instances")]
    )
    building = frozenset({"POST subnetworks", "POST firewalls", launching})
    slow: ClassVar = {**EmulatedCloud.slow, "operation_polls": 2}

    def environment(self) -> dict[str, str]:
        """Return the variables that direct the SDK to this emulator."""
        return {
            "GOOGLE_CLOUD_PROJECT": PROJECT,
            "GOOGLE_APPLICATION_CREDENTIALS": str(self.account_file),
            **{
                f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": self.proxy.url
                for name in ("COMPUTE", "CLOUDRESOURCEMANAGER", "IAM", "POLICYTROUBLESHOOTER")
            },
            "NO_GCE_CHECK": "true",
            **self.usual_environment(),
            "PLANNER_SETTINGS": str(self.settings_file),
        }

    @property
    def account_file(self) -> Path:
        return self.plan.with_name("account.json")

    @property
    def settings_file(self) -> Path:
        return self.plan.with_name("settings.toml")

    def refusal(self, code: str, *, status: int = 400) -> Answer:
        """Return a refusal by Compute Engine."""
        errors = [{"message": "so it is", "domain": "global", "reason": code}]
        body = json.dumps({"error": {"code": status, "message": "so it is", "errors": errors}})
        return Answer(status=status, body=body, headers={"Content-Type": "application/json"})

    def zone_of(self, launch: ProxiedRequest) -> str:
        return re.findall(r"/zones/([^/]+)/", launch.path)[0]

    def of_a_run(self, seen: ProxiedRequest) -> bool:
        """Return whether a request is for a run's resources."""
        return "labels.planner-run=" in seen.params.get("filter", "")


@contextmanager
def emulated_gcp(home: Path) -> Iterator[EmulatedGcp]:
    """Start the emulator and its proxy, and end both."""
    plan = home / "plan.json"
    answer = recommend(
        data="100GB",
        model="indy",
        catalogs=("gcp",),
        regions=("us-central1",),
        instances=["n2-standard-4+2x*"],
        nodes=4,
        assume={"local_read": "1GB/s", "local_write": "700MB/s"},  # nobody has measured disks of a machine this small
    )
    write_plan(plan, answer.plan)
    with served("gcp_server.py", naming=action_of) as proxy:
        made = EmulatedGcp(port=proxy.upstream, proxy=proxy, home=home, plan=plan)
        made.account_file.write_text(json.dumps(service_account(proxy.upstream)), "utf-8")
        made.settings_file.write_text(f'[gcp]\nprices_url = "{proxy.url}"\n', "utf-8")
        yield made


def service_account(port: int) -> dict[str, str]:
    """Return a service account's key file; the emulator issues its tokens."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode("ascii")
    return {
        "type": "service_account",
        "project_id": PROJECT,
        "private_key_id": "1",
        "private_key": text,
        "client_email": f"runner@{PROJECT}.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": f"http://127.0.0.1:{port}/token",
    }


def action_of(method: str, path: str) -> str:
    """Return a request's verb and collection: POST firewalls, DELETE instances, POST operations/wait."""
    match = re.fullmatch(r"/compute/v1/projects/[^/]+/(?:global/|aggregated/|(?:zones|regions)/[^/]+/)?(\w+)(.*)", path)
    if match is None:
        return f"{method} {path}"
    verb = re.search(r"/(bulkInsert|wait)$", match[2])
    return f"{method} {match[1]}{'/' + verb[1] if verb else ''}"


def choice(**changes: Any) -> ClusterOffer:
    """Return three n2-standard-4 with two local disks each, and a spare, in one placement group."""
    changes = {"bill": emulated_cloud.bill(changes.pop("total_usd", 2.0))} | changes
    usual: dict[str, Any] = {
        "instance_type": "n2-standard-4",
        "regions": ("us-central1",),
        "nodes": 3,
        "spares": 1,
        "placement_group": True,
        "price_usd_per_hour": 0.5,
        "usd_per_hour": 1.5,
        "expected_s": 3600.0,
        "volumes": None,
        "local_disks": 2,
    }
    return ClusterOffer(**(usual | changes))


def order(run: str, *choices: ClusterOffer, **changes: Any) -> Order:
    """Return an order without a key."""
    return emulated_cloud.order(run, *(choices or (choice(),)), cloud="gcp", **changes)

"""The test cloud of Azure: its emulator, a fault proxy before it, and `planner` run on both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import emulated_cloud
from emulated_cloud import EmulatedCloud, served, write_plan
from fault_proxy import Answer, ProxiedRequest

from planner.api.recommend import recommend
from planner.clouds.order import ClusterOffer, Order

IN_GROUP = (
    *("networkSecurityGroups", "virtualNetworks", "proximityPlacementGroups"),
    *("virtualMachines", "schedules"),
)


class EmulatedAzure(EmulatedCloud):
    """An Azure whose state and failures a test can set."""

    cloud = "azure"
    region, other_region = "eastus", "westus2"
    zones = tuple(f"eastus-{number}" for number in "123")
    launching, ending = "PUT virtualMachines", "DELETE virtualMachines"
    kept_when_ended = ("instances", "schedules")
    calls_of_a_launch = calls_refused_at_once = 4
    whole: ClassVar = {
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
    writes = frozenset([f"PUT {name}" for name in ("resourceGroups", *IN_GROUP)] + ["DELETE resourceGroups"])
    building = frozenset(f"PUT {name}" for name in IN_GROUP)

    def environment(self) -> dict[str, str]:
        """Return the variables that direct the SDK to this emulator."""
        return {"AZURE_SUBSCRIPTION_ID": "s", **self.usual_environment(), "PLANNER_SETTINGS": str(self.settings_file)}

    @property
    def settings_file(self) -> Path:
        return self.plan.with_name("settings.toml")

    def refusal(self, code: str, *, status: int = 400) -> Answer:
        """Return a refusal by Azure."""
        body = json.dumps({"error": {"code": code, "message": "so it is"}})
        return Answer(status=status, body=body, headers={"Content-Type": "application/json"})

    def zone_of(self, launch: ProxiedRequest) -> str:
        return re.findall(r"/planner-r\d+-\d+-\w+?-([^/]+)/", launch.path)[0]

    def of_a_run(self, seen: ProxiedRequest) -> bool:
        """Return whether a request is for a run's resources."""
        return "planner-r" in seen.path


@contextmanager
def emulated_azure(home: Path) -> Iterator[EmulatedAzure]:
    """Start the emulator and its proxy, and end both."""
    plan = home / "plan.json"
    size = ["Standard_L8s_v3"]
    answer = recommend(data="100GB", model="indy", catalogs=("azure",), regions=("eastus",), instances=size, nodes=4)
    write_plan(plan, answer.plan)
    with served("azure_server.py", naming=action_of) as proxy:
        made = EmulatedAzure(port=proxy.upstream, proxy=proxy, home=home, plan=plan)
        settings = f'[azure]\nspecs_url = "{proxy.url}"\nprices_url = "{proxy.url}/prices"\n'
        made.settings_file.write_text(settings, "utf-8")
        yield made


def action_of(method: str, path: str) -> str:
    """Return a request's verb and kind: PUT virtualMachines, DELETE resourceGroups, GET usages."""
    match = re.fullmatch(
        r"/subscriptions/[^/]+(?:/resourcegroups(?:/[^/]+)?)?(?:/providers/[^/]+/(\w+).*)?", path, re.I
    )
    if match is None:
        return f"{method} {path}"
    return f"{method} {match[1] or 'resourceGroups'}"


def choice(**changes: Any) -> ClusterOffer:
    """Return three Standard_L8s_v3 and a spare, near each other."""
    changes = {"bill": emulated_cloud.bill(changes.pop("total_usd", 2.0))} | changes
    usual: dict[str, Any] = {
        "instance_type": "Standard_L8s_v3",
        "regions": ("eastus",),
        "nodes": 3,
        "spares": 1,
        "placement_group": True,
        "price_usd_per_hour": 0.696,
        "usd_per_hour": 2.088,
        "expected_s": 3600.0,
        "volumes": None,
    }
    return ClusterOffer(**(usual | changes))


def order(run: str, *choices: ClusterOffer, **changes: Any) -> Order:
    """Return an order without a key."""
    return emulated_cloud.order(run, *(choices or (choice(),)), cloud="azure", **changes)

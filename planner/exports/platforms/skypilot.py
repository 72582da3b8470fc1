"""SkyPilot: a task whose `ordered` resources are the plan's ranked choices, and which starts Ray and sorts."""

from __future__ import annotations

from typing import Any, Final

from planner.exports.order import Choice, Order
from planner.exports.platform import Feature, Platform
from planner.exports.ray_sort import INSTALL, PORT, sort_command, start_ray, wait_for_nodes

_DIRECTORY: Final = "~/sort"
_IDLE_MINUTES: Final = 15
_LAUNCH: Final = "RAY_AUTH_TOKEN=$(openssl rand -hex 32) sky launch --secret RAY_AUTH_TOKEN"
"""A secret without a value must be given at launch, so that only this launch's nodes may use their Ray cluster."""


def _write(order: Order) -> dict[str, Any]:
    start = start_ray(
        directory=_DIRECTORY, head='$(echo "$SKYPILOT_NODE_IPS" | head -n 1)', is_head='[ "$SKYPILOT_NODE_RANK" = 0 ]'
    )
    sort = [
        'if [ "$SKYPILOT_NODE_RANK" = 0 ]; then',
        f"  {wait_for_nodes(order)}",
        f"  {sort_command(order, address=f'127.0.0.1:{PORT}')}",
        "  ~/sortplanner/bin/ray stop --force",
        "else",
        "  while ~/sortplanner/bin/ray status >/dev/null 2>&1; do sleep 10; done",
        "fi",
    ]
    return {
        "name": order.name,
        "num_nodes": order.best.nodes,
        "resources": {
            "ordered": [_resources(order, choice) for choice in order.alike],
            "network_tier": "best",
            "autostop": {"idle_minutes": _IDLE_MINUTES, "down": True},
        },
        "secrets": {"RAY_AUTH_TOKEN": None},
        "setup": f"{INSTALL}\nmkdir -p {_DIRECTORY}\n",
        "run": "\n".join(["export RAY_AUTH_MODE=token", *start, *sort]) + "\n",
    }


def _resources(order: Order, choice: Choice) -> dict[str, Any]:
    resources: dict[str, Any] = {
        "infra": f"{order.cloud}/{order.region}",
        "instance_type": choice.machine_type,
        "use_spot": order.spot,
    }
    if choice.volumes is not None:
        resources["disk_size"] = max(50, round(choice.volumes.count * choice.volumes.bytes_each / 2**30))
        resources["disk_tier"] = "best"
    return resources


PLATFORM: Final = Platform(
    name="skypilot",
    clouds=frozenset({"aws", "gcp", "azure", "oci"}),
    file_name="sky.yaml",
    apply=f"{_LAUNCH} {{file}}",
    runs="ray",
    features=frozenset({Feature.MACHINE_TYPE, Feature.COUNT, Feature.NEXT_CHOICES, Feature.END}),
    write=_write,
    list_types_command="sky launch --dryrun --secret RAY_AUTH_TOKEN=none sky.yaml",
)

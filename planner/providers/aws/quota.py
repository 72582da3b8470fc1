"""Quotas of EC2 on-demand instances, counted in vCPUs for groups of instance families."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from planner.errors import PlannerError
from planner.providers.aws.client import Service

_STANDARD: Final = "L-1216C47A"
_BY_FAMILY: Final = {
    "dl": "L-6E869C2A",
    "f": "L-74FC7D96",
    "g": "L-DB2E81BA",
    "hpc": "L-F7808C92",
    "inf": "L-1945791B",
    "p": "L-417A185B",
    "trn": "L-2C3B7624",
    "u": "L-43DA4232",
    "vt": "L-DB2E81BA",
    "x": "L-7295265B",
}


def quota_code(instance_type: str) -> str:
    """Return the code under which Service Quotas keeps the limit of a type's family."""
    family = re.match(r"[a-z]+", instance_type)
    return _BY_FAMILY.get(family.group() if family else "", _STANDARD)


def quota_vcpus(quotas: Service, instance_type: str) -> float | None:
    """Return how many vCPUs of a type's family may run in a region; None when it cannot be found out."""
    try:
        answer = quotas.call("get_service_quota", ServiceCode="ec2", QuotaCode=quota_code(instance_type))
    except PlannerError:
        return None
    return float(answer["Quota"]["Value"])


def used_vcpus(ec2: Service, instance_type: str) -> int:
    """Return how many vCPUs of on-demand instances that count towards the same quota run now in a region."""
    live = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    total = 0
    for reservation in ec2.items("describe_instances", "Reservations", Filters=live):
        for instance in reservation["Instances"]:
            is_spot = instance.get("InstanceLifecycle") == "spot"  # which have quotas of their own
            if not is_spot and quota_code(instance["InstanceType"]) == quota_code(instance_type):
                total += _vcpus(instance.get("CpuOptions", {}))
    return total


def _vcpus(options: Mapping[str, int]) -> int:
    return options.get("CoreCount", 0) * options.get("ThreadsPerCore", 1)

"""Quotas of EC2 instances, on demand and spot, counted in vCPUs for groups of instance families."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from planner.clouds.aws.client import Service
from planner.clouds.aws.instances import shape_of
from planner.errors import PlannerError

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
_STANDARD_SPOT: Final = "L-34B43A08"
_SPOT_BY_FAMILY: Final = {"g": "L-3819A6DF", "p": "L-7212CCBC", "vt": "L-3819A6DF"}
_OWN_SPOT_QUOTA: Final = frozenset({"dl", "f", "hpc", "inf", "trn", "u", "x"})
"""Families whose spot instances do not count as standard ones, and whose quota's code is not at hand."""


def quota_code(instance_type: str, *, spot: bool = False) -> str | None:
    """Return the code under which Service Quotas keeps the limit of a type's family; None where it is not known."""
    match = re.match(r"[a-z]+", instance_type)
    family = match.group() if match else ""
    if spot:
        return None if family in _OWN_SPOT_QUOTA else _SPOT_BY_FAMILY.get(family, _STANDARD_SPOT)
    return _BY_FAMILY.get(family, _STANDARD)


def quota_vcpus(quotas: Service, instance_type: str, *, spot: bool = False) -> float | None:
    """Return how many vCPUs of a type's family may run in a region; None when it cannot be found out."""
    code = quota_code(instance_type, spot=spot)
    if code is None:
        return None
    try:
        answer = quotas.call("get_service_quota", ServiceCode="ec2", QuotaCode=code)
    except PlannerError:
        return None
    value = answer.get("Quota", {}).get("Value")
    return None if value is None else float(value)


def used_vcpus(ec2: Service, instance_type: str, *, spot: bool = False) -> int:
    """Return how many vCPUs of instances that count towards the same quota run now in a region."""
    live = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    total, default = 0, cache(lambda name: int(shape_of(ec2, name)["VCpuInfo"]["DefaultVCpus"]))
    for reservation in ec2.items("describe_instances", "Reservations", Filters=live):
        for instance in reservation["Instances"]:
            is_spot = instance.get("InstanceLifecycle") == "spot"  # which have quotas of their own
            codes = [quota_code(name, spot=spot) for name in (instance["InstanceType"], instance_type)]
            if is_spot == spot and codes[0] == codes[1]:
                options = instance.get("CpuOptions", {})  # not of every machine: bare metal has none
                cores = options.get("CoreCount")
                total += cores * options.get("ThreadsPerCore", 1) if cores else default(instance["InstanceType"])
    return total

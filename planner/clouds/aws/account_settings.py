"""Settings of an account in a region that decide what a launch gives: public addresses, and the key of volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from planner.clouds.aws.client import Service
from planner.clouds.order import Order
from planner.clouds.protocol import Finding
from planner.errors import PlannerError

_OWN_KEY: Final = "alias/aws/ebs"
"""AWS's own key of volumes, which everybody in the account may use."""
_OPEN: Final = "off"
_BLOCKING: Final = "block-"
"""Modes of VPC Block Public Access: off, block-ingress, block-bidirectional."""


def public_access_finding(ec2: Service, order: Order) -> Finding:
    """Return whether the account lets the internet reach a head with a public address (VPC Block Public Access)."""

    def look() -> tuple[bool | None, str]:
        answer = ec2.call("describe_vpc_block_public_access_options")
        mode = str(answer.get("VpcBlockPublicAccessOptions", {}).get("InternetGatewayBlockMode", "not stated"))
        if mode == _OPEN:
            return True, "not blocked"
        if order.is_private:
            return True, f"{mode}; the head has a private address alone"
        if not mode.startswith(_BLOCKING):
            return None, f"{mode}; whether the internet reaches a public address is not known"
        text = f"{mode}: no machine with a public address can be reached from outside"
        return False, f"{text}; give --no-public-address with --subnet, or another region"

    return _looked_up(f"public access in {ec2.region}", look)


def volume_key_finding(ec2: Service) -> Finding:
    """Return whether everybody may use the key with which the account encrypts volumes. A key of the account's own may
    be closed to the caller, and no call but a launch shows it.
    """

    def look() -> tuple[bool | None, str]:
        key = str(ec2.call("get_ebs_default_kms_key_id").get("KmsKeyId", "not stated"))
        if key.endswith(_OWN_KEY):
            return True, key
        return None, f"{key}; whether you may use it is not known: a machine whose volumes may not ends at boot"

    return _looked_up(f"key of volumes in {ec2.region}", look)


def _looked_up(subject: str, look: Callable[[], tuple[bool | None, str]]) -> Finding:
    try:
        ok, text = look()
    except PlannerError as error:
        ok, text = None, f"not known: {error.message}"
    return Finding(subject=subject, ok=ok, text=text)

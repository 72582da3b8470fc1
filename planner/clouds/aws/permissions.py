"""Which actions a run needs on AWS, and asking AWS, without doing anything, whether the account may.

EC2 checks the permission before it checks whether what a call names exists, and stops there when the call is a dry
run. So a made-up id serves: "unauthorized" is a no, any other answer a yes.
"""

from __future__ import annotations

from typing import Any, Final

from planner.clouds.aws.client import Service
from planner.clouds.aws.instances import identity_request, image_of
from planner.clouds.aws.resources import RESOURCE_TYPES
from planner.clouds.cloud_errors import PermissionDeniedError, RefusedCallError, StillInUseError
from planner.clouds.order import Order
from planner.clouds.protocol import ANYWHERE, NETWORK, NODES_SUBNET, Finding
from planner.errors import PlannerError, ProviderRefusedError

_VPC: Final = {"VpcId": "vpc-00000000000000000"}
_GROUP: Final = {"GroupId": "sg-00000000000000000"}
_ANY: Final = {"IpPermissions": [{"IpProtocol": "-1"}]}
_GATEWAY: Final = {"InternetGatewayId": "igw-00000000000000000"}
_TABLE: Final = {"RouteTableId": "rtb-00000000000000000"}
_SUBNET: Final = {"SubnetId": "subnet-00000000000000000"}
_DRY_RUN_PASSED: Final = "DryRunOperation"
"""What EC2 answers to a dry run of what it would have done."""

WRITES: Final[dict[str, dict[str, Any]]] = {
    "create_vpc": {"CidrBlock": NETWORK},
    "create_subnet": _VPC | {"CidrBlock": NODES_SUBNET},
    "create_internet_gateway": {},
    "attach_internet_gateway": _GATEWAY | _VPC,
    "create_route_table": _VPC,
    "create_route": _TABLE | {"DestinationCidrBlock": ANYWHERE} | {"GatewayId": _GATEWAY["InternetGatewayId"]},
    "associate_route_table": _TABLE | _SUBNET,
    "create_security_group": {"GroupName": "planner-dry-run", "Description": "never made"},
    "authorize_security_group_ingress": _GROUP | _ANY,
    "authorize_security_group_egress": _GROUP | _ANY,
    "revoke_security_group_egress": _GROUP | _ANY,
    "import_key_pair": {"KeyName": "planner-dry-run", "PublicKeyMaterial": b""},
    "create_placement_group": {"GroupName": "planner-dry-run", "Strategy": "cluster"},
    "run_instances": {"ImageId": "ami-00000000000000000", "MinCount": 1, "MaxCount": 1},
    "terminate_instances": {"InstanceIds": ["i-00000000000000000"]},
    "delete_volume": {"VolumeId": "vol-00000000000000000"},
    "delete_network_interface": {"NetworkInterfaceId": "eni-00000000000000000"},
    "delete_placement_group": {"GroupName": "planner-dry-run"},
    "delete_key_pair": {"KeyName": "planner-dry-run"},
    "delete_subnet": _SUBNET,
    "delete_route_table": _TABLE,
    "delete_security_group": _GROUP,
    "detach_internet_gateway": _GATEWAY | _VPC,
    "delete_internet_gateway": _GATEWAY,
    "delete_vpc": _VPC,
}
"""Calls that change something, each with the least request that passes the SDK's own checks."""

STAGING_WRITES: Final[dict[str, dict[str, Any]]] = {
    "create_vpc_endpoint": _VPC | {"ServiceName": "com.amazonaws.us-east-1.s3"},
    "delete_vpc_endpoints": {"VpcEndpointIds": ["vpce-00000000000000000"]},
}

_OF_A_NETWORK: Final = ("vpc", "subnet", "internet_gateway", "route", "vpc_endpoint")
"""In the names of calls that make or remove a network of the run's own."""

READS: Final[dict[str, dict[str, Any]]] = {resource_type.listing: {} for resource_type in RESOURCE_TYPES.values()} | {
    "get_console_output": {"InstanceId": "i-00000000000000000"}
}
"""What taking down needs, since whoever may not list a kind could launch and never be sure to have removed it; and the
console, which tells the head's host keys.
"""


def writes_of(order: Order) -> dict[str, dict[str, Any]]:
    """Return the calls by which an order's run changes something: fewer where its network exists."""
    calls = WRITES | (STAGING_WRITES if order.staging else {})
    own = not order.subnet
    return {name: request for name, request in calls.items() if own or not any(of in name for of in _OF_A_NETWORK)}


def denied_operations(ec2: Service, order: Order) -> list[str]:
    """Return the operations of an order's run that this account may not do in a region."""
    calls = READS | writes_of(order)
    return [operation for operation, request in calls.items() if not _is_allowed(ec2, operation, request)]


def _ending_operations(order: Order) -> set[str]:
    """Return the operations that end something. A policy may allow them for what has a run's tag alone, so a dry run on
    something made up is refused for all of them.
    """
    return {name for name in writes_of(order) if name.startswith(("delete", "detach", "terminate"))}


def permission_finding(ec2: Service, order: Order) -> Finding:
    """Say whether the account may do all that a run does."""
    missing, subject = denied_operations(ec2, order), f"permissions in {ec2.region}"
    text = f"lacks {', '.join(map(action_of, missing))}" if missing else "all actions allowed"
    if missing and set(missing) == _ending_operations(order):
        text = f"{text} where nothing has a run's tag, as docs/aws-policy.json has it; with the tag not known"
        return Finding(subject=subject, ok=None, text=text)
    return Finding(subject=subject, ok=not missing, text=text)


def identity_finding(ec2: Service, order: Order) -> Finding:
    """Say whether the account may launch machines with the order's instance profile, by a launch that is a dry run.

    Who may launch machines, but not with the profile, lacks iam:PassRole on its role. What speaks neither for nor
    against leaves it unknown.
    """
    name = order.node_identity
    subject = f"instance profile {name}"
    try:
        ec2.call("run_instances", DryRun=True, **_a_launch(ec2, order))
    except PermissionDeniedError as error:
        return Finding(subject=subject, ok=False, text=f"lacks iam:PassRole on its role: {error.message}")
    except RefusedCallError as error:
        if error.code == _DRY_RUN_PASSED:
            return Finding(subject=subject, ok=True, text="machines may be launched with it")
        no_such = error.code == "InvalidParameterValue" and "instance profile" in error.message.lower()
        return Finding(subject=subject, ok=False if no_such else None, text=error.message)
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"not known: {error.message}")
    return Finding(subject=subject, ok=None, text="not known: AWS did not answer the dry run as one")


def _a_launch(ec2: Service, order: Order) -> dict[str, Any]:
    """Return a launch in which all that it names exists, so that the profile alone can be refused."""
    instance_type = order.choices[0].instance_type
    image = image_of(ec2, order, instance_type)["ImageId"]
    launch = {"ImageId": image, "InstanceType": instance_type, "MinCount": 1, "MaxCount": 1}
    return launch | identity_request(order.node_identity)


def action_of(operation: str) -> str:
    """Return the name that policies use: ec2:RunInstances."""
    return "ec2:" + "".join(word.capitalize() for word in operation.split("_"))


def _is_allowed(ec2: Service, operation: str, request: dict[str, Any]) -> bool:
    try:
        ec2.call(operation, DryRun=True, **request)
    except PermissionDeniedError:
        return False
    except (RefusedCallError, ProviderRefusedError, StillInUseError):
        return True
    return True

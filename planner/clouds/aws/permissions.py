"""Actions that a run needs on AWS, and dry runs that check whether the account may take them.

EC2 checks the permission before it checks whether what a call names exists, and a dry run stops there. So a made-up id
serves: "unauthorized" is a no, "would have succeeded" and "not found" are a yes. Other parameters are those of a
launch, since policies may allow only some types, tags or disks. Any other refusal is one that the launch would meet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from planner.clouds.aws.client import Service, is_of_a_run
from planner.clouds.aws.dry_run import DryRun
from planner.clouds.aws.instances import described_reservation, identity_request, image_of, launch, zones_of
from planner.clouds.aws.network import RunNetwork, described_subnet, prepare
from planner.clouds.aws.resources import resource_types
from planner.clouds.calls.facts import facts_of
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_errors import (
    NoCapacityError,
    PermissionDeniedError,
    QuotaExceededError,
    RefusedCallError,
    StillInUseError,
)
from planner.clouds.order import ClusterOffer, Order
from planner.clouds.preflight import Unnoted
from planner.clouds.protocol import Finding, Place
from planner.errors import BadInputError, PlannerError, ProviderRefusedError

_DRY_RUN_PASSED: Final = "DryRunOperation"
"""EC2's error code for a dry run that would have succeeded."""

_OF_A_NETWORK: Final = ("vpc", "subnet", "internet_gateway", "route", "vpc_endpoint")
"""Words in the names of calls that make or remove a run's own network."""
_OF_STAGING: Final = ("vpc_endpoint",)


def all_writes() -> dict[str, dict[str, Any]]:
    """Return every changing call that runs make, each with a request that passes the SDK's own checks."""
    deletions = {
        resource_type.deletion: resource_type.deletion_of(
            f"{resource_type.prefix}-{_NOTHING}" if resource_type.prefix else "planner-dry-run"
        )
        for resource_type in resource_types().values()
    }
    return {**facts_of("aws")["writes"], **deletions}


def _reads() -> dict[str, dict[str, Any]]:
    """Return the reading calls that take-down needs, since an account that may not list a kind could launch and never
    confirm its removal; and the console, which shows the head's host keys.
    """
    listings: dict[str, dict[str, Any]] = {resource_type.listing: {} for resource_type in resource_types().values()}
    return listings | {"get_console_output": {"InstanceId": "i-00000000000000000"}}


def writes_of(order: Order) -> dict[str, dict[str, Any]]:
    """Return the changing calls of an order's run: fewer where its network exists."""
    left_out = (_OF_A_NETWORK if order.subnet else ()) + (() if order.staging else _OF_STAGING)
    return {name: request for name, request in all_writes().items() if not any(of in name for of in left_out)}


_NOTHING: Final = f"{0:017}"
"""Number in a made-up id."""
_OF_KEY: Final = re.compile(r"\((InvalidKey(Pair)?\.Format|MissingParameter|InvalidParameterValue)\)")
_AT_ONCE: Final = 8


def launch_requests(ec2: Service, order: Order, choice: ClusterOffer) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the requests that create a choice's cluster in a region, as a launch makes them, with made-up ids.

    A choice that cannot be launched there, which other checks report, has none. The instance profile, which has its own
    check, is left out.
    """
    pretended = DryRun(ask=ec2)
    with suppress(BadInputError):
        if ec2.region in choice.regions:
            place = Place(choice=choice, region=ec2.region, zone=_zone(ec2, order, choice.instance_type))
            service = pretended.connect("ec2", ec2.region)
            network = RunNetwork.of(replace(order, node_identity=""), service, Unnoted(), RetryPolicy())
            prepare(network, place)
            launch(network, place, machines=choice.machines, head=True, round=0)
    for request in pretended.requests:
        if request.operation in all_writes():
            asked = {key: value for key, value in request.parameters.items() if key != "ClientToken"}
            yield request.operation, _with_ids(asked)


def _zone(ec2: Service, order: Order, instance_type: str) -> str:
    if order.reservation:
        return str(described_reservation(ec2, order.reservation)["AvailabilityZone"])
    if order.subnet:
        return str(described_subnet(ec2, order.subnet)["AvailabilityZone"])
    return min(zones_of(ec2, instance_type), default=f"{ec2.region}a")


def _with_ids(value: Any) -> Any:
    """Return a request with made-up ids for resources not made yet."""
    if isinstance(value, dict):
        return {key: _with_ids(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_ids(item) for item in value]
    match = re.fullmatch(r"<(\w+) \d+>", value) if isinstance(value, str) else None
    prefixes = {resource_type.id: resource_type.prefix for resource_type in resource_types().values()}
    return f"{prefixes[match[1]]}-{_NOTHING}" if match else value


@dataclass(frozen=True, kw_only=True)
class _Refusals:
    """AWS's refusals of a run's operations: `denied` ones lack a permission, the launch meets `met`, and `unclear` ones
    leave unknown whether it does.
    """

    denied: dict[str, str] = field(default_factory=dict)
    met: dict[str, str] = field(default_factory=dict)
    unclear: dict[str, str] = field(default_factory=dict)


def _refusals(ec2: Service, order: Order) -> _Refusals:
    """Return the operations of an order's run that AWS refuses in a region, each with AWS's message.

    If a quota or a lack of capacity stops one choice, and not another, the launch tries the other.
    """
    launch = [
        (number, *asked) for number, choice in enumerate(order.choices) for asked in launch_requests(ec2, order, choice)
    ]
    asked = {operation for _, operation, _ in launch}
    calls = [(-1, name, least) for name, least in (_reads() | writes_of(order)).items() if name not in asked] + launch
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(lambda call: _refusal(ec2, *call[1:]), calls))
    refused = [(*call[:2], refusal) for call, refusal in zip(calls, answers, strict=True) if refusal is not None]
    has_another = {number for number, *_ in launch} > {number for number, *_ in refused if number >= 0}
    lesser = (NoCapacityError, QuotaExceededError) if has_another else ()
    found = _Refusals()
    for number, operation, refusal in refused:
        if isinstance(refusal, PermissionDeniedError):
            found.denied[operation] = refusal.reason
        elif (
            number < 0
            or isinstance(refusal, lesser)
            or (operation == "create_subnet" and isinstance(refusal, NoCapacityError))
        ):
            found.unclear[operation] = refusal.message
        else:
            found.met[operation] = refusal.message
    return found


def _ending_operations(order: Order) -> set[str]:
    """Return the operations that end something. A policy may allow them only for resources with a run's tag, so dry
    runs with made-up ids are refused for all of them.
    """
    return {name for name in writes_of(order) if name.startswith(("delete", "detach", "terminate"))}


def permission_finding(ec2: Service, order: Order, *, decode: Callable[[str], str] = lambda _: "") -> Finding:
    """Return a finding on whether the account may do all that a run does, and why not, and whether AWS refuses it for
    another reason; `decode` reads AWS's encoded messages.
    """
    subject = f"permissions in {ec2.region}"
    try:
        refusals = _refusals(ec2, order)
    except PermissionDeniedError as error:
        return Finding(subject=subject, ok=False, text=error.message)
    lacking = [
        action_of(operation) + (f" ({why})" if (why := _readable(reason, decode)) else "")
        for operation, reason in refusals.denied.items()
    ]
    parts = [f"lacks {', '.join(lacking)}"] * bool(lacking)
    is_of_tag = set(refusals.denied) == _ending_operations(order)
    if is_of_tag:
        parts = [f"{parts[0]} where nothing has a run's tag, as docs/aws-policy.json has it; with the tag not known"]
    parts += [f"refused: {text}" for text in refusals.met.values()]
    parts += [f"not known: {text}" for text in refusals.unclear.values()]
    is_refused = bool(refusals.met or (lacking and not is_of_tag))
    text = "; ".join(parts) or "all actions allowed, asked as a launch asks"
    return Finding(subject=subject, ok=False if is_refused else None if parts else True, text=text)


_ENCODED: Final = "Encoded authorization failure message:"


def _readable(reason: str, decode: Callable[[str], str]) -> str:
    """Return AWS's reasons against a call beyond the denial: the policy and its conditions."""
    said, _, encoded = reason.partition(_ENCODED)
    said = said.removeprefix("You are not authorized to perform this operation").strip(" .:")
    return "; ".join(text for text in (said, decode(encoded.strip()) if encoded else "") if text)


def denied_conditions(sts: Service, encoded: str) -> str:
    """Return the statements that deny a call with their conditions, '' where AWS will not decode its message."""
    try:
        answer = sts.call("decode_authorization_message", EncodedMessage=encoded)
    except PlannerError:
        return ""
    statements = json.loads(answer["DecodedMessage"]).get("matchedStatements", {}).get("items") or ()
    texts = [
        f"{item.get('statementId') or 'a statement'} on "
        + ", ".join(condition["key"] for condition in item.get("conditions", {}).get("items") or ())
        for item in statements
    ]
    return ", ".join(text.removesuffix(" on ") for text in texts)


def identity_finding(ec2: Service, order: Order) -> Finding:
    """Return a finding on whether the account may launch machines with the order's instance profile, by a dry-run
    launch.

    An account that may launch machines, but not with the profile, lacks iam:PassRole on its role. Any other answer
    leaves it unknown.
    """
    name = order.node_identity
    subject = f"instance profile {name}"
    try:
        ec2.call("run_instances", DryRun=True, **_a_launch(ec2, order))
    except PermissionDeniedError as error:
        return Finding(subject=subject, ok=False, text=f"lacks iam:PassRole on its role: {error.message}")
    except RefusedCallError as error:
        if error.cloud_code == _DRY_RUN_PASSED:
            return Finding(subject=subject, ok=True, text="machines may be launched with it")
        no_such = error.cloud_code == "InvalidParameterValue" and "instance profile" in error.message.lower()
        return Finding(subject=subject, ok=False if no_such else None, text=error.message)
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"not known: {error.message}")
    return Finding(subject=subject, ok=None, text="not known: AWS did not answer the dry run as one")


def _a_launch(ec2: Service, order: Order) -> dict[str, Any]:
    """Return a launch that names only existing resources, so that only the profile can be refused."""
    instance_type = order.choices[0].instance_type
    image = image_of(ec2, order, instance_type)["ImageId"]
    launch = {"ImageId": image, "InstanceType": instance_type, "MinCount": 1, "MaxCount": 1}
    return launch | identity_request(order.node_identity)


def action_of(operation: str) -> str:
    """Return the action's name in policies: ec2:RunInstances."""
    return "ec2:" + "".join(word.capitalize() for word in operation.split("_"))


def _refusal(ec2: Service, operation: str, request: dict[str, Any]) -> PlannerError | None:
    """Return AWS's refusal of a call; None for an allowed one. A zone's refusal counts if all zones refuse."""
    refusal = _answer(ec2, operation, request)
    if isinstance(refusal, NoCapacityError) and "Placement" in request:
        for zone in zones_of(ec2, request["InstanceType"]):
            placement = {**request["Placement"], "AvailabilityZone": zone}
            other = _answer(ec2, operation, {**request, "Placement": placement})
            if not isinstance(other, NoCapacityError):
                return other
    return refusal


def _answer(ec2: Service, operation: str, request: dict[str, Any]) -> PlannerError | None:
    try:
        ec2.call(operation, DryRun=True, **request)
    except (RefusedCallError, ProviderRefusedError, StillInUseError) as error:
        has_passed = getattr(error, "cloud_code", "") == _DRY_RUN_PASSED or is_of_a_run(error)
        return None if has_passed or _is_of_stand_in(error, operation) else error
    return None


def _is_of_stand_in(error: PlannerError, operation: str) -> bool:
    """Return whether a refusal that is no denial is due to a made-up id, or to the key, which is not made yet."""
    is_of_key = operation == "import_key_pair" and _OF_KEY.search(error.message) is not None
    return not isinstance(error, PermissionDeniedError) and (_NOTHING in error.message or is_of_key)

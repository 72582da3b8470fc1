"""Terraform (and OpenTofu): the machines, their placement group, network access and end, in its JSON syntax."""

from __future__ import annotations

from typing import Any, Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform
from planner.exports.platforms.terraform_google import google

_IMAGES: Final = "/aws/service/canonical/ubuntu/server/24.04/stable/current/{arch}/hvm/ebs-gp3/ami-id"
_AWS_PROVIDER: Final = ">= 6.29"
"""First version whose launch templates have a bandwidth weighting; its instances have none."""
_SSH: Final = 22
_VARIABLES: Final = {
    "vpc_id": "The VPC of the subnet.",
    "subnet_id": "A subnet of the region, in one zone.",
    "key_name": "The name of an EC2 key pair.",
    "ssh_from": "From where SSH is let in, such as 203.0.113.7/32.",
}


def _write(order: Order) -> dict[str, Any]:
    return _aws(order) if order.cloud == "aws" else google(order)


def _aws(order: Order) -> dict[str, Any]:
    best, name = order.best, order.name
    arch = "arm64" if order.architecture == "arm64" else "amd64"
    machine: dict[str, Any] = {
        "count": best.nodes,
        "ami": "${data.aws_ssm_parameter.image.value}",
        "instance_type": best.machine_type,
        "subnet_id": "${var.subnet_id}",
        "key_name": "${var.key_name}",
        "vpc_security_group_ids": ["${aws_security_group.nodes.id}"],
        "instance_initiated_shutdown_behavior": "terminate",
        "user_data": f"#!/bin/sh\nshutdown -P +{round(2 * order.ends_within_s / 60)}\n",
        "metadata_options": {"http_tokens": "required"},
        "root_block_device": {"volume_type": "gp3", "encrypted": True},
        "tags": {"Name": name, "sortplanner": name},
    }
    resources: dict[str, Any] = {"aws_instance": {"nodes": machine}, "aws_security_group": {"nodes": _group(name)}}
    if best.placement_group:
        machine["placement_group"] = "${aws_placement_group.nodes.name}"
        resources["aws_placement_group"] = {"nodes": {"name": name, "strategy": "cluster"}}
    if order.spot:
        machine["instance_market_options"] = {"market_type": "spot"}
    if order.bandwidth_weighting:
        options = {"bandwidth_weighting": order.bandwidth_weighting}
        resources["aws_launch_template"] = {"nodes": {"name_prefix": name, "network_performance_options": options}}
        machine["launch_template"] = {"id": "${aws_launch_template.nodes.id}", "version": "$Latest"}
    return {
        "terraform": {"required_providers": {"aws": {"source": "hashicorp/aws", "version": _AWS_PROVIDER}}},
        "provider": {"aws": {"region": order.region}},
        "variable": {name: {"type": "string", "description": text} for name, text in _VARIABLES.items()},
        "data": {"aws_ssm_parameter": {"image": {"name": _IMAGES.format(arch=arch)}}},
        "resource": resources,
        "output": {"addresses": {"value": "${aws_instance.nodes[*].private_ip}"}},
    }


def _group(name: str) -> dict[str, Any]:
    """Return a security group: SSH from one network, everything among its members, everything out."""
    rule = {"description": "", "ipv6_cidr_blocks": [], "prefix_list_ids": [], "security_groups": []}
    all_ports = {"from_port": 0, "to_port": 0, "protocol": "-1"}
    ssh = {"from_port": _SSH, "to_port": _SSH, "protocol": "tcp"}
    return {
        "name": name,
        "vpc_id": "${var.vpc_id}",
        "ingress": [
            {**rule, **ssh, "self": False, "cidr_blocks": ["${var.ssh_from}"]},
            {**rule, **all_ports, "self": True, "cidr_blocks": []},
        ],
        "egress": [{**rule, **all_ports, "self": False, "cidr_blocks": ["0.0.0.0/0"]}],
    }


PLATFORM: Final = Platform(
    name="terraform",
    clouds=frozenset({"aws", "gcp"}),
    file_name="cluster.tf.json",
    apply="terraform init && terraform apply",
    runs="",
    features=frozenset({Feature.MACHINE_TYPE, Feature.COUNT, Feature.PLACEMENT_GROUP, Feature.BANDWIDTH, Feature.END}),
    write=_write,
)

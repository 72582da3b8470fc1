"""Loaded once by the process from which the tests' commands are forked: what each would spend its first second on."""

import azure.identity
import azure.mgmt.compute
import azure.mgmt.network
import azure.mgmt.resource.resources  # noqa: F401
import boto3
import google.auth.transport.requests
import google.cloud.billing_v1
import google.cloud.compute_v1  # noqa: F401

import planner.cli.cluster
import planner.providers.aws.provider
import planner.providers.azure.provider
import planner.providers.gcp.provider
import planner.provisioning.cluster_lifecycle
import planner.provisioning.dry_run
import planner.report.cluster_table  # noqa: F401

for service in ("ec2", "sts", "service-quotas", "pricing"):
    boto3.client(service, region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-")

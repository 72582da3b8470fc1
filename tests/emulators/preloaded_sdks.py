"""Loaded once by the process from which the tests' commands are forked: what each would spend its first second on."""

import azure.identity
import azure.mgmt.compute
import azure.mgmt.network
import azure.mgmt.resource.resources
import boto3
import botocore.session
import emulated_cloud
import google.auth.transport.requests
import google.cloud.billing_v1
import google.cloud.compute_v1
import strict_answers
import tenacity  # noqa: F401
from botocore.loaders import create_loader
from typer.testing import CliRunner

import planner.cli.app
import planner.providers.aws.provider
import planner.providers.azure.provider
import planner.providers.gcp.provider
import planner.provisioning.cluster_lifecycle
import planner.provisioning.dry_run
import planner.report.cluster_table  # noqa: F401

CliRunner().invoke(planner.cli.app.build(), ["cluster", "up", "--help"])
strict_answers.compute()
LOADER = create_loader()
botocore.session.create_loader = lambda *_: LOADER  # each session would read AWS's models anew
for service in ("ec2", "sts", "service-quotas", "pricing"):
    boto3.client(service, region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-")

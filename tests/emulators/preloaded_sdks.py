"""Modules loaded once by the process that forks the tests' commands; each would spend its first second on them."""

# ruff: noqa: F401

from functools import cache

import azure.identity
import azure.mgmt.compute
import azure.mgmt.network
import azure.mgmt.resource.resources
import emulated_cloud
import google.auth.transport.requests
import google.cloud.billing_v1
import google.cloud.compute_v1
import strict_answers
import tenacity
import typer.main
from typer.testing import CliRunner

import planner.cli.app
import planner.cli.rent.cluster
import planner.cli.rent.run
import planner.clouds.aws.provider
import planner.clouds.azure.provider
import planner.clouds.gcp.provider
import planner.clusters.provisioning.cluster_lifecycle
import planner.clusters.provisioning.dry_run
import planner.report.terminal.cluster_table
from planner.clouds.calls.aws import client

# Building the command line takes a fifth of a command's time; each fork has it built, as in tests/conftest.py.
planner.cli.app.build = cache(planner.cli.app.build)  # type: ignore[assignment]
typer.main.get_command = cache(typer.main.get_command)
typer.main.get_command(planner.cli.app.build())
CliRunner().invoke(planner.cli.app.build(), ["cluster", "up", "--help"])
strict_answers.compute()
for service in ("ec2", "sts", "service-quotas", "pricing"):
    client(service, "us-east-1", credentials={"aws_access_key_id": "-", "aws_secret_access_key": "-"})

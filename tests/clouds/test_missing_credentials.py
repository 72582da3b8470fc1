"""Every command that needs an account reports in one line that there is none, and in the next how to get one."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from typer.testing import CliRunner, Result

from planner.cli.app import build
from planner.clouds.calls import aws, azure, gcp
from planner.clouds.calls.reading import CallFailure
from planner.clouds.order import ClusterOffer
from planner.distributed_sort.dataset import object_store
from planner.errors import PlannerError, ProviderRefusedError

RENT = ("--data", "1GB", "--model", "indy", "--ssh-from", "203.0.113.7/32", "--yes")
EXPECTED = {
    "aws": ("AWS: no credentials found", "aws configure"),
    "gcp": ("Google Cloud: no credentials found", "gcloud auth application-default login"),
    "azure": ("Azure: no credentials found", "az login"),
}


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A metadata server that accepts connections and never answers, as behind some firewalls."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, silent_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all credentials, as on a machine outside all clouds; Azure keeps a subscription, which is not secret."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "GCE_", "CLOUDSDK_", "AZURE_", "MSI_", "IDENTITY_")):
            monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://{silent_server}")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("AZURE_SUBSCRIPTION_ID", "00000000-0000-0000-0000-000000000000")


def ended(*words: str) -> tuple[str, str]:
    """Return the first line of a command's refusal, and all of it."""
    done: Result = CliRunner().invoke(build(), list(words))
    error = done.exception
    assert isinstance(error, PlannerError), (words, done.output, error)
    return error.message, str(error)


@pytest.mark.parametrize("cloud", EXPECTED)
@pytest.mark.parametrize(
    "words",
    [("run", *RENT), ("cluster", "up", *RENT), ("cluster", "sweep"), ("catalog", "refresh")],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_command_says_what_is_missing_and_how_to_get_it(cloud: str, words: tuple[str, ...]) -> None:
    first, whole = ended(*words, "--cloud", cloud)
    assert first == EXPECTED[cloud][0]
    assert EXPECTED[cloud][1] in whole.splitlines()[1]
    assert "169.254" not in first and "http" not in first


def test_the_instruments_too() -> None:
    words = ("bench", "fleet", "--cloud", "aws", "--instance", "i4i.4xlarge", "--nodes", "2")
    assert ended(*words, "--ssh-from", "203.0.113.7/32", "--yes", "--out", "x")[0] == EXPECTED["aws"][0]


@pytest.mark.parametrize("command", ["status", "down"])
def test_a_run_of_this_machine_too(command: str) -> None:
    """Without access, no resource is reported as left or gone."""
    from planner.clusters.provisioning.order_from_plan import Limits, order_of
    from planner.clusters.provisioning.run_directory import RunDirectory

    alone = ClusterOffer(
        instance_type="i4i.large", regions=("us-east-1",), nodes=1, spares=0, placement_group=False,
        price_usd_per_hour=1.0, usd_per_hour=1.0, expected_s=60.0, bill=(),
    )  # fmt: skip
    now = datetime.now(UTC)
    order = order_of([alone], run="r1", cloud="aws", ssh_from="203.0.113.7/32", limits=Limits(), now=now)
    RunDirectory.create(order)
    assert ended("cluster", command, "r1")[0] == EXPECTED["aws"][0]


@pytest.mark.parametrize("cloud", ["gcp", "azure"])
def test_who_is_known_but_not_for_what(cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID")
    key = tmp_path / "adc.json"
    key.write_text('{"type": "authorized_user", "client_id": "a", "client_secret": "b", "refresh_token": "c"}')
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
    first, whole = ended("run", *RENT, "--cloud", cloud)
    missing = {"gcp": "Google Cloud: no project is named", "azure": "Azure: no subscription is named"}[cloud]
    assert first == missing and "settings" in whole.splitlines()[1]


def aws_failure(name: str, **details: str) -> CallFailure:
    from botocore import exceptions

    failure = aws.failure_of(getattr(exceptions, name)(**details))
    assert failure is not None
    return failure


@pytest.mark.parametrize(
    ("name", "details", "text", "hint"),
    [
        ("NoCredentialsError", {}, "no credentials found", "aws configure"),
        ("PartialCredentialsError", {"provider": "env", "cred_var": "AWS_SECRET_ACCESS_KEY"}, "KEY is missing", "set"),
        ("ProfileNotFound", {"profile": "work"}, "no profile 'work'", "list-profiles"),
        ("SSOTokenLoadError", {"error_msg": "no file"}, "single sign-on", "aws sso login"),
        ("UnauthorizedSSOTokenError", {}, "single sign-on", "aws sso login"),
        ("TokenRetrievalError", {"provider": "sso", "error_msg": "expired"}, "single sign-on", "aws sso login"),
        ("CredentialRetrievalError", {"provider": "x", "error_msg": "y"}, "cannot be fetched", "sign in"),
        ("ConfigParseError", {"path": "~/.aws/config"}, "settings in ~/.aws", "correct"),
    ],
)
def test_errors_of_botocore(name: str, details: dict[str, str], text: str, hint: str) -> None:
    failure = aws_failure(name, **details)
    assert text in failure.text and hint in failure.hints[0] and len(failure.text) <= 100


@pytest.mark.parametrize(
    ("code", "text"),
    [("ExpiredToken", "have expired"), ("InvalidClientTokenId", "not valid here"), ("AuthFailure", "not valid here")],
)
def test_answers_of_aws(code: str, text: str) -> None:
    from botocore.exceptions import ClientError

    failure = aws.failure_of(ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeRegions"))
    assert failure is not None and text in failure.text and failure.hints[-1] == f"no ({code})"


@pytest.mark.parametrize("code", ["RequestExpired", "AuthFailure", "SignatureDoesNotMatch"])
@pytest.mark.parametrize(("off_s", "text"), [(5410, "1 h 30 min behind"), (-5410, "1 h 30 min ahead")])
def test_a_wrong_clock_is_not_blamed_on_the_credentials(code: str, off_s: int, text: str) -> None:
    """aws/aws-sdk-java issue 519; EngineerBetter/control-tower issue 51."""
    from botocore.exceptions import ClientError

    date = format_datetime(datetime.now(UTC) + timedelta(seconds=off_s), usegmt=True)
    answer: Any = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPHeaders": {"date": date}}}
    failure = aws.failure_of(ClientError(answer, "DescribeRegions"))
    assert failure is not None and failure.text == f"AWS: this machine's clock is {text}"
    assert "timedatectl" in failure.hints[0] and failure.hints[1] == f"no ({code})"


def test_a_wrong_clock_on_the_other_clouds(approve: Approve) -> None:
    from azure.core.exceptions import ClientAuthenticationError
    from google.auth.exceptions import RefreshError

    jwt = "invalid_grant: Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
    assertion = "AADSTS700024: Client assertion is not within its valid time range."
    failures = [gcp.failure_of(RefreshError(jwt)), azure.failure_of(ClientAuthenticationError(assertion))]
    approve([failure and failure.text for failure in failures])


def test_errors_of_google(approve: Approve) -> None:
    from google.api_core.exceptions import Forbidden, NotFound
    from google.auth.exceptions import DefaultCredentialsError, RefreshError

    failures = [
        gcp.failure_of(error)
        for error in (
            DefaultCredentialsError("Your default credentials were not found."),
            RefreshError("invalid_grant"),
            NotFound("The resource 'projects/my-projct' was not found"),
            Forbidden("Permission denied on resource project x."),
        )
    ]
    texts = [failure.text for failure in failures if failure is not None]
    approve(texts)
    assert not (gcp.failure_of(NotFound("The resource 'projects/p/zones/z' was not found")) or CallFailure).hints


def test_errors_of_azure() -> None:
    from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
    from azure.core.exceptions import ODataV4Error as _  # noqa: F401  # the SDK is there
    from azure.identity import CredentialUnavailableError

    texts = [
        getattr(azure.failure_of(error), "text", "")
        for error in (
            CredentialUnavailableError("Azure CLI not found on path"),
            ClientAuthenticationError("AADSTS700082: The refresh token has expired due to inactivity."),
        )
    ]
    assert texts == ["Azure: no credentials found", "Azure: the sign-in has expired"]
    assert azure.failure_of(HttpResponseError("lost")) is not None


@pytest.mark.parametrize("url", ["s3://bucket/in", "gs://bucket/in", "az://bucket/in"])
def test_object_stores(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that nothing here can open are not contacted."""
    monkeypatch.setattr(object_store, "_has_metadata_server", lambda scheme: False)
    object_store._store.cache_clear()
    with pytest.raises(ProviderRefusedError, match=r"no (credentials|storage account)") as refused:
        object_store.list_files(url)
    assert len(refused.value.message) <= 100 and refused.value.details


def test_an_object_store_whose_library_asked_the_metadata_server_in_vain(approve: Approve) -> None:
    said = "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 1 s"
    refused = object_store.account_error("s3://bucket/in", said)
    assert refused is not None
    approve(refused.message)
    assert object_store.account_error("s3://bucket/in", "Generic S3 error: NoSuchBucket") is None


def test_variables_that_open_a_store() -> None:
    object_store.require_credentials("s3://b", {"AWS_SKIP_SIGNATURE": "true"})
    object_store.require_credentials("az://b", {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_USE_AZURE_CLI": "true"})

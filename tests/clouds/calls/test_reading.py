"""Reading calls: the failures retried, and the final error messages."""

from __future__ import annotations

import sys

import pytest
from refusals import refused

from planner.clouds.calls.reading import CallFailure, CutOffError, pages, read_cloud, sdk
from planner.clouds.calls.retry import RetryPolicy
from planner.errors import IoFailureError, PlannerError, ProviderRefusedError

HASTY = RetryPolicy(most_attempts=3, first_pause_s=0.01, longest_pause_s=0.02)


def read(*outcomes: Exception | str, failure: CallFailure | None = None) -> str:
    left = list(outcomes)

    def call() -> str:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return read_cloud(
        call,
        what="types",
        failure_of=lambda _: failure,
        policy=RetryPolicy(most_attempts=3, first_pause_s=0.01, longest_pause_s=0.02),
    )


@pytest.mark.parametrize("reason", ["throttled", "lost"])
def test_what_may_pass_is_tried_again(reason: str) -> None:
    failure = CallFailure(reason=reason, text="why")  # type: ignore[arg-type]
    assert read(OSError(), OSError(), "answer", failure=failure) == "answer"


def test_an_answer_that_is_cut_off_is_asked_for_again() -> None:
    assert read(CutOffError("half"), "answer") == "answer"


@pytest.mark.parametrize(
    ("reason", "error", "message"),
    [
        ("throttled", ProviderRefusedError, "types: throttled 3 times, most recently: why. Try again later"),
        ("lost", IoFailureError, "types: tried 3 times, most recently: why; nothing was changed; check the network"),
        ("refused", ProviderRefusedError, "types: why"),
        ("broken", IoFailureError, "types: why; nothing was changed"),
    ],
)
def test_each_failure_has_its_error(reason: str, error: type[PlannerError], message: str) -> None:
    failure = CallFailure(reason=reason, text="why")  # type: ignore[arg-type]
    with pytest.raises(error) as raised:
        read(OSError("1"), OSError("2"), OSError("3"), failure=failure)
    assert raised.value.message.startswith(message)
    assert isinstance(raised.value.__cause__, OSError)


def test_what_is_no_failure_of_the_cloud_goes_on() -> None:
    with pytest.raises(ZeroDivisionError):
        read(ZeroDivisionError(), "never reached")


def test_pages_follow_their_tokens_until_one_comes_twice() -> None:
    listing = {"": ([1, 2], "a"), "a": ([3], "b"), "b": ([], "")}
    assert list(pages(listing.__getitem__, what="types")) == [[1, 2], [3], []]
    with refused("endless-list", "'a'", kind=IoFailureError):
        list(pages((listing | {"b": ([], "a")}).__getitem__, what="types"))


def test_an_sdk_that_is_absent_is_no_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is 1, which docs/how-to.md states for every package that is not installed."""
    monkeypatch.setitem(sys.modules, "boto3", None)
    with refused("missing-package", "aws", "boto3", "pip install 'sortplanner[aws]'", kind=PlannerError) as it:
        sdk("boto3", extra="aws")
    assert it.value.exit_code == 1

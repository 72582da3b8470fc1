"""Repeating calls: the failures repeated, the number of attempts, and the error raised at the end."""

from __future__ import annotations

import time

import pytest

from planner.clouds.calls.retry import RetryPolicy, retry
from planner.clouds.cloud_errors import PassingError
from planner.errors import BadInputError, IoFailureError

AT_ONCE = RetryPolicy(first_pause_s=0.0, longest_pause_s=0.0, give_up_s=60.0, poll_s=0.0)


class Failing:
    """A call that raises the given errors, one after another, before it answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


def may_pass(error: BaseException) -> bool:
    return isinstance(error, PassingError)


def test_passing_failures_are_repeated_until_the_answer() -> None:
    call = Failing(PassingError("throttled"), PassingError("away"))
    assert retry(call, policy=AT_ONCE, may_pass=may_pass) == "answer"
    assert call.calls == 3


def test_another_error_is_raised_at_once() -> None:
    call = Failing(PassingError("throttled"), BadInputError("no such image"), PassingError("never reached"))
    with pytest.raises(BadInputError, match="no such image"):
        retry(call, policy=AT_ONCE, may_pass=may_pass)
    assert call.calls == 2


def test_the_time_is_named_when_it_is_used_up() -> None:
    policy = RetryPolicy(first_pause_s=0.0, longest_pause_s=0.0, give_up_s=0.0)
    with pytest.raises(IoFailureError, match=r"^gave up after 0 s: throttled$") as raised:
        retry(Failing(PassingError("throttled")), policy=policy, may_pass=may_pass)
    assert isinstance(raised.value.__cause__, PassingError)


def test_attempts_are_counted_where_the_policy_names_them() -> None:
    call = Failing(*(OSError(str(number)) for number in range(9)))
    policy = RetryPolicy(first_pause_s=0.0, longest_pause_s=0.0, most_attempts=3)
    with pytest.raises(OSError, match="2"):
        retry(call, policy=policy, may_pass=lambda error: isinstance(error, OSError))
    assert call.calls == 3


def test_pauses_double_up_to_the_longest_and_respect_the_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    policy = RetryPolicy(first_pause_s=1.0, longest_pause_s=4.0)
    retry(Failing(*(PassingError("away") for _ in range(5))), policy=policy, may_pass=may_pass)
    assert [longest / 2 <= pause <= longest for pause, longest in zip(pauses, (1, 2, 4, 4, 4), strict=True)] == [
        True
    ] * 5
    pauses.clear()
    put_off = PassingError("away")
    put_off.wait_s = 30.0
    retry(Failing(put_off), policy=policy, may_pass=may_pass)
    assert pauses == [30.0], "also where it is longer than the policy's own"


def test_a_call_that_the_cloud_puts_off_for_too_long_is_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    put_off = PassingError("away")
    put_off.wait_s = 3600.0
    call = Failing(put_off, BadInputError("asked again"))
    with pytest.raises(IoFailureError, match="away"):
        retry(call, policy=RetryPolicy(give_up_s=300.0), may_pass=may_pass)
    assert (call.calls, pauses) == (1, [])


def test_polls_come_at_once_and_once_more_when_time_is_up() -> None:
    assert len(list(AT_ONCE.polls(0.0))) == 1
    assert len(list(RetryPolicy(poll_s=0.02).polls(0.01))) == 2

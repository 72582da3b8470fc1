"""Cloud errors by their meaning for a run, which `codes/CLOUD.toml` gives for each cloud's own error codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from planner.clouds.calls.codes import rule_of
from planner.clouds.calls.reading import CallFailure
from planner.errors import IoFailureError, PlannerError, ProviderRefusedError

T = TypeVar("T")


class NoCapacityError(ProviderRefusedError):
    """The cloud has no capacity for such machines at this place now; another place may have it."""

    code = "no-capacity"


class QuotaExceededError(ProviderRefusedError):
    """The account may not have this many machines in this region."""

    code = "quota"


class PermissionDeniedError(ProviderRefusedError):
    """The account may not do this at all; no other place would help. `reason` is the cloud's own explanation."""

    code = "denied"

    def __init__(self, message: str, details: Sequence[str] = (), *, reason: str = "") -> None:
        super().__init__(message, details)
        self.reason = reason


class StillInUseError(IoFailureError):
    """A resource cannot be deleted yet, because another one uses it."""

    code = "still-in-use"


class RefusedCallError(IoFailureError):
    """The cloud answered a call with an error that the planner does not handle; `cloud_code` is the cloud's for it."""

    code = "refused-call"

    def __init__(self, message: str, *, cloud_code: str = "") -> None:
        super().__init__(message)
        self.cloud_code = cloud_code


class NotFoundError(RefusedCallError):
    """The resource that a call names does not exist, or is not known yet."""

    code = "not-found"


class DuplicateError(RefusedCallError):
    """The resource that a call would create already exists."""

    code = "duplicate"


class PassingError(IoFailureError):
    """A failure that may pass; `untouched` if the call certainly did nothing; `wait_s` is how long the cloud asks to
    wait.
    """

    code = "passing"
    wait_s = 0.0

    def __init__(self, message: str, *, untouched: bool = False) -> None:
        super().__init__(message)
        self.untouched = untouched


class UncertainError(IoFailureError):
    """The connection broke, or the answer was unclear: the cloud may or may not have carried out the call."""

    code = "uncertain"


def meaning_of(
    cloud: str, code: str, message: str, *, status: int = 0, what: str, shown: str | None = None
) -> PlannerError:
    """Return the error to raise for an answer of a cloud; `what` names the request and its target, `status` is the HTTP
    status, 0 where there is none, `shown` the code as it came.
    """
    rule = rule_of(cloud, code, message, status=status)
    text = f"{what}: {message} ({shown or code})"
    hinted = f"{text}; {rule.hint}" if rule.hint else text
    match rule.meaning:
        case "throttled" | "passing":
            return PassingError(text, untouched=rule.meaning == "throttled")
        case "capacity" | "not here":
            return NoCapacityError(text)
        case "quota" | "closed region":
            return QuotaExceededError(hinted)
        case "permission" | "policy" | "ended credentials" | "wrong credentials":
            return PermissionDeniedError(hinted, reason=message)
        case "busy":
            return StillInUseError(text)
        case "gone":
            return NotFoundError(text, cloud_code=code)
        case "there":
            return DuplicateError(text, cloud_code=code)
        case "finding":
            return RefusedCallError(text, cloud_code=code)


def worst_of(errors: Sequence[PlannerError]) -> PlannerError:
    """Return the most important error: a denial, then a quota, then a lack of capacity, then the first one."""
    by_weight = (PermissionDeniedError, QuotaExceededError, NoCapacityError, PlannerError)
    return next(error for weight in by_weight for error in errors if isinstance(error, weight))


def call_translating_errors(
    call: Callable[[], T],
    *,
    what: str,
    failure_of: Callable[[Exception], CallFailure | None],
    meaning_of: Callable[..., PlannerError],
) -> T:
    """Make a call and raise what its failure means: `meaning_of(code, text, status=..., what=...)` if the cloud gave a
    code; account failures deny all.
    """
    try:
        return call()
    except Exception as error:
        failure = failure_of(error)
        if failure is None:
            raise
        if failure.hints:
            raise PermissionDeniedError(failure.text, failure.hints) from error
        if failure.code:
            meant = meaning_of(failure.code, failure.text, status=failure.status, what=what)
            if isinstance(meant, PassingError):
                meant.wait_s = failure.wait_s
            raise meant from error
        text = f"{what}: {failure.text}"
        if failure.reason == "refused":
            raise PermissionDeniedError(text) from error
        if failure.reason == "broken":
            raise IoFailureError(text, code="broken-answer") from error
        raise PassingError(text) from error

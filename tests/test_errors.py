"""Errors carry their exit code and every finding."""

from __future__ import annotations

from planner import errors


def test_exit_codes_are_the_contract() -> None:
    codes = {error.__name__: error.exit_code for error in errors.PlannerError.__subclasses__()}
    assert codes == {
        "BadInputError": 2,
        "InfeasibleError": 3,
        "ProviderRefusedError": 4,
        "ValidationFailedError": 5,
        "IoFailureError": 6,
        "LeftBehindError": 7,
        "InterruptedRunError": 130,
    }


def test_details_follow_the_message_line_by_line() -> None:
    error = errors.BadInputError("two things", ["one", "two"])
    assert str(error) == "two things\n  one\n  two"


def test_nearest_offers_close_names_only() -> None:
    assert errors.nearest("dayton", ["indy", "daytona"]) == " Did you mean daytona?"
    assert errors.nearest("I4I.large", ["i4i.large"]) == " Did you mean i4i.large?"
    assert errors.nearest("zzz", ["indy", "daytona"]) == ""

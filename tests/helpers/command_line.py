"""Commands that run in the test's own process, and succeed."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from planner.cli.app import build


def call(*words: object) -> str:
    """Return a command's standard output."""
    return invoked(*words).stdout


def invoked(*words: object) -> Result:
    """Return a command's output. Passes on its exceptions, and raises AssertionError for an exit code other than 0."""
    outcome = CliRunner().invoke(build(), [str(word) for word in words])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    assert outcome.exit_code == 0, outcome.output
    return outcome

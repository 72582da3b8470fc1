"""`planner cluster exec`: the user's own command on rented machines."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from planner.cli.rent import renting
from planner.cli.shell.completion import runs
from planner.cli.shell.console import show_json, show_text, talk
from planner.cli.shell.option_values import amount
from planner.errors import IoFailureError, PlannerError
from planner.units import parse_duration

if TYPE_CHECKING:
    from planner.clouds.protocol import Node
    from planner.clusters.remote.ssh import Outcome


def cluster_exec(
    run: Annotated[str, Argument(help="The run; `planner cluster status` lists them.", autocompletion=runs)],
    command: Annotated[
        list[str], Argument(help="The command, after `--`; a single word is a line of shell, such as 'df -h | tail'.")
    ],
    *,
    head: Annotated[bool, Option("--head", help="On the head alone.")] = False,
    within: Annotated[str, Option(help="How long it may take: 90s, 2h.")] = "10m",
    json: Annotated[bool, Option("--json", help="Print as one JSON object.")] = False,
) -> None:
    """Run a command on every machine of a run at once, or on its head, and print each line with the machine's name.

    With --head the lines have no name. A machine that does not show the host key of its console is not spoken to.
    Ends with the command's exit code, the largest of all machines; with 6 where it did not run or took too long.

    Example: planner cluster exec r20261121-1430-x7k2mq -- df -h
    """
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.remote_command import run_everywhere

    within_s = amount("--within", parse_duration, within)
    directory = RunDirectory.open(run)
    session = renting.session_on(directory.order().cloud)
    answers = _Answers(is_named=not head, is_silent=json)
    run_everywhere(directory, session, command, only_head=head, within_s=within_s, hear=answers.hear)
    if json:
        show_json({"run": run, "command": command, "machines": answers.to_json()})
    if answers.failures:
        raise IoFailureError("it did not run to its end on every machine", answers.failures, code="command-failed")
    if code := max(outcome.code for _, outcome in answers.outcomes):
        raise Exit(code)


class _Answers:
    """Answers of machines; the lines of each appear together when it ends."""

    def __init__(self, *, is_named: bool, is_silent: bool) -> None:
        self.outcomes: list[tuple[Node, Outcome]] = []
        self.errors: list[tuple[Node, PlannerError]] = []
        self._is_named, self._is_silent = is_named, is_silent
        self._lock = threading.Lock()

    def hear(self, node: Node, answer: Outcome | PlannerError) -> None:
        """Record and show one machine's answer; called from several threads."""
        with self._lock:
            if isinstance(answer, PlannerError):
                self.errors.append((node, answer))
                return
            self.outcomes.append((node, answer))
            if self._is_silent:
                return
            name = f"{node.id}: " if self._is_named else ""
            for line in answer.output.splitlines():
                show_text(f"{name}{line}")
            for line in answer.complaint.splitlines():
                talk(f"{name}{line}")
            if answer.code and self._is_named:
                talk(f"{name}exit code {answer.code}")

    @property
    def failures(self) -> list[str]:
        """Reasons why the command did not finish, by machine."""
        return [error.message for _, error in self.errors]

    def to_json(self) -> list[dict[str, Any]]:
        """Return all answers for JSON, the head's first; unknown values are null."""
        ended = [
            {"machine": node.id, "head": node.head, "exit_code": answer.code, "output": answer.output}
            | {"complaint": answer.complaint, "error": None}
            for node, answer in self.outcomes
        ]
        failed = [
            {"machine": node.id, "head": node.head, "exit_code": None, "output": None, "complaint": None}
            | {"error": error.message}
            for node, error in self.errors
        ]
        return sorted(ended + failed, key=lambda answer: (not answer["head"], str(answer["machine"])))

"""A user's command on the machines of a run, whatever else they do meanwhile."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.protocol import Node, Provider
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.remote.bootstrap import verify_host_keys, wait_for_answer
from planner.clusters.remote.ssh import HEAD, Outcome, Ssh
from planner.clusters.runs.cloud import reopen_run
from planner.errors import IoFailureError, PlannerError

Hear = Callable[[Node, Outcome | PlannerError], None]


def shell_line(words: Sequence[str]) -> str:
    """Return the line for a shell: one word is a whole line, several are a command and its arguments."""
    return words[0] if len(words) == 1 else shlex.join(words)


def run_everywhere(
    directory: RunDirectory,
    session: ProviderSession,
    words: Sequence[str],
    *,
    only_head: bool,
    within_s: float,
    hear: Hear,
) -> None:
    """Run a command on all machines of a run at once, or on the head. `hear` receives each machine's outcome as it
    ends, or the reason that it did not run. A machine runs the command only if it has the host key that it wrote to its
    console.

    Waits for machines that have just come up. Raises BadInputError for a run without machines, UnreachableError when
    its head does not answer.
    """
    run = reopen_run(directory, session)
    nodes = run.cluster.nodes[:1] if only_head else run.cluster.nodes
    with run.ssh() as ssh:
        run_on(ssh, nodes, shell_line(words), session.provider, policy=session.policy, within_s=within_s, hear=hear)


def run_on(
    ssh: Ssh, nodes: Sequence[Node], line: str, provider: Provider, *, policy: RetryPolicy, within_s: float, hear: Hear
) -> None:
    """Run a line of shell on machines; the first must be the head, through which the others are reached."""
    failed = verify_host_keys(ssh, nodes, provider, policy=policy)
    if nodes[0].id in failed:
        raise IoFailureError(
            f"{nodes[0].id}: the head's host key is not on its console, so no machine is spoken to", code="no-host-key"
        )
    for node in nodes:
        if node.id in failed:
            hear(node, failed[node.id])
    wait_for_answer(ssh, HEAD, policy=policy)
    ssh.keep_connection()

    def tell(node: Node) -> None:
        try:
            wait_for_answer(ssh, node.id, policy=policy)  # the line itself must run only once
            hear(node, ssh.outcome(node.id, f"{line}\n", within_s=within_s))
        except PlannerError as error:
            hear(node, error)

    ssh.each([node for node in nodes if node.id not in failed], tell)

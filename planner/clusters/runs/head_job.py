"""The driver as a job of the head itself. It goes on without its caller; a follower may lose it and find it again.

Its order, its events, its log and its process id are files on the head. A follower resumes the events at the line at
which it stopped. If the output went to an object store and no caller fetches the result, the job ends the machines.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from planner.clouds.calls.retry import RetryPolicy
from planner.clusters.ray.driver_session import OnEvent, result_in
from planner.clusters.remote.bootstrap import PYTHON
from planner.clusters.remote.ssh import HEAD, Ssh, UnreachableError
from planner.clusters.runs.ray_on_nodes import ENVIRONMENT
from planner.errors import IoFailureError

DIRECTORY: Final = "planner/job"
"""Folder on the head, relative to the login's home directory."""
UNCLAIMED_S: Final = 900
"""Seconds that a result in an object store waits for its caller before the machines end."""
_DRIVER: Final = "planner.distributed_sort.driver"
_QUICK_S: Final = 60.0
Answer = TypeVar("Answer")

_SCRIPT: Final = """\
. {environment}
drive() {{ exec {python} -P -m {driver} 3 {address} 3>>{directory}/$1 >>{directory}/driver.log 2>&1; }}
drive events.jsonl <{directory}/order.json &
echo $! >{directory}/driver.pid
wait $!
[ {unclaimed_s} -gt 0 ] || exit 0
tail -n 1 {directory}/events.jsonl | grep -q '"manifest": "[^"]' || exit 0
for _ in $(seq {unclaimed_s}); do
  sleep 1
  if [ -e {directory}/claimed ]; then exit 0; fi
done
echo '{{"do": "end"}}' | drive end.jsonl
"""
"""The head's script, which runs without the caller."""

_BEGIN: Final = """\
set -eu
umask 077
mkdir -p {directory}
if [ -s {directory}/driver.pid ]; then exit 0; fi
cat >{directory}/order.json <<'ORDER'
{order}
ORDER
cat >{directory}/job.sh <<'JOB'
{script}JOB
: >{directory}/events.jsonl
setsid sh {directory}/job.sh </dev/null >/dev/null 2>&1 &
for _ in $(seq 100); do
  if [ -s {directory}/driver.pid ]; then exit 0; fi
  sleep 0.1
done
echo "the job did not begin" >&2
exit 1
"""
"""A second call does nothing: the first may have begun the job and lost the connection before it could report it."""

_FORGET: Final = """\
kill -0 "$(cat {directory}/driver.pid)" 2>/dev/null || rm -f {directory}/driver.pid {directory}/claimed
"""

_STOP: Final = """\
: >{directory}/claimed
driver="$(cat {directory}/driver.pid)"
kill "$driver" 2>/dev/null || exit 0
for _ in $(seq 100); do
  kill -0 "$driver" 2>/dev/null || exit 0
  sleep 0.1
done
kill -9 "$driver"
"""

_FOLLOW: Final = 'exec tail -s 0.2 -n +{line} -f --pid="$(cat {directory}/driver.pid)" {directory}/events.jsonl'
"""Prints the events from a given line on, and ends with the driver."""


class OutOfSightError(IoFailureError):
    """The head does not answer. Its job may still be running."""

    code = "out-of-sight"


@dataclass(frozen=True, kw_only=True)
class HeadJob:
    """The job on the head of a cluster. `policy.join_s` is how long a head may be silent."""

    ssh: Ssh
    policy: RetryPolicy
    say: Callable[[str], None]

    def begin(
        self, order: Mapping[str, Any], *, address: str, ends_unclaimed: bool, after_another: bool = False
    ) -> None:
        """Have the head carry out an order of the driver on the Ray cluster at `address`. A job that has begun goes on;
        with `after_another`, a job that has ended is followed by this one. `ends_unclaimed` ends the machines
        UNCLAIMED_S after the output has arrived in an object store.

        If the head does not answer, the call is retried. Raises OutOfSightError when it stays silent, IoFailureError
        when the job does not begin.
        """
        script = _SCRIPT.format(
            environment=ENVIRONMENT,
            directory=DIRECTORY,
            python=PYTHON,
            driver=_DRIVER,
            address=shlex.quote(address),
            unclaimed_s=UNCLAIMED_S if ends_unclaimed else 0,
        )
        begin = _BEGIN.format(directory=DIRECTORY, order=json.dumps(order), script=script)
        if after_another:
            begin = _FORGET.format(directory=DIRECTORY) + begin
        self._call_until_answered(lambda: self.ssh.run(HEAD, begin, within_s=_QUICK_S))

    def result(self, on_event: OnEvent) -> dict[str, Any]:
        """Wait for the job's result and return it; `on_event` receives every event from the first on.

        Raises the PlannerError that the driver reports, IoFailureError with the driver's last output when it has ended
        without a result, OutOfSightError when the head stays silent.
        """
        line = 1

        def follow() -> dict[str, Any]:
            nonlocal line
            for text in self.ssh.lines(HEAD, _FOLLOW.format(line=line, directory=DIRECTORY)):
                line += 1
                if (result := result_in(text, on_event)) is not None:
                    return result
            raise IoFailureError(
                "the process that drives the sort has ended without a result", self._last_words(), code="driver-ended"
            )

        return self._call_until_answered(follow)

    def claim(self) -> None:
        """Tell the head that its result was received, so that it does not end the machines."""
        self._call_until_answered(lambda: self.ssh.run(HEAD, f": >{DIRECTORY}/claimed", within_s=_QUICK_S))

    def stop(self) -> None:
        """End the job and its follow-up steps. Raises as `run` does."""
        self.ssh.run(HEAD, _STOP.format(directory=DIRECTORY), within_s=_QUICK_S)

    def log(self) -> str:
        """Return the events so far, one JSON object a line, and the driver's other output."""
        return self.ssh.run(HEAD, f"cat {DIRECTORY}/events.jsonl {DIRECTORY}/driver.log", within_s=_QUICK_S)

    def _last_words(self) -> list[str]:
        return self.ssh.run(HEAD, f"tail -n 6 {DIRECTORY}/driver.log", within_s=_QUICK_S).splitlines()

    def _call_until_answered(self, call: Callable[[], Answer]) -> Answer:
        """Return the call's result; the call is repeated each time the connection is lost and found again."""
        while True:
            try:
                return call()
            except UnreachableError as error:
                self.say(f"{error}; its job goes on, and the head is looked for")
                self._find()

    def _find(self) -> None:
        last: IoFailureError | None = None
        for _ in self.policy.polls(self.policy.join_s):
            try:
                self.ssh.run(HEAD, "true", within_s=_QUICK_S)
                self.say("the head answers again")
                return
            except IoFailureError as error:
                last = error
        raise OutOfSightError(f"the head has been silent for {self.policy.join_s:g} s: {last}")

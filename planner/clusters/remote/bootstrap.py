"""Installation of the planner on bare machines without Internet access, from wheels that the head serves.

The head serves the wheels over HTTP inside the cluster's own network; every machine checks them against a digest that
it received by SSH. If the machines' image has the same software already, nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_init import DISKS_DIRECTORY
from planner.clouds.protocol import Node, Provider
from planner.clusters.remote.compiling import SHARED, SOURCE, compile_on_head
from planner.clusters.remote.ssh import HEAD, Ssh, UnreachableError, failures, of_success
from planner.clusters.remote.wheelhouse import Wheelhouse, cloud_name
from planner.errors import IoFailureError, PlannerError
from planner.units import count_text

PYTHON: Final = "planner/venv/bin/python"
"""The interpreter of the planner's environment, relative to the login's home directory; `ray` is next to it."""
PLANNER: Final = "planner/venv/bin/planner"
SAFE_PATH: Final = {"PYTHONSAFEPATH": "1"}
"""Keeps Python from importing from its working directory."""
_RELAY_PORT: Final = 8377
_LONGEST_COPY_S: Final = 900.0
_LONGEST_SETUP_S: Final = 900.0
_LONGEST_CONSOLE_S: Final = 120.0
_QUICK_S: Final = 60.0
_MOST_SETUPS: Final = 3

_START_RELAY: Final = """\
set -eu
export PYTHONSAFEPATH=1
cd planner/share
nohup timeout {seconds} python3 -m http.server {port} --bind {address} </dev/null >relay.log 2>&1 &
echo $!
"""

IMAGE_VENV: Final = "/opt/sortplanner"
"""Folder in which an image may have an environment with the planner and Ray."""

_TELL_CODE: Final = """\
export PYTHONSAFEPATH=1
if [ -x {venv}/bin/python ]; then
  {venv}/bin/python 2>/dev/null -c \\
    'from planner.clusters.remote.own_files import *; print(code_digest(), python_digest())' || true
fi
"""

_BEGIN_SETUP: Final = """\
set -eu
umask 077
export PYTHONSAFEPATH=1
if command -v cloud-init >/dev/null 2>&1; then cloud-init status --wait >/dev/null 2>&1 || true; fi
mkdir -p planner
cd planner
rm -rf venv
"""

_LINK: Final = "ln -s {venv} venv\n"

_INSTALL: Final = """\
mkdir -p wheels
python3 - "{url}" "{sha256}" "{python}" <<'PYTHON'
import hashlib, io, sys, tarfile, time, urllib.request
url, wanted, python = sys.argv[1:]
found = "%d.%d" % sys.version_info[:2]
if found != python:
    sys.exit("the image has Python %s, the wheels are for %s: name others with --wheelhouse" % (found, python))
for wait_s in (0.2, 1, 2, 4, 8, 16, None):
    try:
        content = urllib.request.urlopen(url, timeout=60).read()
        break
    except OSError as error:
        if wait_s is None:
            sys.exit("%s: %s" % (url, error))
        time.sleep(wait_s)
if hashlib.sha256(content).hexdigest() != wanted:
    sys.exit("the wheels that arrived are not those that were sent")
tarfile.open(fileobj=io.BytesIO(content)).extractall("wheels")
PYTHON
python3 -m venv --clear --without-pip venv
pip=$(echo wheels/pip-*.whl)/pip
extras=ray,objects
for wheel in wheels/pyarrow-*.whl; do if [ -e "$wheel" ]; then extras=$extras,arrow; fi; done
for wheel in wheels/zstandard-*.whl; do if [ -e "$wheel" ]; then extras=$extras,zstd; fi; done
PIP_FIND_LINKS=wheels venv/bin/python "$pip" install --quiet --no-index --no-cache-dir --upgrade \
  --no-warn-script-location "sortplanner[$extras]"
rm -rf wheels
"""

_END_SETUP: Final = """\
venv/bin/python -c 'import planner.native'
for disk in {disks}/disk*; do if [ -d "$disk" ] && [ -w "$disk" ]; then echo "disk $disk"; fi; done
echo "vcpus $(nproc)"
awk '/^MemTotal/ {{ print "memory_kib", $2 }}' /proc/meminfo
"""


@dataclass(frozen=True, kw_only=True)
class Equipped:
    """A machine that runs the planner, with its own report of itself; `disks` are directories."""

    node: Node
    vcpus: int
    memory_bytes: int
    disks: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self.node.id


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """The machines that are ready, the head first, and the reasons for the others."""

    ready: tuple[Equipped, ...]
    failed: dict[str, PlannerError]


def wait_for_head(ssh: Ssh, head: Node, provider: Provider, *, policy: RetryPolicy, say: Callable[[str], None]) -> None:
    """Wait until the head accepts a login with the host key that it wrote to its console.

    If the console shows no key in time, the key is pinned at the first contact, which is reported to `say`. Raises
    UnreachableError when the head does not answer within the time that machines may take.
    """
    say("waiting for the head to answer")
    if verify_host_keys(ssh, [head], provider, policy=policy):
        say("the head's host key is not on its console: it is pinned at the first contact")
    wait_for_answer(ssh, HEAD, policy=policy)
    ssh.keep_connection()


def wait_for_answer(ssh: Ssh, node: str, *, policy: RetryPolicy) -> None:
    """Wait until a machine accepts a login. Raises UnreachableError when it takes longer than machines may."""
    last: UnreachableError | None = None
    for _ in policy.polls(policy.join_s):
        try:
            ssh.run(node, "true", within_s=_QUICK_S)
            return
        except UnreachableError as error:
            last = error
    raise last or UnreachableError(f"{node} does not answer")


def verify_host_keys(
    ssh: Ssh, nodes: Sequence[Node], provider: Provider, *, policy: RetryPolicy
) -> dict[str, PlannerError]:
    """Read machines' host keys from their consoles, and return an error for each console that shows none in time."""
    missing = {node.id: node for node in nodes if node.id not in ssh.verified_nodes}
    for _ in policy.polls(min(policy.join_s, _LONGEST_CONSOLE_S)):
        keys = of_success(ssh.each(list(missing.values()), provider.host_keys))
        for name in [name for name, shown in keys.items() if shown]:
            ssh.trust(missing.pop(name), keys[name])
        if not missing:
            break
    return {
        name: IoFailureError(
            f"{name}: its host key is not on its console, so nothing secret is sent there", code="no-host-key"
        )
        for name in missing
    }


def equip(
    ssh: Ssh, nodes: Sequence[Node], wheelhouse: Wheelhouse, *, policy: RetryPolicy, say: Callable[[str], None]
) -> Equipment:
    """Install the planner on all machines at once. Raises IoFailureError when even the head cannot be equipped."""
    head = next(node for node in nodes if node.head)
    if has_software(ssh, wheelhouse):
        say(f"the image has this planner in {IMAGE_VENV}: no software is brought")
    else:
        size_mb = wheelhouse.path.stat().st_size / 1e6
        say(f"bringing {size_mb:.0f} MB of software to the head, and from there to {count_text(len(nodes), 'machine')}")
        ssh.put(HEAD, wheelhouse.path, to=SOURCE if wheelhouse.is_source else SHARED, within_s=_LONGEST_COPY_S)
        if wheelhouse.is_source:
            say(f"compiling the sort core on the head, for {cloud_name(wheelhouse.architecture)}")
    equipment = equip_from(ssh, head, nodes, wheelhouse, policy=policy)
    if head.id in equipment.failed:
        raise equipment.failed[head.id]
    return equipment


def equip_from(
    ssh: Ssh, head: Node, nodes: Sequence[Node], wheelhouse: Wheelhouse, *, policy: RetryPolicy
) -> Equipment:
    """Install the planner on machines, all at once, from a head that has the wheels, or whose image has the planner."""
    with ExitStack() as stack:
        install = _LINK.format(venv=IMAGE_VENV)
        if not has_software(ssh, wheelhouse):
            sha256 = compile_on_head(ssh, wheelhouse) if wheelhouse.is_source else wheelhouse.sha256
            url = stack.enter_context(_relay(ssh, head))
            install = _INSTALL.format(url=url, sha256=sha256, python=wheelhouse.python)
        script = _BEGIN_SETUP + install + _END_SETUP.format(disks=DISKS_DIRECTORY)
        outcomes = ssh.each(nodes, lambda node: _equip_node(ssh, node, script, policy=policy))
    ready = of_success(outcomes)
    return Equipment(ready=tuple(ready[node.id] for node in nodes if node.id in ready), failed=failures(outcomes))


def has_software(ssh: Ssh, wheelhouse: Wheelhouse) -> bool:
    """Return whether the head's image, which all machines share, has exactly the planner that would be installed."""
    return wheelhouse.code in ssh.run(HEAD, _TELL_CODE.format(venv=IMAGE_VENV), within_s=_QUICK_S).split()


@contextmanager
def _relay(ssh: Ssh, head: Node) -> Iterator[str]:
    """Serve the head's files to the cluster while the body runs."""
    start = _START_RELAY.format(seconds=int(_LONGEST_SETUP_S * 2), port=_RELAY_PORT, address=head.private_address)
    process = ssh.run(HEAD, start, within_s=_QUICK_S).strip()
    try:
        yield f"http://{head.private_address}:{_RELAY_PORT}/wheels.tar"
    finally:
        ssh.run(HEAD, f"kill {process} 2>/dev/null || true", within_s=_QUICK_S)


def _equip_node(ssh: Ssh, node: Node, script: str, *, policy: RetryPolicy) -> Equipped:
    """Install the planner on one machine; retries one that does not answer until its time is up, and a failing script
    twice.
    """
    last: PlannerError | None = None
    tries = _MOST_SETUPS
    for _ in policy.polls(policy.join_s):
        try:
            return _parse_equipped(node, ssh.run(node.id, script, within_s=_LONGEST_SETUP_S))
        except UnreachableError as error:
            last = error
        except IoFailureError as error:
            last, tries = error, tries - 1
            if not tries:
                break
    raise last or UnreachableError(f"{node.id} does not answer")


def _parse_equipped(node: Node, output: str) -> Equipped:
    facts = [line.split(" ", 1) for line in output.splitlines() if " " in line]
    values = dict(facts)
    disks = tuple(value for name, value in facts if name == "disk")
    if not disks:
        raise IoFailureError(f"{node.id}: no disk is mounted below {DISKS_DIRECTORY}", code="no-disk")
    return Equipped(node=node, vcpus=int(values["vcpus"]), memory_bytes=int(values["memory_kib"]) * 1024, disks=disks)

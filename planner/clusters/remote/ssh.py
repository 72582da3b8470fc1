"""Access to the machines of a run by OpenSSH: the head at its public address or through a jump host, others through it.

Everything a connection needs is in the run's directory, including `ssh_config` and `known_hosts`, so that the command
`ssh -F DIRECTORY/ssh_config head` works by hand too. Scripts, and secrets in them, go through standard input: all users
of the machine can read command lines.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import IO, Final, TypeVar

from planner.clouds.protocol import Node
from planner.config.atomic_file import replace_file
from planner.errors import IoFailureError, PlannerError

USER: Final = "ubuntu"
"""Login name: the stock image's own user."""
HEAD: Final = "head"
_UNREACHABLE: Final = 255
"""Exit code of ssh when it could not connect."""
_AT_ONCE: Final = 64
_VERIFIED: Final = "on-its-console"
"""The comment of a key in `known_hosts` that ssh did not pin at the first contact."""
Answer = TypeVar("Answer")
IPAddress = IPv4Address | IPv6Address

_CONFIG: Final = """\
Host *
  User {user}
  IdentityFile "{key}"
  IdentitiesOnly yes
  UserKnownHostsFile "{known_hosts}"
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking accept-new
  BatchMode yes
  ForwardAgent no
  ConnectTimeout 10
  ServerAliveInterval 5
  ServerAliveCountMax 6
  LogLevel ERROR
  ControlPath "{sockets}/%C"
"""

_ARRIVED: Final = """\
if echo "{digest}  {to}" | sha256sum --check --status 2>/dev/null; then echo whole; exit; fi
stat -c %s {partial} 2>/dev/null || echo 0
"""
"""Prints whether a file is there, or else how many of its bytes."""
_APPEND: Final = """\
umask 077
mkdir -p "$(dirname "$0")"
cat >>"$1"
if echo "$2  $1" | sha256sum --check --status; then exec mv "$1" "$0"; fi
if [ "$(stat -c %s "$1")" -ge "$3" ]; then rm "$1"; fi
echo "the file that arrived is not the one that was sent" >&2
exit 1
"""
"""Appends to the part of a file that is there. A connection that is lost ends the input early, and the part stays."""

_LONGEST_PLACE: Final = 28
"""A socket's path has at most 103 bytes (macOS), of which ssh needs 58 for a name and our folder 17."""


class UnreachableError(IoFailureError):
    """A machine does not answer, or refuses the login."""

    code = "unreachable"


class TimeIsUp(BaseException):  # not an Exception: no handler may take it for a machine's error and retry
    """The machines end soon: no more work is started on them."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of a script on a machine: its exit code, standard output and standard error."""

    code: int
    output: str
    complaint: str


class Ssh:
    """Runs scripts on `nodes`, which include the head. Use it as a context: it holds a connection to the head.

    The head is reached through `jump`, if there is one, by the caller's own ssh with its own configuration and keys.
    """

    def __init__(self, nodes: Sequence[Node], *, directory: Path, key: Path, user: str = USER, jump: str = "") -> None:
        self._config = directory / "ssh_config"
        self._known_hosts = directory / "known_hosts"
        self._key = key.resolve()
        self._user = user
        self._jump = jump
        self._sockets = _socket_directory()
        self._verified = _read_verified(self._known_hosts)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_over = False
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        self.write(nodes)

    def write(self, nodes: Sequence[Node]) -> None:
        """Write the configuration of these machines. A machine is identified by its id, not its address."""
        common = _CONFIG.format(
            user=self._user, key=self._key, known_hosts=self._known_hosts.resolve(), sockets=self._sockets
        )
        hosts = [_host(node, is_strict=node.id in self._verified, jump=self._jump) for node in nodes]
        self._nodes = tuple(nodes)
        replace_file(self._config, "".join([*hosts, common]))  # other processes may be reading it

    def trust(self, node: Node, keys: Sequence[str]) -> None:
        """Record a machine's host keys from its console; from now on it must present one of them."""
        with self._known_hosts.open("a", encoding="utf-8") as file:
            file.writelines(f"{node.id} {key} {_VERIFIED}\n" for key in keys)
        self._verified.add(node.id)
        self.write(self._nodes)

    @property
    def verified_nodes(self) -> frozenset[str]:
        """Ids of the machines whose keys were read from their consoles: they must present one of these."""
        return frozenset(self._verified)

    def interrupt(self) -> None:
        """End whatever runs on machines now; calls that wait for it fail."""
        self._end_all()

    def give_up(self) -> None:
        """End whatever runs on machines now; it and all later calls raise TimeIsUp."""
        self._is_over = True
        self._end_all()

    def __enter__(self) -> Ssh:
        self._stack.callback(shutil.rmtree, self._sockets, ignore_errors=True)
        self._stack.callback(self._end_all)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def keep_connection(self) -> None:
        """Keep one connection to the head open, which all others then share."""
        master = self.command(HEAD, options=["-N", "-o", "ControlMaster=yes"])
        holding = subprocess.Popen(master, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self._stack.callback(_end, holding)

    def command(self, node: str, *words: str, options: Sequence[str] = ()) -> list[str]:
        """Return the command line that runs `words` on a machine, `head` or an id. Nothing in it may be secret."""
        remote = ["--", shlex.join(words)] if words else []
        return ["ssh", "-F", str(self._config), *options, node, *remote]

    def run(self, node: str, script: str, *, within_s: float) -> str:
        """Run a shell script on a machine and return its output.

        Raises UnreachableError when the machine does not answer, IoFailureError with its last output when it fails or
        takes too long.
        """
        return self._output_of(node, self.command(node, "sh", "-s"), script.encode(), within_s=within_s)

    def run_with_ways(self, node: str, script: str, *, ways: Mapping[int, IPAddress], within_s: float) -> str:
        """Run a shell script on a machine that can reach some web servers through this one meanwhile: each of its own
        ports in `ways` leads to port 80 of one address, and nowhere else. Return the script's output; raises as `run`
        does.
        """
        forwards = [f"-R127.0.0.1:{port}:[{address}]:80" for port, address in ways.items()]
        options = ["-o", "ControlPath=none", "-o", "ExitOnForwardFailure=yes", *forwards]
        words = self.command(node, "sh", "-s", options=options)
        return self._output_of(node, words, script.encode(), within_s=within_s)

    def outcome(self, node: str, script: str, *, within_s: float) -> Outcome:
        """Run a shell script on a machine and return its outcome, success or not.

        Raises UnreachableError when the machine does not answer, IoFailureError when the script takes too long.
        """
        code, output, complaint = self._run_to_end(
            node, self.command(node, "sh", "-s"), script.encode(), within_s=within_s
        )
        if code == _UNREACHABLE:
            why = complaint.decode(errors="replace").strip() or "no reason given"
            raise UnreachableError(f"{node} cannot be reached, or the command ended with {code}: {why}")
        return Outcome(code=code, output=output.decode(errors="replace"), complaint=complaint.decode(errors="replace"))

    def lines(self, node: str, script: str) -> Iterator[str]:
        """Yield each whole line that a shell script on a machine prints, as it comes. The script ends with the reader.

        Raises UnreachableError when the machine stops answering, IoFailureError when the script fails.
        """
        with tempfile.TemporaryFile() as complaint:
            process = subprocess.Popen(
                self.command(node, "sh", "-c", script),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaint,
            )  # fmt: skip
            assert process.stdout is not None
            with self._register(process):
                for line in process.stdout:
                    if line.endswith(b"\n"):
                        yield line.decode(errors="replace")
                process.wait()
            complaint.seek(0)
            _require_success(node, process.returncode, complaint.read())

    def put(self, node: str, source: Path, *, to: str, within_s: float) -> None:
        """Write a file to a path below a machine's home directory, completely or not at all; what an earlier call
        brought before its connection was lost is not sent again. Raises as `run` does.
        """
        with source.open("rb", buffering=0) as content:  # ssh reads on from this very place
            digest = hashlib.file_digest(content, "sha256").hexdigest()
            partial = f"{to}.{digest[:16]}"
            there = self.run(node, _ARRIVED.format(digest=digest, to=to, partial=partial), within_s=within_s).strip()
            if there == "whole":
                return
            content.seek(int(there))
            size = str(source.stat().st_size)
            words = self.command(node, "sh", "-c", _APPEND, to, partial, digest, size)
            self._output_of(node, words, content, within_s=within_s)

    def get(self, node: str, source: str, *, to: Path) -> None:
        """Copy a machine's file to a local path, completely or not at all. Raises as `run` does."""
        partial = to.with_name(f"{to.name}.partial")
        with tempfile.TemporaryFile() as complaint, partial.open("wb") as content:
            words = self.command(node, "cat", "--", source)
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=content, stderr=complaint)
            with self._register(process):
                process.wait()
            complaint.seek(0)
            _require_success(node, process.returncode, complaint.read())
        partial.replace(to)

    def each(self, nodes: Sequence[Node], work: Callable[[Node], Answer]) -> dict[str, Answer | PlannerError]:
        """Run `work` on several machines at a time, and return each one's result or PlannerError."""

        def try_work(node: Node) -> Answer | PlannerError:
            try:
                return work(node)
            except PlannerError as error:
                return error

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                return dict(zip([node.id for node in nodes], pool.map(try_work, nodes), strict=True))
            except BaseException:
                self._end_all()
                raise

    def _output_of(self, node: str, words: list[str], content: bytes | IO[bytes], *, within_s: float) -> str:
        code, output, complaint = self._run_to_end(node, words, content, within_s=within_s)
        _require_success(node, code, complaint)
        return output.decode(errors="replace")

    def _run_to_end(
        self, node: str, words: list[str], content: bytes | IO[bytes], *, within_s: float
    ) -> tuple[int, bytes, bytes]:
        source = subprocess.PIPE if isinstance(content, bytes) else content
        process = subprocess.Popen(words, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with self._register(process):
            try:
                output, complaint = process.communicate(content if isinstance(content, bytes) else None, within_s)
            except subprocess.TimeoutExpired:
                raise IoFailureError(f"{node}: no answer within {within_s:g} s", code="no-answer") from None
        return process.returncode, output, complaint

    @contextmanager
    def _register(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        with self._lock:
            self._running.add(process)
        try:
            self._require_time()
            yield
        finally:
            _end(process)
            with self._lock:
                self._running.discard(process)
            self._require_time()

    def _require_time(self) -> None:
        if self._is_over:
            raise TimeIsUp

    def _end_all(self) -> None:
        with self._lock:
            running = list(self._running)
        for process in running:
            process.kill()


def of_success(outcomes: Mapping[str, Answer | PlannerError]) -> dict[str, Answer]:
    """Return the results of the machines that succeeded."""
    return {name: outcome for name, outcome in outcomes.items() if not isinstance(outcome, PlannerError)}


def failures(outcomes: Mapping[str, Answer | PlannerError]) -> dict[str, PlannerError]:
    """Return the errors, by machine."""
    return {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, PlannerError)}


def _host(node: Node, *, is_strict: bool, jump: str) -> str:
    names = f"{HEAD} {node.id}" if node.head else node.id
    address = (node.head and node.public_address) or node.private_address
    lines = [f"Host {names}", f"HostName {address}", f"HostKeyAlias {node.id}"]
    lines += [] if node.head else [f"ProxyJump {HEAD}"]
    lines += [f"ProxyCommand ssh -o BatchMode=yes -W '[%h]:%p' {jump}"] if jump and node.head else []
    lines += ["StrictHostKeyChecking yes"] if is_strict else []
    return "\n  ".join(lines) + "\n"


def _require_success(node: str, code: int, complaint: bytes) -> None:
    if not code:
        return
    why = complaint.decode(errors="replace").strip().splitlines()[-6:]
    if code == _UNREACHABLE:
        raise UnreachableError(f"{node} cannot be reached: {why[-1] if why else 'no reason given'}")
    raise IoFailureError(f"{node}: a script failed ({code})", why, code="script-failed")


def _read_verified(known_hosts: Path) -> set[str]:
    """Return the machines whose keys were read from their consoles, by this process or an earlier one."""
    lines = known_hosts.read_text(encoding="utf-8").splitlines() if known_hosts.exists() else []
    return {line.split(" ", 1)[0] for line in lines if line.endswith(_VERIFIED)}


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def environment_script(values: Mapping[str, str]) -> str:
    """Return shell lines that set and export variables."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def _socket_directory() -> Path:
    """Make a folder for sockets with a short enough path, whatever the system's temporary folder is."""
    is_short = len(os.fsencode(tempfile.gettempdir())) <= _LONGEST_PLACE
    return Path(tempfile.mkdtemp(prefix="planner-", dir=None if is_short else "/tmp"))

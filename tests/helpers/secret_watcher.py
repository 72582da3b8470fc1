"""Watcher for a run's secrets, wherever someone else could see them while it runs."""

from __future__ import annotations

import base64
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote_to_bytes

from emulated_cloud import EmulatedCloud
from emulated_machines import EmulatedMachines

KNOWN = "RAY_AUTH_TOKEN"
"""Content of a file on the head: a search of the machines' files that finds it has covered them."""
_ENCODED = re.compile(rb"[A-Za-z0-9+/]{400,}={0,2}")
"""Possible user data in the form that clouds take."""
_BOOT = "#cloud-config"


class SecretWatcher:
    """Collects, during a run, everything that any user of this machine can see of processes, the run's own secrets, and
    those of the `account`'s secrets that lie in files of the machines.
    """

    def __init__(self, cloud: EmulatedCloud, machines: EmulatedMachines, *, account: Sequence[str]) -> None:
        self.cloud = cloud
        self.machines = machines
        self.account = account
        self.processes: set[str] = set()
        self.tokens: set[str] = set()
        self.keys: set[str] = set()
        self.in_files: set[str] = set()

    def look(self) -> None:
        patterns = [word for secret in (*self.account, KNOWN) for word in ("-e", secret)]
        words = ["grep", "-rhoIF", "--exclude-dir=venv", "--exclude-dir=disk*", *patterns, str(self.machines.home)]
        search = subprocess.run(words, capture_output=True, text=True, check=False)
        self.in_files.update(search.stdout.splitlines())
        listed = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
        # The search for a secret names it: no other process may.
        self.processes.update(line for line in listed.splitlines() if not line.startswith("grep -rhoIF"))
        for path in self.machines.home.glob("*/home/planner/ray.env"):
            for line in path.read_text("utf-8").splitlines():
                if line.startswith("export RAY_AUTH_TOKEN="):
                    self.tokens.add(line.partition("=")[2])
        for path in self.cloud.home.glob("*/key/id_ed25519"):
            self.keys.update(path.read_text("utf-8").splitlines()[1:2])

    def require_hidden(self, output: str) -> None:
        """Require that no secret is in the process list, in the run's directory, in the output, in requests to the
        cloud and their user data, or on the machines outside the one known file.
        """
        assert self.in_files == {KNOWN}, "files were looked at, and none has what was lent"
        assert len(self.tokens) == len(self.keys) == 1 and len(self.processes) > 10
        state = [path for path in self.cloud.home.rglob("*") if path.is_file()]
        requests = [text for seen in self.cloud.proxy.seen for text in _texts(seen.body)]
        assert len(state) > 3 and any(text.startswith(_BOOT) for text in requests), "user data was looked at"
        texts = [*self.processes, output, *(path.read_text("utf-8") for path in state), *requests]
        secrets = [*self.tokens, *self.keys, *self.account, "PRIVATE KEY"]
        assert not [secret for secret in secrets for text in texts if secret in text]


def _texts(body: bytes) -> Iterator[str]:
    """Yield a request's body, and the user data in it."""
    plain = unquote_to_bytes(body)
    yield plain.decode("latin-1")
    boot = plain.find(_BOOT.encode())
    if boot >= 0:
        yield plain[boot:].decode("latin-1")
    for encoded in _ENCODED.findall(plain):
        yield base64.b64decode(encoded).decode("latin-1")


@contextmanager
def watch_for_secrets(
    cloud: EmulatedCloud, machines: EmulatedMachines, *, account: Sequence[str] = ()
) -> Iterator[SecretWatcher]:
    """Keep looking while the body runs."""
    watcher, over = SecretWatcher(cloud, machines, account=account), threading.Event()

    def keep() -> None:
        while not over.wait(0.2):
            watcher.look()

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield watcher
    finally:
        over.set()
        thread.join()

"""A key pair of its own for every run: the private half never leaves this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from planner.errors import IoFailureError


def make_key(path: Path, *, comment: str = "planner") -> str:
    """Make an Ed25519 key at `path`, in a directory only the owner may enter, and return its public half.

    Raises IoFailureError when OpenSSH is missing or the disk refuses.
    """
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return path.with_name(path.name + ".pub").read_text(encoding="utf-8").strip()
    except FileNotFoundError as error:
        raise IoFailureError("ssh-keygen is missing; install OpenSSH's client") from error
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", "") or str(error)
        raise IoFailureError(f"{path}: cannot make an SSH key: {reason.strip()}") from error

"""Host keys on a console."""

from __future__ import annotations

import pytest
from host_keys import ECDSA, ED25519

from planner.clouds.host_keys import host_keys_in

BEGIN, END = "-----BEGIN SSH HOST KEY KEYS-----", "-----END SSH HOST KEY KEYS-----"


def test_keys_stand_between_the_marks_without_their_comments() -> None:
    console = f"boot\n{BEGIN}\n{ED25519} root@node\n{ECDSA} root@node\n{END}\nlogin:"
    assert host_keys_in(console) == (ED25519, ECDSA)


def test_half_a_list_is_none() -> None:
    assert host_keys_in(f"boot\n{BEGIN}\n{ED25519} root@node\n") == ()
    assert host_keys_in("") == ()


@pytest.mark.parametrize(
    "line",
    [
        "[  142.238100] EXT4-fs (nvme1n1): mounted filesystem",
        f"{ED25519[:40]}[  142.238100] kernel speaks",
        ED25519[:40],
        ED25519[: len("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5")],  # the type alone: 4 + 11 bytes are 20 characters
        ED25519.replace("ssh-ed25519", "ssh-rsa"),
        "ssh-ed25519 AAAA",
        "ssh-ed25519 ====",
    ],
)
def test_what_the_kernel_says_among_them_is_no_key(line: str) -> None:
    """As a real console showed: `-----BEGIN SSH H[  142.238100] kernel speaks` among others."""
    assert host_keys_in(f"{BEGIN}\n{line}\n{ECDSA} root@node\n{END}\n") == (ECDSA,)


def test_what_is_damaged_the_first_time_is_read_the_second_time() -> None:
    """We tell them before the disks are formatted, cloud-init after it."""
    first = f"{BEGIN}\n{ED25519[:50]}[  1.0] kernel\n{ECDSA} root@node\n{END}\n"
    assert host_keys_in(first) == (ECDSA,)
    assert host_keys_in(f"{first}{BEGIN}\n{ED25519} a\n{ECDSA} a\n{END}\n") == (ECDSA, ED25519)

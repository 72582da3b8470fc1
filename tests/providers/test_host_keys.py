"""Host keys on a console."""

from __future__ import annotations

from planner.providers.host_keys import host_keys_in

BEGIN, END = "-----BEGIN SSH HOST KEY KEYS-----", "-----END SSH HOST KEY KEYS-----"


def test_keys_stand_between_the_marks_without_their_comments() -> None:
    console = f"boot\n{BEGIN}\nssh-ed25519 AAAA root@node\necdsa-sha2 BBBB root@node\n{END}\nlogin:"
    assert host_keys_in(console) == ("ssh-ed25519 AAAA", "ecdsa-sha2 BBBB")


def test_half_a_list_is_none() -> None:
    assert host_keys_in(f"boot\n{BEGIN}\nssh-ed25519 AAAA root@node\n") == ()
    assert host_keys_in("") == ()

"""`plan` alone asks at a terminal, and elsewhere says what is missing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from planner.cli.plan.plan_questions import _yes_or_no

PLAN = [sys.executable, "-c", "import sys; from planner.cli.app import plan_main; sys.argv[0] = 'plan'; plan_main()"]


def at_a_terminal(*answers: str) -> str:
    """Type answers at a terminal, one by one, and return all that was shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(PLAN, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"COLUMNS": "80"})
    os.close(theirs)
    shown, left = "", list(answers)
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not more:
            break
        shown += more.decode(errors="replace")
        if left and shown.endswith(("? ", ": ")):
            os.write(ours, f"{left.pop(0)}\n".encode())
    os.close(ours)
    process.wait()
    return shown


def test_five_answers_make_a_plan() -> None:
    shown = at_a_terminal("much", "10TB", "", "", "no", "")
    assert "no unit" in shown or "write it as" in shown  # the first answer cannot be understood, and it asks again
    assert "Rent " in shown
    assert "any one node may be lost" in " ".join(shown.split())


def test_elsewhere_it_says_what_is_missing_with_an_example() -> None:
    ended = subprocess.run(PLAN, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "plan --data 100TB" in ended.stderr


def test_yes_and_no_are_understood() -> None:
    assert [_yes_or_no(word) for word in ("yes", "Y", "no", "n")] == [True, True, False, False]

"""`plan` without options asks at a terminal, and elsewhere reports what is missing."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

from approvals import Approve

PLAN = [sys.executable, "-c", "import sys; from planner.cli.app import plan_main; sys.argv[0] = 'plan'; plan_main()"]
PATIENCE_S = 120
END_OF_FILE = "\x04"


def at_a_terminal(*answers: str, words: tuple[str, ...] = ()) -> tuple[int, str]:
    """Type answers at a terminal, one by one, and return the exit code and everything shown."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": "80"}
    process = subprocess.Popen([*PLAN, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown, left = "", list(answers)
    while select.select([ours], [], [], PATIENCE_S)[0]:
        try:
            more = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not more:
            break
        shown += more.decode(errors="replace")
        if shown.endswith(": ") and left:
            answer = left.pop(0)
            os.write(ours, (answer if answer == END_OF_FILE else f"{answer}\n").encode())
    os.close(ours)
    process.kill() if left else None
    assert not left, f"never asked for {left}: {shown}"
    return process.wait(timeout=PATIENCE_S), " ".join(shown.split())


def test_all_answers_make_a_plan_and_the_command_that_gives_it() -> None:
    code, shown = at_a_terminal(
        *("much", "1TB"), "", *("s3:/b", "s3://b/out"), *("dayton", "indy"), *("30 parsecs", "20h"), *("-3", "$900")
    )
    assert code == 0
    for refused in ("size 'much'", "s3:/b: not the address", "Did you mean daytona?", "unknown unit", "-3: must be"):
        assert refused in shown
    for model in ("indy", "daytona", "object-store"):
        assert f" {model} " in shown
    assert "Press Enter to take the answer in brackets" in shown
    assert "any one node may be lost" in shown
    assert "Next time: plan --data 1TB --output s3://b/out --model indy --deadline 20h --budget '$900' " in shown
    assert shown.index("Next time: ") < shown.index("Rent ")


def test_a_folder_answers_how_much_data_there_is(tmp_path: Path) -> None:
    for name, size in (("a", 1_000_000), ("b", 3_000_000), ("empty", 0)):
        (tmp_path / name).write_bytes(bytes(size))
    code, shown = at_a_terminal(str(tmp_path), "", "", "", "", words=("--instance", "i4i.*"))
    assert code == 0
    assert "2 files, 4 MB" in shown
    assert "Where is it?" not in shown
    assert "Next time: plan --instance 'i4i.*' --data 4MB " in shown


def test_what_was_given_is_not_asked() -> None:
    words = ("--model", "indy", "--deadline", "20h", "--budget", "900", "--output", "s3://b/out")
    code, shown = at_a_terminal("1TB", "", words=words)
    assert code == 0
    assert shown.count("? 3TB") == 1 and shown.count("[made on the nodes]") == 1
    assert not any(text in shown for text in ("How safe", "By when", "How many US dollars", "does the result go"))


def test_an_end_of_the_answers_is_a_sentence(approve: Approve) -> None:
    code, shown = at_a_terminal("1TB", END_OF_FILE)
    assert code == 2
    approve(shown)
    assert "Traceback" not in shown


def test_elsewhere_it_says_what_is_missing_with_the_usage(approve: Approve) -> None:
    ended = subprocess.run(PLAN, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    first, *rest = ended.stderr.splitlines()
    assert first.startswith("error: --data is missing") and len(first) <= 100
    approve(rest[0])
    assert "plan --data 100TB" in rest[1]

"""`scripts/structure.py` finds what it claims to find, and the limits that it enforces hold."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from structure import CHECKOUT, ENFORCED, LARGE_FILES, MOST_FILE_LINES, class_fields, defined_names

SAMPLE = """
import machines as fleet
class Market:
    kind: str
    def open(self, one):
        for each in one:
            kind = each
"""


def test_the_enforced_limits_hold() -> None:
    script = CHECKOUT / "scripts" / "structure.py"
    outcome = subprocess.run([sys.executable, script, "--brief"], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    printed = {line.partition(":")[0] for line in outcome.stdout.splitlines()}
    assert printed >= ENFORCED, "an enforced check has another name"


def test_every_file_with_a_reason_to_be_large_is_large() -> None:
    lengths = {name: len((CHECKOUT / name).read_text(encoding="utf-8").splitlines()) for name in LARGE_FILES}
    assert not {name: lines for name, lines in lengths.items() if lines <= MOST_FILE_LINES}


def test_definitions_count_and_uses_do_not() -> None:
    names = [name for name, _ in defined_names(ast.parse(SAMPLE))]
    assert sorted(names) == ["Market", "each", "fleet", "kind", "kind", "one", "open", "self"]


def test_fields_of_classes_are_told_from_variables() -> None:
    tree = ast.parse(SAMPLE)
    fields = class_fields(tree)
    assert [node in fields for name, node in defined_names(tree) if name == "kind"].count(True) == 1

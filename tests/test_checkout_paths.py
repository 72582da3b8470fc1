"""Committed files refer to nothing outside the checkout."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent


def committed_texts() -> dict[Path, str]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    files = [CHECKOUT / name for name in names.split("\0") if name and (CHECKOUT / name).is_file()]
    return {path: content.decode() for path in files if b"\0" not in (content := path.read_bytes())}


def test_committed_files_refer_to_nothing_outside_the_checkout() -> None:
    checkouts = re.escape(str(CHECKOUT.parent)) + r"\b" if len(CHECKOUT.parts) > 2 else r"(?!)"
    elsewhere = re.compile(
        rf"{checkouts}|\b(?:pypi|pythonhosted|npmjs|debian|crates)\.\w+|\b(?:index-url|find-links)\b"
    )
    upward = re.compile(r"(?:\.\./)+[\w.-]+")
    findings = []
    for path, text in committed_texts().items():
        for number, line in enumerate(text.splitlines(), start=1):
            names = elsewhere.findall(line) if path != Path(__file__) else []
            names += [name for name in upward.findall(line) if not (path.parent / name).exists()]
            findings += [f"{path.relative_to(CHECKOUT)}:{number}: {what}" for what in names]
    assert not findings, "\n".join(findings)

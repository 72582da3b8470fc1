"""constraints.txt: every package of a checkout has a version that pyproject.toml allows, and hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parents[1]


def test_every_package_that_a_checkout_installs_is_pinned_within_its_limits_and_hashed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    asked = [Requirement(text) for texts in lists for text in texts if not text.startswith("sortplanner")]
    lock = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", lock, flags=re.MULTILINE))
    assert len(asked) > 60
    assert [str(of) for of in asked if not of.specifier.contains(pinned.get(canonicalize_name(of.name), "0"))] == []
    entries = re.split(r"\n(?=\w)", lock)[1:]
    assert len(entries) == len(pinned)
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []

"""Build backend: scikit-build-core, which takes the manual pages of the commands from build/man."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from scikit_build_core import build as scikit_build
from scikit_build_core.build import *  # noqa: F403  # the other hooks of the interface

TOP = Path(__file__).resolve().parent.parent
MANUALS = TOP / "build" / "man"


def build_wheel(*args: Any, **options: Any) -> str:
    """Write the manual pages, and build the wheel with them."""
    sys.path.insert(0, str(TOP))
    import man_pages

    MANUALS.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages.pages().items():
        (MANUALS / name).write_text(text, "utf-8")
    return str(scikit_build.build_wheel(*args, **options))


def build_editable(*args: Any, **options: Any) -> str:
    """Build without new manual pages: the packages that make them are not installed yet."""
    MANUALS.mkdir(parents=True, exist_ok=True)
    return str(scikit_build.build_editable(*args, **options))

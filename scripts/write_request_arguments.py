"""Write the arguments of `planner.recommend` as a TypedDict, from which type checkers and editors know them.

Usage: python scripts/write_request_arguments.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from planner.schemas.arguments import arguments, python_type

FILE: Final = Path(__file__).resolve().parent.parent / "planner" / "schemas" / "request_arguments.py"
_HEAD: Final = '''"""Arguments of `recommend`, as scripts/write_request_arguments.py writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from planner.schemas.request_forms import NetworkView, NodeLimit, Objective, OwnPrice


class RequestArguments(TypedDict, total=False):
    """Options of `plan`, as `recommend` takes them."""

'''


def text_of_arguments() -> str:
    """Return the file as it is shipped."""
    return _HEAD + "".join(f"    {name}: {python_type(name)}\n" for name in sorted(arguments()) if name != "data")


if __name__ == "__main__":
    FILE.write_text(text_of_arguments(), encoding="utf-8")

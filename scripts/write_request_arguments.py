"""Writes `planner/schemas/request_arguments.py`: the arguments of `recommend` as type checkers read them, which cannot
derive types from the declaration in `planner/schemas/request.py` themselves.
"""

from __future__ import annotations

from pathlib import Path

from planner.schemas.arguments import arguments, python_type

FILE = Path(__file__).parents[1] / "planner" / "schemas" / "request_arguments.py"

_HEAD = '''"""The arguments of `recommend` for type checkers, written by `scripts/write_request_arguments.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from planner.schemas.request_forms import NetworkView, NodeLimit, Objective, OwnPrice


class RequestArguments(TypedDict, total=False):
    """What `recommend` takes beside the data: the options of `plan` under their names, and fields of `Request`.

    Sizes, durations and rates are texts with units, or bytes, seconds and bytes/s. What may be given several times is a
    text with commas or a sequence; what has a name and an amount is a mapping or a text such as `network=1.5`.
    """

'''


def written() -> str:
    """Return the text of the file."""
    return _HEAD + "".join(f"    {name}: {python_type(name)}\n" for name in sorted(arguments()) if name != "data")


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")

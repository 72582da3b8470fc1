"""Whether an extension that was built here runs with the C and C++ libraries of the machines' stock image."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

STOCK: Final = {"GLIBC_2.": 39, "GLIBCXX_3.4.": 33}
"""The newest symbol versions of Ubuntu 24.04's libc6 2.39 and libstdc++6 14 (GCC's ABI Policy and Guidelines)."""


def newer_than_stock(extension: Path) -> list[str]:
    """Return the newest symbol version of each library that the stock image lacks; none when the extension runs there.

    An ELF file names all that it needs in its string table.
    """
    content = extension.read_bytes()
    needed = {
        prefix: max((int(number) for number in re.findall(re.escape(prefix.encode()) + rb"(\d+)", content)), default=0)
        for prefix in STOCK
    }
    return [f"{prefix}{number}" for prefix, number in needed.items() if number > STOCK[prefix]]

"""Files that list the machines of a cluster, for options that also take words."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from planner.config.user_files import read_user_file
from planner.errors import BadInputError
from planner.schemas.machine_lists import MachineList, read_machine_list

_SUFFIXES: Final = (".csv", ".json", ".tfstate", ".tsv", ".txt", ".yaml", ".yml")


def listed_machines(given: str, *, option: str) -> MachineList | None:
    """Return the machines that a file lists; None for words such as `20 x m5d.12xlarge`. Raises BadInputError, naming
    the option, for a file that does not exist, cannot be read or lists none.
    """
    file = Path(given)
    try:
        exists = bool(given) and file.exists()
    except OSError:  # too long for a name
        return None
    if not exists:
        if "/" in given or file.suffix in _SUFFIXES:
            raise BadInputError(
                f"{option} {given}: no such file; name one that lists your machines", code="no-such-file"
            )
        return None
    if file.is_dir():
        place = given if "/" in given else f"./{given}"
        hint = f"plan --catalog {place} plans with the machines of a catalog, and takes its options"
        raise BadInputError(f"{option} {given}: a folder; name a file that lists machines", [hint], code="is-folder")
    return read_machine_list(read_user_file(file), where=f"{option} {given}", option=option)

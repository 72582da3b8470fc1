"""A damaged work folder of a sort that consumes its inputs is an error; nothing is begun, and no input deleted."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import refused

import planner
from planner.errors import BadInputError
from tests.sorting.mutated_endings import begin_killed

ROWS = [f"{i * 7919 % 60_000:08} {'x' * 40}" for i in range(60_000)]


def begun(folder: Path, *, saves: int = 4) -> tuple[Path, Path, Path]:
    """Return the input, the output and the work folder of a sort that was killed."""
    path, output = folder / "in", folder / "out"
    path.write_text("\n".join([*ROWS, ""]))
    begin_killed(lambda: planner.sort(path, output, format="lines", consume_input=True), saves=saves)
    return path, output, folder / ".out.sorting"


def swap_options(file: Path) -> None:
    file.write_text(file.read_text().replace('"unique": false', '"unique": true'))


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "options": ("journal.json", swap_options),
    "no JSON": ("journal.json", lambda file: file.write_bytes(b"\xff" + file.read_bytes())),
    "empty journal": ("journal.json", lambda file: file.write_bytes(b"")),
    "other JSON": ("journal.json", lambda file: file.write_text("[]")),
    "short run": ("part-0", lambda file: file.write_bytes(file.read_bytes()[:-1])),
    "long run": ("part-0", lambda file: file.write_bytes(file.read_bytes() + b"x\n")),
    "missing run": ("part-0", lambda file: file.unlink()),
}


@pytest.mark.parametrize(("name", "damage"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_an_error_and_nothing_is_deleted(name: str, damage: Callable[[Path], object], tmp_path: Path) -> None:
    path, output, work = begun(tmp_path)
    damage(work / name)
    before = path.read_bytes()
    with refused("damaged-state", ".out.sorting is damaged"):
        planner.sort([], output, resume=True)
    assert path.read_bytes() == before
    assert not output.exists()


@pytest.mark.parametrize("name", ["state-0", "state-1"])
@pytest.mark.parametrize("is_gone", [True, False])
def test_either_copy_of_the_state_is_enough(name: str, is_gone: bool, tmp_path: Path) -> None:
    """An older state would take for rows what was freed since."""
    _, output, work = begun(tmp_path, saves=5)
    state = bytearray((work / name).read_bytes())
    state[random.Random(3).randrange(40)] ^= 64
    (work / name).unlink() if is_gone else (work / name).write_bytes(state)
    planner.sort([], output, resume=True)
    assert output.read_text().splitlines() == sorted(ROWS)


def test_rows_whose_journal_is_gone_are_not_removed_by_a_new_sort(tmp_path: Path) -> None:
    path, output, work = begun(tmp_path)
    (work / "journal.json").unlink()
    with refused("nothing-to-resume", "no sort into it is unfinished"):
        planner.sort([], output, resume=True)
    with refused("damaged-state", "it may hold rows"):
        planner.sort(path, output, format="lines", consume_input=True)
    assert (work / "part-0").exists()


def test_no_input_is_deleted_when_the_result_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from planner.sorting.consuming import consuming_sort

    def killed(*_: object, **__: object) -> None:
        raise BadInputError("killed")

    path, output = tmp_path / "in", tmp_path / "out"
    path.write_text("\n".join([*ROWS, ""]))
    with monkeypatch.context() as patch:
        patch.setattr(consuming_sort, "delete_inputs", killed)
        with pytest.raises(BadInputError, match="killed"):
            planner.sort(path, output, format="lines", consume_input=True)
    result = output.read_bytes()
    output.write_bytes(result[:-1])
    with refused("damaged-state", "is the result of"):
        planner.sort([], output, resume=True)
    assert path.exists()
    output.write_bytes(result)
    planner.sort([], output, resume=True)
    assert not path.exists()

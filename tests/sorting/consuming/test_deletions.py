"""Only `--consume-input` deletes inputs: one function does, it takes the option, and no other sort touches an input."""

from __future__ import annotations

import ast
import gzip
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import planner
from planner.sorting.consuming import inputs
from planner.sorting.consuming.inputs import ConsumeInput

PACKAGE = Path(planner.__file__).parent
DESTRUCTIVE = {"unlink", "rmdir", "rmtree", "truncate", "ftruncate", "free_space"}
OF_MODULES = {"remove", "rename", "replace", "move"}
"""Names that lists and texts have, too: counted where `os`, `shutil` or a path is asked."""
ALLOWED = {
    ("sorting/consuming/inputs.py", "delete_inputs", "unlink"): "the inputs, with the option",
    ("sorting/consuming/inputs.py", "free_parts", "free_space"): "runs, and inputs by `free_inputs`, with the option",
    ("sorting/consuming/inputs.py", "require_consumable", "free_space"): "nothing: behind the end",
    ("sorting/consuming/consuming_sort.py", "_name_output", "unlink"): "the result's second name",
    ("sorting/consuming/consuming_sort.py", "_name_output", "replace"): "the output, with --force",
    ("sorting/consuming/work_folder.py", "make", "rmtree"): "a folder without rows",
    ("sorting/consuming/work_folder.py", "begin", "replace"): "the new journal",
    ("sorting/consuming/work_folder.py", "remove", "unlink"): "files of the folder",
    ("sorting/consuming/work_folder.py", "remove_all", "rmdir"): "the folder",
    ("sorting/consuming/tables.py", "step", "truncate"): "the merge",
    ("sorting/consuming/text.py", "merge", "truncate"): "the merge",
    ("sorting/tables/destination.py", "_write_folder", "rename"): "the new folder, which had no name",
    ("sorting/tables/destination.py", "_write_folder", "rmtree"): "the unfinished folder",
    ("compression/lz4_frames.py", "compress", "truncate"): "a buffer in memory",
}


def destructive_calls(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the file, the function and the name of calls that delete, cut, rename or free files."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _destroys(call, call.func):
                    yield path.relative_to(PACKAGE).as_posix(), function.name, call.func.attr


def _destroys(call: ast.Call, asked: ast.Attribute) -> bool:
    if asked.attr in DESTRUCTIVE or (asked.attr in OF_MODULES and ast.unparse(asked.value) in ("os", "shutil")):
        return True
    takes_a_path = len(call.args) == 1 and not (call.keywords or isinstance(call.args[0], ast.Starred))
    return asked.attr in ("rename", "replace") and takes_a_path  # a text's `replace` takes two


def test_what_deletes_is_known_by_name() -> None:
    """A new place needs a line here, and a reason: it must not be an input."""
    folders = [PACKAGE / "sorting", PACKAGE / "compression", PACKAGE / "api" / "contents"]
    files = [file for folder in folders for file in folder.rglob("*.py")] + list((PACKAGE / "api").glob("sort*.py"))
    assert {call for file in files for call in destructive_calls(file)} == set(ALLOWED)


def test_what_frees_or_deletes_inputs_takes_the_option() -> None:
    for act in (inputs.delete_inputs, inputs.free_inputs):
        first = next(iter(inspect.signature(act, eval_str=True).parameters.values()))
        assert (first.annotation, first.default) == (ConsumeInput, inspect.Parameter.empty)


@pytest.mark.parametrize("value", [False, None, 1, "yes"])
def test_the_option_is_made_of_itself_alone(value: Any) -> None:
    with refused("not-consumed", "only with --consume-input"):
        ConsumeInput(value)
    assert ConsumeInput(True).is_given


def test_the_option_is_made_in_one_place() -> None:
    made = [file for file in PACKAGE.rglob("*.py") if "ConsumeInput(" in file.read_text(encoding="utf-8")]
    assert [file.relative_to(PACKAGE).as_posix() for file in made] == ["api/sort_consuming.py"]


def state_of(path: Path) -> tuple[int, ...]:
    """Return what any change of a file's content, size, names or attributes changes."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_nlink


@pytest.mark.parametrize("more", [{}, {"unique": True}, {"merge": True}, {"limit": 2}, {"force": True}])
@pytest.mark.parametrize("form", ["lines", "csv", "gz", "records", "parquet"])
def test_a_sort_without_the_option_touches_no_input(form: str, more: dict[str, Any], tmp_path: Path) -> None:
    path, how = tmp_path / f"in.{form}", {"format": form} | ({"key": "k"} if form in ("csv", "parquet") else {})
    if form == "parquet":
        pq.write_table(pa.table({"k": [1, 2, 3]}), path)
    elif form == "records":
        path.write_bytes(b"a" * 100 + b"b" * 100)
        how |= {"key": "0:10"} if more and "force" not in more else {}
    else:
        path.write_bytes(b"k\n1\n2\n" if form == "csv" else b"1\n2\n")
    if form == "gz":
        path.write_bytes(gzip.compress(b"1\n2\n"))
        how = {"format": "lines"}
    before = state_of(path)
    planner.sort(path, tmp_path / "out", **how, **more)
    planner.find_disorder(path, **how)
    assert state_of(path) == before

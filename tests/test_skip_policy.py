"""The skip policy of conftest.py, tried on small suites: skipped tests, counted tests, and failing runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
HELPERS = [str(CONFTEST.parent / name) for name in ("emulators", "helpers")]


def run_suite(folder: Path, body: str, *flags: str, user_id: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a one-file suite under the project's conftest, as if user `user_id` ran it."""
    shutil.copy(CONFTEST, folder)
    markers = "needs_root(why): root only\n    needs_browser(why): with a browser only"
    (folder / "pytest.ini").write_text(f"[pytest]\nmarkers =\n    {markers}\n")
    (folder / "test_it.py").write_text(f"import pytest\n\n{body}")
    as_user = f"import os, pytest; os.geteuid = lambda: {user_id}; raise SystemExit(pytest.main())"
    command = [sys.executable, "-c", as_user, "-p", "no:cacheprovider", *flags, "test_it.py"]
    return subprocess.run(
        command,
        cwd=folder,
        env={"PATH": "", "PYTHONPATH": os.pathsep.join(HELPERS)},
        capture_output=True,
        text=True,
        check=False,
    )


EXCUSE = "pytest.skip('no reason that counts')"


def test_strict_run_fails_on_a_skip_without_leave_and_names_it(tmp_path: Path) -> None:
    done = run_suite(tmp_path, f"def test_a(): pass\ndef test_b(): {EXCUSE}\n", "--strict-skips")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "skipped without leave: test_it.py::test_b" in done.stdout


def test_strict_run_fails_on_a_module_that_skips_itself(tmp_path: Path) -> None:
    body = "pytest.importorskip('a_package_nobody_has')\ndef test_a(): pass\n"
    assert run_suite(tmp_path, body, "--strict-skips").returncode != pytest.ExitCode.OK


def test_ordinary_run_lets_a_skip_pass(tmp_path: Path) -> None:
    done = run_suite(tmp_path, f"def test_a(): pass\ndef test_b(): {EXCUSE}\n")
    assert done.returncode == pytest.ExitCode.OK
    assert "without leave" not in done.stdout


@pytest.mark.parametrize(
    ("user_id", "words"),
    [(0, ("2 passed",)), (1000, ("1 passed, 1 skipped", "needs root: mounts a disk", "1 skipped for want of root"))],
)
def test_what_needs_root_runs_as_root_and_is_skipped_by_name_for_others(
    tmp_path: Path, user_id: int, words: tuple[str, ...]
) -> None:
    body = "@pytest.mark.needs_root(why='mounts a disk')\ndef test_a(): pass\ndef test_b(): pass\n"
    done = run_suite(tmp_path, body, "--strict-skips", "-rs", user_id=user_id)
    assert done.returncode == pytest.ExitCode.OK
    assert all(word in done.stdout for word in words), done.stdout


@pytest.mark.parametrize(
    ("flags", "code"), [((), pytest.ExitCode.OK), (("--strict-skips",), pytest.ExitCode.TESTS_FAILED)]
)
def test_what_needs_a_browser_is_skipped_and_counted_where_there_is_none_but_not_under_strict_skips(
    tmp_path: Path, flags: tuple[str, ...], code: pytest.ExitCode
) -> None:
    body = "@pytest.mark.needs_browser(why='draws charts')\ndef test_a(): pass\ndef test_b(): pass\n"
    done = run_suite(tmp_path, body, "-rs", *flags)  # nothing is on its PATH, so it finds no browser
    assert done.returncode == code
    assert "needs a browser: draws charts" in done.stdout
    assert ("1 skipped for want of a browser" in done.stdout) == (not flags)

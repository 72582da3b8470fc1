"""`planner gnusort` against GNU sort: the same output, messages and exit codes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from planner.cli.sort.gnusort import main
from planner.cli.sort.gnusort_options import parse
from planner.sorting.records import keyed  # noqa: F401  # so that a fork without privileges need not load it

GNU_SORT = shutil.which("sort") or ""
REFUSED = [
    ["-k0"], ["-k"], ["-k1.0"], ["-kx"], ["-k1,x"], ["-k1q"], ["-t", "ab"], ["-t", ""], ["--batch-size=1"],
    ["--batch-size=x"], ["--batch-size=99999999"], ["-S", "x"], ["-S", "1xx"], ["--buffer-size=q"], ["-dn"], ["-ghM"],
    ["-nif"], ["-c", "-o", "x"], ["-cC"], ["--check=foo"], ["--sort=foo"], ["--sort"], ["--foo"], ["--s"], ["--ve"],
    ["--stable=1"], ["--parallel=0"], ["--parallel=x"], ["-1"], ["nofile"], ["-c", "nofile"], ["-m", "nofile"],
    ["-c", "a", "b"], ["--files0-from=nofile"], ["-o", "/nodir/x", "/dev/null"], ["/"], ["-k1n,1R"],
    ["-t", "x", "-t", "y"], ["-o", "a", "-o", "b"], ["--files0-from=-", "x"], ["-k", "-1"], ["-c", "lines"],
    ["-C", "lines"], ["-cu", "twice"], ["-c", "-r", "lines"], ["--check="], ["-S", "1 "], ["--parallel", "1 "],
    ["-o", ""], ["-y", "nofile"], ["--compress-program=a", "--compress-program=b"], ["-S", "9" * 5000],
    ["a b"], ["a\nb"], ["a\x1b[31mb"], ["a'b"], ["#a"], ["a=b"], ["a\\b"], ["-k", "1\x1b\t"], ["-o", "/x y/z", "lines"],
]  # fmt: skip
ACCEPTED = [
    [], ["-r"], ["-n"], ["--reverse", "--num"], ["-k", "2", "-t:"], ["-t:", "-k2,2nr", "-k1,1"],
    ["--key=2", "--field-sep=:"], ["-u"], ["-z"], ["lines", "-r"], ["--", "lines"], ["-", "lines"],
    ["lines", "twice"], ["-m", "twice", "twice"], ["+1", "-2", "-t:"], ["-fu"], ["--sort=hum"],
    ["-t", "\\0", "-k1"], ["-S10%", "-T", "/nodir", "--parallel=3"], ["-c", "twice"], ["-y0", "-s"],
    ["--check=quiet", "twice"], ["-bk2"], ["--files0-from=list"], ["-y", "-r"], ["-y", "5"], ["-y", "twice"],
    ["--compress-program=gzip"], ["--compress-program", "a", "--compress-program", "a"], ["-S", " \v1"],
]  # fmt: skip


DEBUGGED = [
    [], ["-n"], ["-k2,2n"], ["-t:", "-k2"], ["-r", "-k1,1"], ["-k1,1M"], ["-k2.2,2.4h"], ["-b", "-k2"], ["-u", "-k1,1"],
    ["-s", "-k2"], ["-f"], ["-k3"], ["-k2,1"], ["-nr"], ["-k1n"], ["-d", "-k1,1n"], ["-k2b,2", "-k1,1r"], ["+1", "-2"],
    ["-t.", "-k1n"], ["-t-", "-k1n"], ["-t+", "-k1g"], ["-g"], ["-z"], ["-ru", "-k1,1n"], ["-m"], ["-c"], ["-o", "x"],
    ["-bdf", "-k1,1", "-k2n,2"], ["-h"], ["-M"], ["+0.1n"], ["-k1.2,1.3"], ["-k1.2b,2.3b"],
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with a few texts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines").write_bytes(b"b:10:x\na:9\n\nB:-1\nc:10:0")
    (tmp_path / "twice").write_bytes(b"1\n1\n2\n")
    (tmp_path / "list").write_bytes(b"twice\0lines\0")
    return tmp_path


def beside(command: Sequence[str], folder: Path, program: str | None = None) -> tuple[int, bytes, bytes]:
    """Return a command's exit code, output and messages; GNU sort begins messages with the name it is called by."""
    text = (folder / "lines").read_bytes()
    done = subprocess.run(
        command, executable=program, input=text, capture_output=True, check=False, cwd=folder,
        env=os.environ | {"LC_ALL": "C"},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def ours(arguments: list[str], folder: Path, *, as_nobody: bool = False) -> tuple[int, bytes, bytes]:
    """Run ours in a fork, which shares loaded modules, with files as its standard streams; not as root if requested."""
    streams = [os.open(folder / "lines", os.O_RDONLY)]
    streams += [os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for name in (".out", ".err")]
    child = os.fork()
    if child == 0:
        for descriptor, stream in enumerate(streams):
            os.dup2(stream, descriptor)
        if as_nobody and os.getuid() == 0:
            os.setuid(65534)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        code = main(arguments)
        sys.stderr.flush()
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for stream in streams:
        os.close(stream)
    return code, (folder / ".out").read_bytes(), (folder / ".err").read_bytes()


@pytest.mark.skipif(not GNU_SORT, reason="GNU sort is not installed")
@pytest.mark.parametrize("arguments", [*REFUSED, *ACCEPTED], ids=" ".join)
def test_the_same_output_messages_and_exit_code(arguments: list[str], folder: Path) -> None:
    assert ours(arguments, folder) == beside(["sort", *arguments], folder, GNU_SORT)


@pytest.mark.skipif(not GNU_SORT, reason="GNU sort is not installed")
@pytest.mark.parametrize("arguments", DEBUGGED, ids=" ".join)
def test_keys_are_marked_and_doubted_as_gnu_sort_does(arguments: list[str], folder: Path) -> None:
    (folder / "marked").write_bytes(b"a\tb 10K x\n  jan:-12.5x 7\n\nB:3 \x01\xff2\n-.5e3 0x1F nan\n5. 1,000 1e\nfeb 2M")
    words = ["--debug", *arguments, "marked"]
    assert ours(words, folder) == beside(["sort", *words], folder, GNU_SORT)


@pytest.mark.skipif(not GNU_SORT, reason="GNU sort is not installed")
@pytest.mark.parametrize("version", ["199209", "200112", "200809"])
@pytest.mark.parametrize(
    "arguments",
    [["-o", "new"], ["-onew", "-r"], ["-o"], ["-c", "-o", "new"], ["-r"], ["--"], ["+1"], ["twice", "-o", "new"]],
    ids=" ".join,
)
def test_what_follows_a_file_is_a_file_to_posix_but_o(
    arguments: list[str], version: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSIXLY_CORRECT", "1")
    monkeypatch.setenv("_POSIX2_VERSION", version)
    words, found = ["lines", *arguments], []
    for run in (lambda: ours(words, folder), lambda: beside(["sort", *words], folder, GNU_SORT)):
        done = run()
        found.append((done, (folder / "new").read_bytes() if (folder / "new").exists() else None))
        (folder / "new").unlink(missing_ok=True)
    assert found[0] == found[1]


def test_sizes_in_kibibytes_unless_they_say_otherwise() -> None:
    sizes = {"1": 1024, "7b": 7, "2K": 2048, "3M": 3 * 2**20, "1G": 2**30, "0": 1}
    assert {text: parse(["-S", text]).memory_bytes for text in sizes} == sizes
    assert parse(["-S1K", "-S", "5b"]).memory_bytes == 1024


def test_ronna_and_quetta_come_behind_yotta(folder: Path) -> None:
    (folder / "sizes").write_bytes(b"1Q\n2R\n-1Q\n3Y\n1R\n-2R\n")
    assert ours(["-h", "sizes"], folder) == (0, b"-1Q\n-2R\n3Y\n1R\n2R\n1Q\n", b"")


def test_random_order_keeps_equal_keys_together_and_follows_its_source(folder: Path) -> None:
    (folder / "many").write_bytes(b"".join(b"%d\n" % (i % 50) for i in range(200)))
    (folder / "seed").write_bytes(bytes(range(16)))
    first = ours(["-R", "--random-source=seed", "many"], folder)[1].split()
    assert first == ours(["-R", "--random-source=seed", "many"], folder)[1].split()
    assert [word for i, word in enumerate(first) if i == 0 or first[i - 1] != word] == first[::4]
    assert first != sorted(first)
    assert ours(["-R", "--random-source=list", "many"], folder)[2] == b"sort: list: end of file\n"


def test_the_output_may_be_the_input_and_keeps_its_mode(folder: Path) -> None:
    (folder / "lines").chmod(0o640)
    assert ours(["-r", "lines", "-o", "lines"], folder)[0] == 0
    assert (folder / "lines").read_bytes() == b"c:10:0\nb:10:x\na:9\nB:-1\n\n"
    assert (folder / "lines").stat().st_mode & 0o777 == 0o640


@pytest.fixture
def closed(folder: Path) -> Path:
    """Return a folder where only root can create files, containing a file that anyone can write."""
    (folder / "closed").mkdir()
    (folder / "closed" / "lines").write_bytes(b"b\na\nc\n")
    (folder / "closed" / "lines").chmod(0o666)
    (folder / "closed").chmod(0o555)
    folder.chmod(0o755)
    return folder / "closed"


@pytest.fixture
def open_scratch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put temporary files where anyone may write, under a short name: folders above may be closed to others."""
    (folder / "scratch").mkdir()
    (folder / "scratch").chmod(0o777)
    monkeypatch.setenv("TMPDIR", "scratch")


@pytest.mark.parametrize("arguments", [["closed/lines"], ["-m", "lines", "closed/lines"]], ids=" ".join)
def test_an_input_that_cannot_be_replaced_is_written_over_when_all_is_read(
    arguments: list[str], closed: Path, folder: Path, open_scratch: None
) -> None:
    in_order = ours(arguments, folder)[1]
    assert ours([*arguments, "-o", "closed/lines"], folder, as_nobody=True) == (0, b"", b"")
    assert (closed / "lines").read_bytes() == in_order != b""


def test_an_output_that_cannot_be_replaced_stays_until_all_is_sorted(
    closed: Path, folder: Path, open_scratch: None
) -> None:
    code, _, messages = ours(["lines", ".", "-o", "closed/lines"], folder, as_nobody=True)
    assert (code, messages) == (2, b"sort: read failed: .: Is a directory\n")
    assert (closed / "lines").read_bytes() == b"b\na\nc\n"


def test_a_directory_that_takes_no_file_is_said_to_be_closed(closed: Path, folder: Path) -> None:
    assert closed.is_dir()
    messages = ours(["lines", "-o", "closed/new"], folder, as_nobody=True)[2]
    assert messages == b"sort: open failed: closed/new: Permission denied\n"


@pytest.mark.needs_root(why="mounts a file")
def test_a_mount_point_is_written_over(folder: Path) -> None:
    script = "mount --bind twice lines && exec $PYTHON -m planner gnusort -r lines -o lines"
    environment = os.environ | {"PYTHON": sys.executable}
    subprocess.run(["unshare", "--mount", "sh", "-c", script], cwd=folder, env=environment, check=True)
    assert (folder / "twice").read_bytes() == b"2\n1\n1\n"
    assert (folder / "lines").read_bytes() == b"b:10:x\na:9\n\nB:-1\nc:10:0"


def test_all_names_of_an_output_have_what_is_sorted(folder: Path) -> None:
    for sort in (ours, lambda options, at: beside(["sort", *options], at, GNU_SORT)):
        (folder / "first").write_bytes(b"2\n1\n")
        (folder / "second").unlink(missing_ok=True)
        (folder / "second").hardlink_to(folder / "first")
        assert sort(["first", "-o", "second"], folder) == (0, b"", b"")
        assert (folder / "first").read_bytes() == (folder / "second").read_bytes() == b"1\n2\n"


def test_an_output_that_is_no_file_is_written_as_it_is(folder: Path) -> None:
    assert ours(["lines", "-o", "/dev/stdout"], folder) == beside(["sort", "lines"], folder, GNU_SORT)
    code, _, messages = ours(["lines", "-o", "/dev/full"], folder)
    assert (code, messages) == (2, b"sort: write failed: /dev/full: No space left on device\n")


def test_the_command_goes_through_planner(folder: Path) -> None:
    done = beside([sys.executable, "-m", "planner", "gnusort", "-t:", "-k2n"], folder)
    assert done == (0, b"B:-1\n\na:9\nb:10:x\nc:10:0\n", b"")


def test_names_in_any_bytes() -> None:
    options = parse(["a\udcff", "-T", "b"])
    assert (options.operands, options.temp_dirs) == (["a\udcff"], ["b"])

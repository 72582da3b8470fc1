"""Catalogs kept as arrays: equal to those read from text, made again when anything changed, never in the way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.catalog import catalog_names, kept, loading
from planner.catalog.catalog import Catalog


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the place of kept arrays, of files that count as settled."""
    monkeypatch.setenv("PLANNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "_SETTLED_NS", 0)
    return tmp_path / "cache"


def stamp(name: str) -> kept.Stamp:
    return loading._stamp(loading.catalog_directory(name))


def read_text(name: str) -> Catalog:
    catalog, problems = loading.scan_catalog(loading.catalog_directory(name))
    assert catalog is not None, problems
    return catalog


def read_arrays(name: str) -> Catalog | None:
    return kept.read_kept(loading.catalog_directory(name), stamp(name))


def require_same(one: Catalog, other: Catalog | None) -> None:
    """Require that two catalogs agree in every bit."""
    assert other is not None
    heads = [(c.name, c.path, c.manifest, c.refreshed_on, list(c.tables)) for c in (one, other)]
    assert heads[0] == heads[1]
    for table, again in zip(one.tables.values(), other.tables.values(), strict=True):
        assert (table.schema, table.path, list(table.lines)) == (again.schema, again.path, list(again.lines))
        assert list(table.columns) == list(again.columns)
        for name, values in table.columns.items():
            assert (values.dtype, values.tobytes()) == (again[name].dtype, again[name].tobytes()), name
            assert again[name].flags.writeable and again[name].flags.aligned


@pytest.mark.parametrize("name", catalog_names())
def test_arrays_equal_the_text_that_they_are_made_from(name: str, cache: Path) -> None:
    assert read_arrays(name) is None
    catalog = read_text(name)
    kept.keep(catalog, stamp(name))
    require_same(catalog, read_arrays(name))


def test_letters_beyond_ascii_and_empty_tables_are_kept_as_they_are(cache: Path) -> None:
    catalog = read_text("oci")
    for letter in ("ü", "Ω", "𝔸"):
        columns = {**catalog.tables["prices"].columns, "note": np.full(len(catalog.tables["prices"]), f"a{letter} b")}
        table = kept.Table(schema=kept.schema.PRICES, path=Path(letter), columns=columns, lines=(7,))
        head, content = kept._pack({**catalog.tables, "prices": table})
        again = kept._unpack(head, np.frombuffer(bytearray(content), np.uint8))["prices"]
        assert again["note"].tolist() == columns["note"].tolist() and again.path == Path(letter) and again.lines == [7]


@pytest.fixture
def loaded(cache: Path) -> Callable[[], tuple[Catalog, bool]]:
    """Return a function that loads `oci` as a new process does, and tells whether it read text."""

    def load() -> tuple[Catalog, bool]:
        loading._load.cache_clear()
        before = {path: path.stat().st_ino for path in cache.glob("*")}
        catalog = loading.load_catalog("oci")
        return catalog, {path: path.stat().st_ino for path in cache.glob("*")} != before

    return load


def test_the_second_process_reads_no_text(
    loaded: Callable[[], tuple[Catalog, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, was_read = loaded()
    assert was_read
    monkeypatch.setattr(loading, "scan_catalog", None)
    require_same(first, loaded()[0])


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flip(content: bytes) -> bytes:
    at = len(content) - 100
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _flip,
        lambda content: b"",
        lambda content: bytes(8),
        lambda content: b"text" * 9,
        lambda content: content[:6],
    ],
    ids=["cut", "one bit", "empty", "zeros", "text", "shorter than a head"],
)
def test_a_damaged_file_is_made_again(
    damage: Callable[[bytes], bytes], cache: Path, loaded: Callable[[], tuple[Catalog, bool]]
) -> None:
    first, _ = loaded()
    (place,) = cache.iterdir()
    whole = place.read_bytes()
    place.write_bytes(damage(whole))
    again, was_read = loaded()
    require_same(first, again)
    assert was_read and place.read_bytes() == whole and list(cache.iterdir()) == [place]


def test_what_was_made_from_other_files_or_by_other_code_is_not_read(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, now = read_text("oci"), stamp("oci")
    kept.keep(catalog, now)
    assert kept.read_kept(catalog.path, (*now, ("another file", 1, 2))) is None
    monkeypatch.setattr(kept, "_code", lambda: (("another version", 1, 2),))
    assert kept.read_kept(catalog.path, now) is None


def test_the_day_of_a_refresh_is_kept(cache: Path) -> None:
    catalog = replace(read_text("oci"), refreshed_on=read_text("oci").prices_as_of)
    kept.keep(catalog, stamp("oci"))
    require_same(catalog, read_arrays("oci"))


def test_a_stamp_changes_with_each_file(cloud: Path, tmp_path: Path) -> None:
    (cloud / "broken").symlink_to("nowhere")
    stamps = [kept.stamp_of(cloud, tmp_path / "absent")]
    for change in (
        lambda: os.utime(cloud / "prices.csv"),
        (cloud / "disks.csv").unlink,
        lambda: (cloud / "note").write_text("more"),
        lambda: (tmp_path / "absent").write_text(""),
    ):
        time.sleep(0.01)
        change()
        stamps.append(kept.stamp_of(cloud, tmp_path / "absent"))
    assert len(set(stamps)) == len(stamps)


def test_arrays_of_files_that_had_only_just_changed_are_made_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, now = read_text("oci"), stamp("oci")
    kept.keep(catalog, now)
    (place,) = cache.iterdir()
    newest_ns, made_ns = max(changed_ns for _, changed_ns, _ in now), place.stat().st_ctime_ns
    monkeypatch.setattr(kept, "_SETTLED_NS", made_ns - newest_ns)
    assert read_arrays("oci") is not None
    monkeypatch.setattr(kept, "_SETTLED_NS", made_ns - newest_ns + 1)
    assert read_arrays("oci") is None


def test_a_users_own_catalog_is_not_kept(cloud: Path, cache: Path) -> None:
    loading.load_catalog(cloud)
    assert not cache.exists()


@pytest.mark.parametrize("place", ["a file", "a directory in the place", "no home"])
def test_a_cache_that_cannot_be_used_only_costs_time(
    place: str, cache: Path, loaded: Callable[[], tuple[Catalog, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_text("oci")
    if place == "a file":
        cache.write_text("")
    elif place == "no home":
        monkeypatch.delenv("PLANNER_CACHE")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
    else:
        kept._place(loading.catalog_directory("oci")).mkdir(parents=True)
    require_same(first, loaded()[0])


def test_writers_at_the_same_time_leave_a_whole_file(cache: Path) -> None:
    catalog, now = read_text("oci"), stamp("oci")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: kept.keep(catalog, now), range(40)))
    kept.keep(catalog, now)
    require_same(catalog, read_arrays("oci"))
    assert len(list(cache.iterdir())) == 1

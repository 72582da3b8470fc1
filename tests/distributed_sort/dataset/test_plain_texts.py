"""Plain text of compressed input is used again only if it is whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from planner.distributed_sort.dataset.plain_texts import PlainTexts, size_in_name


def texts_in(folder: Path) -> PlainTexts:
    return PlainTexts([folder / "disk0", folder / "disk1"], 2)


def written(texts: PlainTexts) -> Path:
    return texts.write([np.full(3000, 65, np.uint8), np.full(2, 66, np.uint8)])


def test_a_text_is_found_again_by_its_number_and_length(tmp_path: Path) -> None:
    texts = texts_in(tmp_path)
    assert texts.whole() is None
    path = written(texts)
    assert path.parent.name == "disk0" and path.read_bytes() == b"A" * 3000 + b"BB"
    assert size_in_name(path) == 3002
    assert texts.whole() == texts.whole(is_read_through=True) == path
    assert PlainTexts([path.parent], 3).whole() is None


def cut(path: Path) -> None:
    os.truncate(path, 100)


def made_unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("fault", [cut, Path.unlink, made_unreadable])
def test_what_is_not_whole_is_not_used_again(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    texts = texts_in(tmp_path)
    bad = written(texts)
    fault(bad)
    assert texts.whole() is None
    again = written(texts)
    assert again.name != bad.name, "tasks may still read the old one"
    assert texts.whole(is_read_through=True) == again
    assert (again.parent.name == "disk1") == bad.is_dir(), "what cannot be deleted makes its disk suspect"


def test_an_unreadable_text_of_the_right_length_is_found_by_reading_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = texts_in(tmp_path)
    path = written(texts)

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("planner.distributed_sort.dataset.plain_texts.read_exactly", fail)
        assert texts.whole() == path
        assert texts.whole(is_read_through=True) is None
    assert not path.exists()

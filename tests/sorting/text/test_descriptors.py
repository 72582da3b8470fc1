"""Room for many open files at once."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from planner.errors import BadInputError
from planner.sorting.text.descriptors import allow_pipes


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_limit_rises_as_far_as_it_may(limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, limits[1]))
    allow_pipes(16)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (128, limits[1])
    allow_pipes(17)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (132, limits[1])


def test_what_the_system_does_not_allow_is_refused(limits: tuple[int, int]) -> None:
    with pytest.raises(BadInputError, match=r"4000064 open files, and .* are allowed: raise `ulimit -n`"):
        allow_pipes(10**6)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == limits

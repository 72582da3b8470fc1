"""Deleting resources one by one, some of which may be gone already or still in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from planner.clouds.cloud_errors import NotFoundError, StillInUseError
from planner.clouds.protocol import Resource


def delete_each(resources: Sequence[Resource], delete: Callable[[Resource], None], *, at_once: int = 1) -> None:
    """Call `delete` for each resource whose deletion has not been accepted yet, `at_once` calls at a time.

    A resource that is gone already is no error. Raises StillInUseError naming those that must wait, after all others
    have been asked for.
    """
    waiting: list[str] = []

    def attempt(resource: Resource) -> None:
        try:
            delete(resource)
        except NotFoundError:
            pass
        except StillInUseError as error:
            waiting.append(str(error))

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(attempt, [resource for resource in resources if not resource.ending]))
    if waiting:
        raise StillInUseError(f"{len(waiting)} of {len(resources)} still in use", waiting)

"""Taking down all that carries a run's tags in the cloud, and making sure that nothing is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_errors import StillInUseError
from planner.clouds.protocol import Provider, Resource, require_named
from planner.errors import IoFailureError, LeftBehindError, PlannerError

Say = Callable[[str], None]
_LISTINGS: Final = 5
"""How often what is listed at the end may still be taken down, before it counts as left behind."""


@dataclass(frozen=True, kw_only=True)
class Teardown:
    """Takes down what one run has. Raises BadInputError for a run without a name."""

    provider: Provider
    run: str
    policy: RetryPolicy
    say: Say

    def __post_init__(self) -> None:
        require_named(self.run)

    def regions(self, regions: Iterable[str], *, unsure: bool) -> int:
        """Empty regions and return how many resources were found. If `unsure`, something may have been asked for that
        no listing shows yet: wait and look again. Raises LeftBehindError naming what remains.
        """
        problems: dict[str, str] = {}
        deleted: set[Resource] = set()
        places = list(dict.fromkeys(regions))
        for _ in range(_LISTINGS):
            for region in places:
                deleted |= self._empty(region, self._kinds(), problems)
            if unsure:
                self.policy.settle()
            left = [resource for region in places for resource in self._list_remaining(region, problems)]
            if not left and not problems:
                return len(deleted)
            if problems:
                break
        raise _left_behind_error(self.run, left, problems)

    def zone(self, region: str) -> None:
        """Remove what ties a run to a zone; raises LeftBehindError when some of it remains."""
        problems: dict[str, str] = {}
        self._empty(region, self.provider.tied_to_zone, problems)
        left = self.provider.find(sorted(self.provider.tied_to_zone), region=region, run=self.run)
        if left or problems:
            raise _left_behind_error(self.run, left, problems)

    def _kinds(self) -> list[str]:
        return [resource_kind for stage in self.provider.stages for resource_kind in stage]

    def _list_remaining(self, region: str, problems: dict[str, str]) -> Sequence[Resource]:
        try:
            return self.provider.find(self._kinds(), region=region, run=self.run)
        except PlannerError as error:
            problems[region] = str(error)
            return ()

    def _empty(self, region: str, kinds: Collection[str], problems: dict[str, str]) -> set[Resource]:
        """Clear stage after stage. A stage that cannot be cleared is a problem, and ends the region's turn."""
        deleted: set[Resource] = set()
        for stage in self.provider.stages:
            types = [resource_kind for resource_kind in stage if resource_kind in kinds]
            try:
                deleted |= self._clear(region, types) if types else set()
            except PlannerError as error:
                problems[f"{', '.join(types)} in {region}"] = str(error)
                break
        return deleted

    def _clear(self, region: str, kinds: list[str]) -> set[Resource]:
        """Delete what there is of some kinds until a listing is empty. Raises what keeps it from being so."""
        deleted: set[Resource] = set()
        waiting: PlannerError | None = None
        for _ in self.policy.polls(self.policy.gone_s):
            left = self.provider.find(kinds, region=region, run=self.run)
            if not left:
                return deleted
            asked = sorted({resource for resource in left if not resource.ending}, key=_kind_of)
            self._announce(set(asked) - deleted, region)
            deleted |= set(asked)
            for _, of_kind in groupby(asked, _kind_of):
                try:
                    self.provider.delete(list(of_kind))
                except StillInUseError as error:
                    waiting = error
        raise waiting or IoFailureError(f"not gone after {self.policy.gone_s:g} s")

    def _announce(self, new: set[Resource], region: str) -> None:
        for resource_kind, count in sorted(Counter(resource.kind for resource in new).items()):
            self.say(f"deleting {count} x {resource_kind} in {region}")


def _kind_of(resource: Resource) -> str:
    return resource.kind


def _left_behind_error(run: str, left: Sequence[Resource], problems: dict[str, str]) -> LeftBehindError:
    details = [resource.text for resource in left] + [f"{where}: {what}" for where, what in problems.items()]
    return LeftBehindError(
        f"run {run}: {len(left)} resources are left and may cost money; `planner cluster down {run}` tries again",
        details,
    )

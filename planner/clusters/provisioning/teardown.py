"""Removal of all of a run's resources in the cloud, verified to leave nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_errors import StillInUseError
from planner.clouds.protocol import Provider, Resource
from planner.clusters.provisioning.reconciliation import Key, Reconciliation
from planner.errors import IoFailureError, LeftBehindError, PlannerError

Say = Callable[[str], None]
_LISTINGS: Final = 5
"""Rounds of removing what is still listed at the end, before it counts as left behind."""


@dataclass(frozen=True, kw_only=True)
class Teardown:
    """Takes down one run's resources, as its `account` knows them."""

    account: Reconciliation
    say: Say
    _held: dict[Key, Resource] = field(default_factory=dict)
    _looks: Counter[Key] = field(default_factory=Counter)
    """Looks in which a resource was in use."""

    @property
    def _provider(self) -> Provider:
        return self.account.provider

    @property
    def _kinds(self) -> list[str]:
        return [resource_kind for stage in self._provider.stages for resource_kind in stage]

    @property
    def _policy(self) -> RetryPolicy:
        return self.account.policy

    def regions(self, regions: Iterable[str]) -> int:
        """Empty regions and return the number of resources found. Raises LeftBehindError naming what remains."""
        return self._delete_until_gone(list(dict.fromkeys(regions)), self._kinds)

    def zone(self, region: str) -> int:
        """Remove the resources that tie a run to a zone. Raises LeftBehindError when some remain."""
        return self._delete_until_gone([region], self._provider.tied_to_zone)

    def _delete_until_gone(self, regions: list[str], kinds: Collection[str]) -> int:
        """Empty regions until none shows any resource for as long as a listing may be late."""
        problems: dict[str, str] = {}
        deleted: dict[Key, Resource] = {}
        for _ in range(_LISTINGS):
            for region in regions:
                deleted |= self._empty(region, kinds, problems)
            left = [resource for region in regions for resource in self._remaining(region, kinds, problems)]
            if not left and not problems:
                return len(deleted)
            if problems:
                break
        raise _left_behind_error(self.account.run, left, problems)

    def _remaining(self, region: str, kinds: Collection[str], problems: dict[str, str]) -> tuple[Resource, ...]:
        """Return the resources in the first look that shows any; where looks fail, those not proven gone."""
        try:
            for _ in self._policy.settling():
                if left := self._list_deletable(kinds, region):
                    return left
        except PlannerError as error:
            problems[region] = str(error)
            return self.account.possibly_existing(kinds, region=region)
        return ()

    def _empty(self, region: str, kinds: Collection[str], problems: dict[str, str]) -> dict[Key, Resource]:
        """Clear one stage after another. A stage that cannot be cleared is a problem and ends the region's turn."""
        deleted: dict[Key, Resource] = {}
        for stage in self._provider.stages:
            types = [resource_kind for resource_kind in stage if resource_kind in kinds]
            try:
                deleted |= self._clear(region, types) if types else {}
            except PlannerError as error:
                problems[f"{', '.join(types)} in {region}"] = str(error)
                break
        return deleted

    def _clear(self, region: str, kinds: list[str]) -> dict[Key, Resource]:
        """Delete all known resources of these kinds until no look shows any. Raises the error that prevents it."""
        deleted: dict[Key, Resource] = {}
        waiting: PlannerError | None = None
        for _ in self._policy.polls(self._policy.gone_s):
            left = self._list_deletable(kinds, region)
            self._delete_unseen(kinds, region, seen={resource.key for resource in left})
            if not left and not self.account.may_appear_later(kinds, region=region):
                return deleted
            self._announce([resource for resource in left if resource.key not in deleted], region)
            deleted |= {resource.key: resource for resource in left}
            if problem := self._delete(resource for resource in left if not resource.ending):
                waiting = problem
                self._report_held(left)
        raise waiting or IoFailureError(f"not gone after {self._policy.gone_s:g} s", code="still-there")

    def _list_deletable(self, kinds: Collection[str], region: str) -> tuple[Resource, ...]:
        """Return the resources to delete."""
        return tuple(item for item in self.account.list_existing(kinds, region=region) if item.key not in self._held)

    def _report_held(self, left: Iterable[Resource]) -> None:
        """Leave the resources that another owner's keep in use, and those that these keep in turn, and report both."""
        for resource in left:
            self._looks[resource.key] += 1
            if holders := self._provider.holders([resource]):
                self._held[resource.key] = resource
                self.say(f"{resource.text} stays, free of charge: it holds what is not of this run. To remove it:")
                for text in dict.fromkeys(holders):
                    self.say(f"  {text}")
            elif self._looks[resource.key] >= _LISTINGS and self._goes_with_held(resource):
                self._held[resource.key] = resource
                self.say(f"{resource.text} stays with it, free of charge")

    def _goes_with_held(self, resource: Resource) -> bool:
        """Return whether something that stays may need a resource: what is deleted before it, or with it."""
        at = {kind: number for number, stage in enumerate(self._provider.stages) for kind in stage}
        here = (held for held in self._held.values() if held.region == resource.region)
        return any(at[held.kind] <= at[resource.kind] for held in here)

    def _delete_unseen(self, kinds: list[str], region: str, *, seen: set[Key]) -> None:
        """Request the deletion of ordered resources that do not show, once: they may only be late. A policy may deny
        deleting what does not exist.
        """
        with suppress(PlannerError):
            self._delete(item for item in self.account.unasked(kinds, region=region) if item.key not in seen)

    def _delete(self, resources: Iterable[Resource]) -> PlannerError | None:
        """Request the deletion of resources, and return why some must wait."""
        waiting: PlannerError | None = None
        asked = sorted(resources, key=_kind_of)
        self.account.end(asked)
        for _, of_kind in groupby(asked, _kind_of):
            try:
                self._provider.delete(list(of_kind))
            except StillInUseError as error:
                waiting = error
        return waiting

    def _announce(self, new: Iterable[Resource], region: str) -> None:
        for resource_kind, count in sorted(Counter(resource.kind for resource in new).items()):
            self.say(f"deleting {count} x {resource_kind} in {region}")


def _kind_of(resource: Resource) -> str:
    return resource.kind


def _left_behind_error(run: str, left: Iterable[Resource], problems: dict[str, str]) -> LeftBehindError:
    left = list(left)
    details = [resource.text for resource in left] + [f"{where}: {what}" for where, what in problems.items()]
    return LeftBehindError(
        f"run {run}: {len(left)} resources may be left and cost money",
        [f"`planner cluster down {run}` tries again", *details],
    )

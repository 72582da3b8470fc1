"""The decision in sentences, the same on screen, page, card and document: the machine, the model's durability, the
assumptions, the bottleneck, and the confidence in its figures.
"""

from __future__ import annotations

import re
from typing import Final

from planner.cost_model.caveats import ASSUMED_POWER, COMPUTED_DISKS, DEAR_SPOT
from planner.planning.request.region import OWN_PRICE
from planner.planning.request.stored_data import size_text
from planner.report.clusters import total_text
from planner.report.words import RESOURCE_WORDS, phase_word, region_text
from planner.schemas.plan import NEVER_RAN, TIMES_OF_PROFILE, Candidate, Machine, Plan
from planner.units import count_text, format_bytes, format_duration, format_link, format_memory, format_usd

DECIDING: Final = {
    "measured": "measured",
    "derived": "computed from measured or stated ones",
    "spec": "stated by the cloud, not measured",
    "extrapolated": "extrapolated beyond what was measured",
    "recalled": "recalled, without a source at hand",
    "assumed": "assumed",
}
"""Descriptions of the weakest evidence among the deciding figures."""

_SPEEDS: Final = {
    "network": "network speed",
    "local": "disk speed",
    "volumes": "volume speed",
    "objects": "object store speed",
    "cpu": "processor speed",
}
_KIND: Final = {"nvme": " NVMe", "ssd": " SSD", "hdd": " hard disk"}
_STORES: Final = {"aws": "S3", "gcp": "Cloud Storage", "azure": "Blob Storage", "oci": "Object Storage"}
_ALL: Final = 0.995
"""Least share that is shown as 100%."""
_LISTED: Final = " (prices of "
_SURE: Final = 0.99
"""Most confidence claimed for a deadline."""


def place_text(best: Candidate) -> str:
    """Return where the cluster is."""
    return region_text(best) + (", one placement group" if best.placement_group else "")


def machine_text(best: Candidate) -> str:
    """Return the description of one node, and its price: '32 vCPUs, 256 GiB, 2 x 3.75 TB NVMe, 25 Gbit/s network, $2.75
    an hour'.
    """
    return ", ".join([*machine_facts(best.machine), price_text(best)])


def order_text(best: Candidate) -> str:
    """Return what to order where a type with its disks has another name in the cloud; '' elsewhere."""
    return f"Order {best.cloud_type}, and the local disks with it." if best.cloud_type != best.instance_type else ""


def machine_facts(machine: Machine) -> list[str]:
    """Return a machine's processors, memory, disks and network, each with its unit or as unknown."""
    vcpus = "vCPUs unknown" if machine.vcpus is None else count_text(machine.vcpus, "vCPU")
    memory = "memory unknown" if machine.memory_bytes is None else format_memory(machine.memory_bytes)
    size = "?" if machine.local_disk_bytes is None else format_bytes(machine.local_disk_bytes)
    disks = f"{machine.local_disks} x {size}{_KIND.get(machine.local_disk_kind, '')}"
    if not machine.local_disks:
        disks = "local disks unknown" if machine.local_disks is None else "no local disks"
    return [vcpus, memory, disks, _network(machine)]


def _network(machine: Machine) -> str:
    base, peak = machine.network_bytes_per_s, machine.network_peak_bytes_per_s
    if base is None:
        return "network unknown" if peak is None else f"network up to {format_link(peak)}"
    bursts = f" (bursts: {format_link(peak)})" if peak and peak > base * 1.01 else ""
    return f"{format_link(base)} network{bursts}"


def price_text(best: Candidate) -> str:
    """Return the hourly price of a node, with its volumes if these cost anything, and the on-demand price if spot is
    not below it.
    """
    whole = best.usd_per_hour / best.nodes
    volumes = f" ({format_usd(whole)} with its volumes)" if whole > 1.005 * best.price_usd_per_hour else ""
    spot = "" if best.pricing == "on-demand" else f" {best.pricing}"
    full = next((warning for warning in best.warnings if warning.startswith(DEAR_SPOT)), "")
    dear = f" (on demand {full.removeprefix(DEAR_SPOT).split()[0]})" if full else ""
    if best.is_free:
        return "no rent"
    return f"{format_usd(best.price_usd_per_hour)}{spot}{dear} an hour{volumes}"


def price_origin(best: Candidate) -> str:
    """Return the origin of a node's price, in parentheses: the list and its day, the user, an assumption; '' if
    unknown.
    """
    own = next((warning for warning in best.warnings if warning.startswith(OWN_PRICE)), "")
    if best.is_free:
        return ""
    if own:
        return f" (price: {re.split('[(;]', own.removeprefix(OWN_PRICE))[0].strip()})"
    return f"{_LISTED}{best.price_as_of})" if best.price_as_of else ""


def old_price_text(best: Candidate, warning: str) -> str:
    """Return a warning of old prices in short if a node's price is one of them: its age and the command that renews it;
    '' for another warning.
    """
    kind = "spot prices" if best.pricing == "spot" else "prices"
    listed = rf"{kind} of {re.escape(best.cloud)}(?: in {re.escape(best.region)})?"
    old = re.match(rf"{listed}(?: are|:) .*?(\d+) days(?:.*; (.*) renews them)?", warning)
    if old is None or not price_origin(best).startswith(_LISTED):
        return ""
    return f"Prices: {old[1]} days old" + (f"; {old[2]} renews them." if old[2] else ".")


def range_text(plan: Plan, best: Candidate) -> str:
    """Return the time of the sort, and the time that 95 of 100 runs stay within."""
    most = ", the most within what is asked," if plan.beyond else ""
    limit = plan.request.sort_deadline_s
    time = format_duration(best.time_s.expected) + (f" (deadline: {format_duration(limit)})" if limit else "")
    cost = "" if best.is_free else f" and cost at most {format_usd(best.cost_usd.total_p95)}"
    at_most = f"{format_duration(best.time_s.p95)}{cost}"
    return f"The sort of {size_text(plan.request)}{most} takes {time}; 95 of 100 runs sort within {at_most}."


def durability_text(best: Candidate) -> str:
    """Return what the model keeps of a result when something is lost."""
    return f"{best.model}: {best.durability}." if best.durability else f"Model: {best.model}."


def deadline_text(plan: Plan, *, alone: bool = False) -> str:
    """Return the probability of meeting the deadline, and what raises it; '' without a deadline. The deadline is named
    before, unless the sentence stands `alone`.
    """
    likely, other = plan.best.deadline_kept if plan.best else None, plan.higher_confidence
    if likely is None or plan.request.paper:
        return ""
    cluster = f"{other.nodes} x {other.instance_type}, {format_usd(other.cost_usd_total)}" if other else ""
    more = f", or 95 with {cluster} (--confidence 95%)" if cluster else ""
    named = "it" if plan.request.deadline_s and not alone else "the deadline"
    return f"{100 * min(likely, _SURE):.0f} of 100 runs keep {named}{more}."


def assumed_text(plan: Plan, stored: Candidate | None) -> str:
    """Return the assumption that data is made on the nodes and the result left there, and what the same cluster takes
    with both in an object store, if known; '' if the request gives either place. A model whose data is in a store
    assumes that the nodes write it there first, which takes longer.
    """
    request, best = plan.request, plan.best
    if best is None or request.input or request.output or request.paper:
        return ""
    is_there, store = best.model == "object-store", _STORES.get(best.cloud, "the object store")
    text = "Assumed: the nodes generate the data" + (f" into {store}" if is_there else " and keep the result")
    if stored is None:
        return f"{text}; --input and --output name an object store instead."
    late = " (past the deadline)" if request.deadline_s and stored.whole_run_s > request.deadline_s else ""
    in_store = f"{format_duration(stored.whole_run_s)}{late}, {total_text(stored)}"
    both = "If it is there already" if is_there else f"Both in {store}"
    return f"{text}. {both} (--input, --output): {in_store}."


def bottleneck_text(best: Candidate) -> str:
    """Return the resource whose doubling shortens the whole run most, and what each phase waits for."""
    waits = dict.fromkeys(phase_word(p.bottleneck) for p in best.phases if p.resources)
    by_phase = [f"{phase_word(phase.bottleneck)} ({phase.name})" for phase in best.phases if phase.resources]
    phases = ", then ".join(by_phase if len(waits) > 1 else waits)
    whole_s = best.whole_run_s
    if not best.bottleneck or not whole_s:
        return f"Bottleneck: {phases}."
    limit, saved_s = RESOURCE_WORDS[best.bottleneck], best.reliefs_s[best.bottleneck]
    more = "" if phases == limit else f" Phases wait for {phases}."
    return f"Bottleneck: {limit} (twice as fast: {format_duration(saved_s)} less, {saved_s / whole_s:.0%}).{more}"


def confidence_text(best: Candidate) -> str:
    """Return the evidence behind the deciding figures: rates, prices and shapes."""
    some = "the" if best.evidence == "measured" else "some"
    text = f"Confidence: {some} deciding figures are {DECIDING.get(best.evidence, best.evidence)}."
    computed = any(warning.startswith(COMPUTED_DISKS) for warning in best.warnings)
    return f"{text} Nobody measured its disks: their rates are computed." if computed else text


def profile_text(best: Candidate) -> str:
    """Return a note that the times come from a profile, and which run would confirm those of a type without runs; ''
    without one.
    """
    if not any(warning.startswith(TIMES_OF_PROFILE) for warning in best.warnings):
        return ""
    new = next((f" {warning}." for warning in best.warnings if NEVER_RAN in warning), "")
    return f"Times: the profile's; the bottleneck follows from the equations.{new}"


def break_even_text(best: Candidate) -> str:
    """Return how far a doubtful rate may fall before another type is better, and the cost of measuring it; '' if no
    known rate would overturn the recommendation.
    """
    turn = best.overturned_by
    if turn is None:
        return ""
    nodes = count_text(best.nodes, "node")
    many = turn.rate in ("local", "volumes")
    holds = f"{best.instance_type} stays the best choice while its {RESOURCE_WORDS[turn.rate]} at {nodes}"
    keeps = f"keep{'s' * (not many)} {turn.at_fraction:.0%} of what is planned; below it {turn.winner} is"
    if turn.at_fraction >= _ALL:
        keeps = f"{'are' if many else 'is'} as fast as planned; any slower, and {turn.winner} is"
    return f"{holds} {keeps}. Measuring costs about {format_usd(turn.measure_usd)}: {turn.command}"


def doubt_text(best: Candidate) -> str:
    """Return the rate at which another type is better, in brief; '' if no known rate would overturn the choice."""
    turn = best.overturned_by
    if turn is None:
        return ""
    speed = _SPEEDS.get(turn.rate, turn.rate)
    below = f"If the {speed} is any lower" if turn.at_fraction >= _ALL else None
    return f"{below or f'Below {turn.at_fraction:.0%} of the planned {speed}'}, {turn.winner} is better (--explain)."


def unmeasured_text(plan: Plan) -> str:
    """Return how many types are left out without a disk rate, and the command that measures one; '' if none are."""
    if not plan.unmeasured:
        return ""
    count = sum(of_cloud.types for of_cloud in plan.unmeasured)
    subject = "1 type" if count == 1 else f"{count:,} types"
    rented = any("bench fleet" in of_cloud.measure for of_cloud in plan.unmeasured)
    return f"Left out: {subject} of unknown disk rate; planner bench {'fleet' if rented else 'disk'} measures it."


def energy_text(best: Candidate) -> str:
    """Return the energy of a cluster's sort, '' where the power of its nodes is unknown."""
    if best.energy_j is None:
        return ""
    basis = (
        " by assumed power of the processors" if any(text.startswith(ASSUMED_POWER) for text in best.warnings) else ""
    )
    return f"Energy of the sort: {best.energy_j / 3.6e6:.4g} kWh{basis}."


def plain_warning(warning: str) -> str:
    """Return a warning without field terms that new readers cannot know: 'driver', 'cpu', 'cloud truth'."""
    warning = re.sub(r"^cloud truth (\d of \d):", r"\1 demands on a measurement are met:", warning)
    return re.sub(r"^(driver|cpu):", lambda resource: f"{phase_word(resource[1])}:", warning)

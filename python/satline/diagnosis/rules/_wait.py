"""What the rules for paging and I/O share: the size of a wait at saturation, caps, and the devices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from satline.diagnosis._results import Evidence
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._live import inside, times_of

LARGE_SHARE = 0.3
LARGE_PROCESSORS = 0.25


@dataclass(frozen=True)
class Wait:
    """A wait at saturation: its part of users' transaction time (of their time in queue where admission holds
    them back), or of the processors where that was not recorded.

    low
        Lower 95 % bound.
    large
        Surely large enough to be a bottleneck.
    """

    value: float
    low: float
    of: str
    large: bool
    evidence: Evidence

    def surely(self, least: float) -> bool:
        """Is it at least so large, and surely more than half of that?"""
        return self.value >= least and self.low > least / 2

    def evidence_that(self, threshold: str, supports: bool) -> Evidence:
        """The wait as a fact held against another threshold."""
        return replace(self.evidence, threshold=threshold, supports=supports)


def as_cause(part: float, more: float) -> float:
    """Strength of a finding that causes such a wait: a little above that of its effect, however large.

    1 − (1 − part)(1 − more): two causes of a wait of nearly 1 keep their order.
    """
    return 1 - (1 - min(1.0, part)) * (1 - more)


# Who waits to be admitted for such a part of transaction time is held back, however few are eligible at once.
HELD_SHARE = 0.1


@dataclass(frozen=True)
class Held:
    """Are users held back by admission at saturation: by how many are eligible, or by the part of transaction
    time in which they are; `words` say why not."""

    holds: bool
    words: str
    evidence: tuple[Evidence, ...]


def held_back(context: Context) -> Held | None:
    """Does admission hold users back: is the eligible set surely not empty, or are users surely eligible for
    a tenth of their transaction time? ``None``: eligible users were not recorded."""
    eligible, share = context.high("user_eligible"), context.share("user_eligible")
    if eligible is None:
        return None
    many = eligible.value >= 1 and eligible.low > 0
    long = share is not None and share.value >= HELD_SHARE and share.low > HELD_SHARE / 2
    facts = [context.evidence("user_eligible", "at least 1, and surely above 0", many)]
    words = f"admission holds back only {eligible.value:.2g} users at a time"
    if share is not None:
        threshold = f"at least {HELD_SHARE:g} of transaction time"
        facts.append(context.evidence("share_eligible", threshold, long, value=share))
        words += f", for {share.value:.0%} of transaction time"
    return Held(many or long, words, tuple(facts))


def wait_at_saturation(context: Context, user_part: str, processor_part: str) -> Wait | None:
    """Users' wait, or idle processors with such a wait outstanding; ``None`` when neither was recorded.

    On a live host, without transactions, by each user's own time.
    """
    own = _by_user(context, user_part)
    if own is not None:
        return own
    share = context.inside(user_part)
    if share is not None:
        of = context.whole
        large = share.value >= LARGE_SHARE and share.low > LARGE_SHARE / 2
        name = user_part.replace("user_", "share_")
        fact = context.evidence(name, f"at least {LARGE_SHARE:g} of {of}", large, value=share)
        return Wait(min(1.0, share.value), share.low, of, large, fact)
    wait, processors = context.high(processor_part), context.high("capacity_processors")
    if wait is None or processors is None or not processors.value > 0:
        return None
    part = wait.value / processors.value
    large = part >= LARGE_PROCESSORS and wait.low / processors.value > LARGE_PROCESSORS / 2
    fact = context.evidence(processor_part, f"at least {LARGE_PROCESSORS:g} of capacity", large)
    return Wait(min(1.0, part), wait.low / processors.value, "processor time", large, fact)


def _by_user(context: Context, user_part: str) -> Wait | None:
    """The wait as a part of the time that single users ran or waited; ``None`` with transactions, or where
    users' own waits were not recorded."""
    if context.basis != "periods" or context.high("users_in_transaction") is not None:
        return None
    times = times_of(context, inside(context, context.top))
    share = {} if times is None else {"user_page_wait": times.page, "user_io_wait": times.io}
    if user_part not in share:
        return None
    part, of = share[user_part], "the time that users ran or waited"
    large = part.value >= LARGE_SHARE and part.low > LARGE_SHARE / 2
    name = user_part.replace("user_", "share_")
    fact = context.evidence(name, f"at least {LARGE_SHARE:g} of {of}", large, value=part)
    return Wait(min(1.0, part.value), part.low, of, large, fact)


LONGER = 1.5


def room_for_more(context: Context, user_part: str, rate: str) -> Evidence | None:
    """Does such a wait take no longer than at light load while admission holds users back? ``None``: no, or
    it cannot be seen.

    Then nobody queues for the devices: more users at once would fill the wait, more devices would not.
    """
    held = held_back(context)
    if held is None or not held.holds:
        return None
    known = [
        (wait.value / count.value)
        for classes in (context.bottom, context.top)
        if (wait := context.mean(user_part, classes)) is not None
        and (count := context.mean(rate, classes)) is not None
        and count.value > 0
    ]
    if len(known) < 2 or not known[0] > 0 or known[1] >= LONGER * known[0]:
        return None
    text = f"at {user_part}: {known[1] * 1000:.3g} ms each, {known[0] * 1000:.3g} ms at light load"
    return context.evidence(rate, text, False)


def device_evidence(context: Context, limit: int = 3) -> list[Evidence]:
    """The busiest devices at saturation: busy, queue, response."""
    prefix = "device_busy:"
    busy = {
        name.removeprefix(prefix): m.value
        for name in context.reduction.curves
        if name.startswith(prefix) and (m := context.high(name)) is not None
    }
    facts = []
    for device in sorted(busy, key=lambda d: -busy[d])[:limit]:
        if busy[device] < 0.01:
            continue
        facts.append(context.evidence(prefix + device, "near 1: the device is full", busy[device] > 0.8))
        if context.high(f"device_response:{device}") is not None:
            facts.append(context.evidence(f"device_response:{device}", "time of one request", True))
    return facts


def cap_note(context: Context, evidence: list[Evidence]) -> tuple[tuple[str, ...], str]:
    """Is it a cap on the load's reads that makes them wait? Its remedy, and words for the summary."""
    used = context.high("load_read_cap_fraction")
    rate = context.high("load_read_rate")
    stated = context.limits.get("read_iops")
    if used is None and rate is not None and stated:
        fraction = rate.value / stated
        reached = fraction >= 0.8
        evidence.append(
            context.evidence("load_read_rate", f"near the stated cap of {stated:g} per second", reached)
        )
    elif used is not None:
        fraction = used.value
        reached = fraction >= 0.8
        evidence.append(
            context.evidence("load_read_cap_fraction", "at least 0.8: the cap is reached", reached)
        )
    else:
        return (), ""
    if not reached:
        return (), ""
    remedy = (
        "Raise the load's cap on reads (io.max riops and rbps; blkio.throttle.read_iops_device): "
        "the cap is reached"
    )
    device = context.high("busiest_device")
    idle = device is not None and device.value < 0.5
    remedy += ", and the device beneath could do more." if idle else "."
    return (remedy,), f"; the load's reads are at {fraction:.0%} of their cap" + (
        ", while the device itself is mostly idle" if idle else ""
    )

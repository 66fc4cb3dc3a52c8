"""The answer in a sentence: what is known, how surely, and with what reservation; and the next step."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from satline.diagnosis._left import place_words
from satline.diagnosis._load import load_units
from satline.diagnosis._results import Carried, Finding, Likely, ResourceUse, Saturation, Standing, Together
from satline.diagnosis._words import bounds_words, needs_words, percent, span_words, two_digits
from satline.diagnosis.rules._worth import undecided

# The rule to speak of for a component that was short, when no rule of it holds.
COMPONENTS: Mapping[str, str] = {
    "processor": "CPU bound",
    "one processor": "one CPU is the bottleneck",
    "io": "I/O bound",
    "storage": "memory short",
    "paging": "paging bound",
    "quota": "quota bound",
    "server": "one thread is the bottleneck",
    "lock": "lock bound",
    "network": "network bound",
    "gpu": "GPU bound",
}
# Components of findings that speak of the same shortage as a component of the standing.
SAME: Mapping[str, tuple[str, ...]] = {
    "processor": ("processor", "supervisor"),
    "one processor": ("server",),
    "io": ("io", "paging and io", "cache"),
    "storage": ("storage", "paging", "paging and io"),
    "quota": ("quota",),
    "server": ("server",),
    "lock": ("lock",),
    "admission": ("admission",),
}
SURE_WORDS = ((0.95, "nearly certain"), (0.8, "very likely"), (0.6, "likely"), (0.35, "possible"))
MOST_NAMED, LEAST_NAMED = 3, 0.2
MOST_KNOWN = 4
REMEDY_FIRST = (
    "Take the first remedy of the first finding; then compare a recording of before with one of after"
    " (satline compare)."
)


def headline(
    verdict: Saturation,
    holding: tuple[Finding, ...],
    standing: Standing | None = None,
    reservation: str = "",
    together: Together | None = None,
) -> str:
    """The answer in one sentence: the verdict or what is known instead, what limits or would limit it, which
    upgrades are worth more together, and the reservation under which that is said."""
    text = _answer(verdict, holding, standing)
    if together is not None and verdict.outcome == "saturated":
        text += f"; {together_words(together)}"
    return f"{text}; but {reservation}" if reservation else text


def _answer(verdict: Saturation, holding: tuple[Finding, ...], standing: Standing | None) -> str:
    named = [f for f in holding if f.component != "none"]
    if verdict.outcome == "saturated" and verdict.at is not None:
        return _saturated(verdict, named, standing)
    if verdict.outcome == "nongranular":
        start = "One or a few batch users are the load: saturation by the number of users has no meaning here"
        return start + (f"; what limits it: {named[0].title} ({named[0].summary})" if named else "")
    if verdict.outcome == "not-saturated":
        units = load_units(verdict.load_axis)[1]
        start = f"Not saturated in the range seen, up to {verdict.range_high:.3g} {units}"
        if standing is None or standing.state == "unknown":
            return start
        if standing.state == "room":
            return f"{start}; {room_words(standing)}"
        return f"{start}, though {_short_words(standing, named)}"
    return _partly(verdict, named, standing)


def chance_words(chance: float) -> str:
    """A chance in words, with the number: "likely (0.7)"."""
    word = next((word for least, word in SURE_WORDS if chance >= least), "unlikely")
    return f"{word} ({chance:.2f})"


def together_words(both: Together) -> str:
    """What two upgrades bring together, and alone."""
    one, other = both.alone
    start = "both are needed" if both.how == "only together" else "two add up"
    return (
        f"{start}: {both.words[0]} ({one:+.0%} alone) with {both.words[1]} ({other:+.0%} alone) would bring"
        f" about {both.gain:+.0%} ± {both.error:.0%}"
    )


def _named(finding: Finding) -> str:
    """What a finding is called, with the chance that its remedy serves where a model tells it."""
    if finding.gain is None or finding.chance is None:
        return finding.title
    return f"{finding.title} ({finding.chance:.2f})"


def _saturated(verdict: Saturation, named: list[Finding], standing: Standing | None) -> str:
    text = _cause_of(verdict, named, standing)
    return f"{text}; overloaded beyond it: throughput falls" if verdict.retrograde is not None else text


def _cause_of(verdict: Saturation, named: list[Finding], standing: Standing | None) -> str:
    """Where it saturates, and what holds it back."""
    at = verdict.at
    assert at is not None
    units = load_units(verdict.load_axis)[1]
    start = f"Saturates at {place_words(verdict, units)}"
    if not named:
        if standing is not None and standing.likely:
            return f"{start}; by what was full: {likeliest(standing.likely)}"
        return f"{start}; what holds it back is not among what was recorded"
    alike = undecided(named)
    if alike:
        titles = " or ".join(dict.fromkeys(_named(f) for f in alike))
        return (
            f"{start}; which of these holds it back most cannot be told: {titles}, each with the chance that"
            " its remedy serves"
        )
    chance = named[0].chance if named[0].gain is not None else None
    sure = "" if chance is None else f", {chance_words(chance)}"
    first = f"{start}: {named[0].title}{sure} ({named[0].summary})"
    rivals = [_named(f) for f in named[1:] if f.strength >= 0.75 * named[0].strength]
    return first + (f"; also {' and '.join(rivals)}" if rivals else "")


def _partly(verdict: Saturation, named: list[Finding], standing: Standing | None) -> str:
    """What is known where the curve alone does not tell."""
    curve = _curve_words(verdict)
    if standing is None or standing.state == "unknown":
        if curve:
            return _capital(curve)
        if standing is not None and standing.carried:
            return _bounds(standing.carried)
        text = "Nothing that was recorded tells how full anything was: no CPU, disk or memory use is in it"
        known = standing.known[:MOST_KNOWN] if standing is not None else ()
        return text + (f"; known on average: {', '.join(known)}" if known else "")
    if standing.state == "room":
        what = f"Not saturated by anything that was recorded: {room_words(standing)}"
        if standing.headroom is None or standing.headroom.value <= 1:
            what = f"Nothing that was recorded was short: {room_words(standing)}"
    else:
        what = _capital(_short_words(standing, named))
    return what + (f"; {curve}" if curve else "")


def _bounds(rows: Sequence[Carried]) -> str:
    """What is known where no use is: bounds, else how many there were."""
    words = bounds_words(rows)
    if all(row.kind == "level" for row in rows):
        return f"How full anything was cannot be told; known: {words}"
    text = f"How full anything was cannot be told, but bounds can: {words}"
    if any(row.kind == "carried" and row.extreme > 0 for row in rows):
        text += "; how much more could be carried is not known"
    return text


def _curve_words(verdict: Saturation) -> str:
    """What throughput against load tells; empty: nothing."""
    units = load_units(verdict.load_axis)[1]
    # Two systems taken for one: neither's bend is that of the whole.
    if len(verdict.regimes) == 2 and not any(part.at is not None for part in verdict.regimes):
        return ""
    if len(verdict.regimes) == 2:
        before, after = (_regime(part, units) for part in verdict.regimes)
        reason = verdict.reasons[0].partition(": from then on")[0]
        return f"{reason}; before, {before}; after, {after}"
    if verdict.flat is not None:
        span = f"{verdict.range_low:.3g} to {verdict.range_high:.3g} {units}"
        return f"throughput is much the same at every load, {span}"
    bend, chance = verdict.bend, verdict.chance
    if bend is None or chance is None:
        return ""
    if chance >= 0.5:
        low = two_digits(bend.low)
        interval = f"{low}, {two_digits(bend.high)}" if math.isfinite(bend.high) else f"{low} or more"
        place = f"{two_digits(bend.value)} {units} [{interval}]"
        falls = verdict.slope_after is not None and verdict.slope_after.high < 0
        what = "rises to its greatest" if falls else "bends"
        beyond = ", and falls beyond" if falls else ""
        return f"throughput {what} near {place}{beyond}: {chance_words(chance)}"
    if verdict.carries is not None and verdict.range_high is not None and verdict.carries > 0:
        if chance <= 0.2:
            return f"throughput rises with the load up to {two_digits(verdict.range_high)} {units}"
        return f"throughput rises up to {two_digits(verdict.carries)} {units} at least"
    return ""


def _regime(part: Saturation, units: str) -> str:
    place = part.at or part.bend
    if part.outcome == "not-saturated":
        return f"not saturated up to {part.range_high:.3g} {units}"
    if place is None or (part.at is None and (part.chance or 0.0) < 0.5):
        return "no bend is known"
    high = f"{place.high:.3g}" if math.isfinite(place.high) else "∞"
    how = "saturates at" if part.at is not None else "bends near"
    return f"it {how} {place.value:.3g} {units} [{place.low:.3g}, {high}]"


def room_words(standing: Standing) -> str:
    """How full the fullest resources were, and what room that leaves."""
    parts = _fullest(standing.uses)
    text = ", ".join(parts) if parts else "no use was recorded"
    room = standing.headroom
    if room is not None and room.value > 1:
        text += f"; headroom {factor(room.value)}"
    elif room is not None:
        text += "; no headroom at busy times"
    return text + f" ({seen_words(standing)})"


def factor(value: float) -> str:
    """A headroom in a sentence: "at least 1.4 ×", "more than 100 ×"."""
    return "more than 100 ×" if value > 100 else f"at least {times(value)}"


def times(value: float) -> str:
    """A headroom to two digits, rounded down."""
    step = 0.1 if value < 10 else 1.0
    return f"{two_digits(math.floor(value / step + 1e-9) * step)} ×"


def _fullest(uses: tuple[ResourceUse, ...]) -> list[str]:
    """The CPU, the busiest disk and memory, as "CPU ≤ 4.4 %" by what it exceeds in 5 % of the time."""
    known = [use for use in uses if use.high95 is not None]
    chosen: list[ResourceUse] = []
    for kind in ("CPU", "disk", "memory", "CPU quota", "interface", "GPU", "GPU memory"):
        own = [u for u in known if _is_of(u, kind)]
        if own:
            chosen.append(max(own, key=lambda u: u.high95 or 0.0))
    return [
        f"{_name(use)} {'≥' if use.lower_bound else '≤'} {percent(use.high95 or 0.0)}"
        for use in dict.fromkeys(chosen)
    ]


def _is_of(use: ResourceUse, kind: str) -> bool:
    if kind == "GPU" and use.resource.startswith("GPU memory "):
        return False
    return use.resource == kind or use.resource.startswith(f"{kind} ")


def _name(use: ResourceUse) -> str:
    name = resource_words(use.resource)
    if use.resource.startswith("interface "):
        return f"busiest {name}"
    return f"busiest disk {name.removeprefix('disk ')}" if use.resource.startswith("disk ") else name


def resource_words(name: str) -> str:
    """A resource's name, without "disk" twice where the device is called disk102."""
    return name.removeprefix("disk ") if re.match(r"disk h?disk\d", name) else name


def seen_words(standing: Standing) -> str:
    """Over what time the figures hold."""
    text = f"in 95 % of the time, over {span_words(standing.seconds)}"
    if standing.observations < 20:
        text = f"in {standing.observations} observation{'s' if standing.observations > 1 else ''}, over " + (
            span_words(standing.seconds)
        )
    if standing.seen < 0.95:
        text += f", {percent(standing.seen)} of the span"
    return text


def _short_words(standing: Standing, named: list[Finding]) -> str:
    """What was short, for how long, when, and the likely cause with its chance."""
    first = next((u for u in standing.uses if u.short > 0), None)
    what = standing.likely[0].resource if standing.likely else first.resource if first else "something"
    own = next((u for u in standing.uses if u.resource == what), first)
    part = own.short if own is not None else standing.short
    seconds = standing.seconds * (own.seen if own is not None else 1.0)
    text = f"{resource_words(what)} was short for {percent(part)} of {span_words(seconds)}"
    # The hours are those in which anything was short: said of a resource that was so for most of them.
    if standing.when and (own is None or (own.seen >= 0.95 and own.short >= 0.8 * standing.short)):
        text += f", {standing.when}"
    causes = standing.likely[:MOST_NAMED]
    # A rule whose component was hardly ever short is no cause to speak of first.
    named = [f for f in named if f.chance is None or f.chance >= LEAST_NAMED]
    if named:
        title, summary = named[0].title, named[0].summary
        chance = named[0].chance
        likely = f", {chance_words(chance)}" if chance is not None else ""
        text += f": {title}{likely} ({summary})"
        rivals = [
            f.title + ("" if f.chance is None else f", {chance_words(f.chance)}")
            for f in named[1:MOST_NAMED]
            if f.strength >= 0.75 * named[0].strength
        ]
        return text + (f"; also {' and '.join(rivals)}" if rivals else "")
    return text + (f": {likeliest(causes)}" if causes else "")


def likeliest(likely: tuple[Likely, ...]) -> str:
    """The likeliest causes with their chances."""
    parts = [
        f"{COMPONENTS.get(one.component, one.component)}, {chance_words(one.chance)}"
        for one in likely[:MOST_NAMED]
        if one.chance >= 0.1
    ]
    return " or ".join(parts) if parts else "the cause is not among what was recorded"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# What to do where a resource was short and waited for, but no rule says why; and what to record where nothing
# says whether anything waited.
_FIND: Mapping[str, str] = {
    "processor": "See which processes use the CPU when it is short (satline record; pidstat -u); move or"
    " limit them, or add CPUs.",
    "one processor": "See what keeps {what} busy (satline record; mpstat -P ALL, pidstat -u): one thread, or"
    " interrupts that should be spread.",
    "io": "See what reads and writes when {what} is full (satline record; pidstat -d); move or spread it.",
    "storage": "See whose memory grows (satline record; pidstat -r); limit it, or add memory.",
    "server": "See which thread is full (satline record; pidstat -t); run more of its kind, or split its"
    " work.",
}
_WAITS: Mapping[str, str] = {
    "processor": "Record whether tasks wait for the CPU: run queue and pressure (sar -q ALL;"
    " kernel.all.pressure in PCP; satline record).",
    "one processor": "Record which thread or interrupt keeps {what} busy (satline record; pidstat -t).",
    "io": "Record whether requests queue at {what}, and whose they are (sar -d on Linux; disk.dev.aveq in"
    " PCP; satline record as root).",
    "storage": "Record whether tasks wait for memory (sar -q ALL, sar -W; kernel.all.pressure in PCP;"
    " satline record).",
}
_WHO_WAITS = "Record who waits for what: `satline record --delay-accounting` as root."


def next_step(verdict: Saturation, standing: Standing, *, named: bool = True) -> str:
    """The one thing to record, or to do, next: by what is known and what is not.

    `named`: a finding names what holds the load back, so that its remedies can be pointed to.
    """
    have = {use.resource.partition(" ")[0] for use in standing.uses}
    disks = [use for use in standing.uses if use.resource.startswith("disk")]
    if standing.state == "unknown" and (needs := needs_words(standing.carried)):
        return f"Record {needs}; or record it all with satline record."
    if any(use.resource == "CPU" and use.upper_bound for use in standing.uses):
        return "Record CPU times: its load average bounds them alone (sar -u; kernel.all.cpu in PCP)."
    if "CPU" not in have:
        return "Record CPU times too (sar -u; kernel.all.cpu in PCP; satline record)."
    if any(use.resource == "CPU" and use.lower_bound for use in standing.uses):
        return (
            "Record all CPU times, not a part of them: user, system, idle (sar -u; kernel.all.cpu in PCP;"
            " satline record)."
        )
    if disks and all(use.mean is None for use in disks):
        return "Record how long the disks were busy (sar -d; disk.dev.avactive in PCP; satline record)."
    if standing.state in ("short", "short at times"):
        waited = any(use.waited is not None for use in standing.uses if use.short > 0)
        if waited and named:
            return REMEDY_FIRST
        first = standing.likely[0] if standing.likely else None
        words = (_FIND if waited else _WAITS).get(first.component, _WHO_WAITS) if first else _WHO_WAITS
        return words.format(what=resource_words(first.resource) if first else "")
    if verdict.outcome in ("saturated", "nongranular"):
        return REMEDY_FIRST
    if verdict.throughput_variable == "transaction_rate" and verdict.range_high is not None:
        return f"Step the load further, beyond {verdict.range_high:.3g} (satline study)."
    if verdict.range_high is None:
        return (
            "Record users, or requests with their response times, to know how many it carries"
            " (satline record; satline import of an access log)."
        )
    return "Record the busiest hours, or step the load with emulated users to find the knee (satline study)."

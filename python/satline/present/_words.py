"""Names of variables and loads in plain words, for the faces."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from satline.diagnosis import (
    Alarm,
    Estimate,
    Finding,
    HeldUp,
    Implausible,
    Outcome,
    Saturation,
    Standing,
    UslFit,
    WaitingUser,
    WaitPart,
    WaitShares,
    amount,
    chance_words,
    load_units,
    resource_words,
    span_words,
    times,
    two_digits,
)
from satline.present import _numbers
from satline.present._vocabulary import label
from satline.reduction import LoadClass

AXES = {
    "active_users": "active users",
    "users": "users logged on",
    "in_queue": "multiprogramming level, users",
    "mpl": "multiprogramming level, users",
    "run_queue": "tasks running or runnable",
    "sessions": "users logged on",
    "in_flight": "requests in flight",
    "in_system": "tasks running or waiting for processor or disk",
    "requests": "transactions per second",
    "load_average": "load average",
}

# Signals whose impossible values are named in one line.
MOST_NAMED = 3

GROUP_AXES = {"time": "time", "hour": "hour of the day", "user": "user", "device": "device", "lock": "lock"}

OUTCOMES: dict[Outcome, str] = {
    "not-saturated": "Not saturated in the range seen",
    "saturated": "Saturated",
    "partly-known": "Partly known",
    "nongranular": "Nongranular: a few batch users are the load",
}


def split(variable: str) -> tuple[str, str]:
    """A variable's name and the device or probe it is of: ``device_busy:sda`` → ``device_busy``, ``sda``."""
    base, _, member = variable.partition(":")
    return base, member


def variable_words(variable: str) -> str:
    """`variable` in plain words; of a name that is in no table, the name without its underscores and unit."""
    base, member = split(variable)
    plain = base.removesuffix("_us").removesuffix("_bytes").replace("_", " ")
    words = label(base) or plain
    return f"{words} of {member}" if member else words


def axis_words(load_axis: str) -> str:
    """The load axis in plain words."""
    return AXES.get(load_axis) or variable_words(load_axis)


def sentence(text: str) -> str:
    """`text` with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def load_words(load_class: LoadClass) -> str:
    """The range of a load class: ``5–6``, ``4`` where it is one load, or its own words."""
    if not set(load_class.label) <= set("0123456789-"):
        return load_class.label
    low, high = _numbers.number(load_class.low), _numbers.number(load_class.high)
    return low if low == high else f"{low}–{high}"


def outcome_words(outcome: Outcome) -> str:
    """The verdict in plain words."""
    return OUTCOMES.get(outcome, str(outcome))


def saturation_lines(saturation: Saturation) -> list[str]:
    """What is known of the saturation, one fact a line: where, in what range, how throughput went."""
    axis = axis_words(saturation.load_axis)
    lines = []
    if saturation.at is not None:
        at = saturation.at
        shown = _numbers.interval(at.value, at.low, at.high, "")
        lines.append(f"It saturates at {shown} {axis}; the interval is one of {_numbers.joined('95', '%')}.")
    if saturation.range_low is not None and saturation.range_high is not None:
        low, high = _numbers.number(saturation.range_low), _numbers.number(saturation.range_high)
        lines.append(f"Seen from {low} to {high} {axis}.")
    if saturation.throughput_variable and saturation.range_low is not None:
        of = saturation.throughput_variable
        words = variable_words(of)
        lines.append(f"Throughput is judged by: {words}.")
    saturated = saturation.at is not None
    one = load_units(saturation.load_axis)[0]
    light, heavy = ("below it", "above it") if saturated else ("at light load", "at the top of the range")
    # Of a curve of which nothing is known slopes tell nothing either.
    told = saturation.outcome != "partly-known" or saturation.bend is not None
    for words, estimate in (
        ("Throughput at saturation", saturation.throughput_at),
        (f"Gained by each further {one} {light}", saturation.slope_before),
        (f"Gained by each further {one} {heavy}", saturation.slope_after),
    ):
        if estimate is not None and told:
            shown = _numbers.interval(estimate.value, estimate.low, estimate.high, estimate.unit)
            lines.append(f"{words}: {shown}.")
    if saturation.at is None and saturation.bend is not None and (saturation.chance or 0.0) >= 0.35:
        bend = saturation.bend
        place = _numbers.interval(bend.value, bend.low, bend.high, "")
        words = chance_words(saturation.chance or 0.0)
        lines.append(f"Throughput bends near {place} {axis}: that it does is {words}.")
    elif saturation.at is None and saturation.carries is not None:
        carried = _numbers.number(saturation.carries)
        lines.append(f"Throughput surely rises with the load up to {carried} {axis}.")
    if saturation.retrograde is not None:
        lines.append(f"Beyond it throughput surely falls: {_estimate(saturation.retrograde)}.")
    if saturation.peak is not None:
        lines.append(f"Throughput is greatest at {_estimate(saturation.peak)}.")
    return lines + (_usl_lines(saturation.usl) if saturation.usl is not None else [])


def _estimate(estimate: Estimate) -> str:
    return _numbers.interval(estimate.value, estimate.low, estimate.high, estimate.unit)


def _usl_lines(usl: UslFit) -> list[str]:
    """The universal scalability law in plain words."""
    better = "better" if usl.better_than_broken_line else "no better"
    lines = [
        "The universal scalability law fitted to the same loads: a user alone gets "
        f"{_estimate(usl.rate)}; contention σ = {_estimate(usl.contention)}, coherency κ = "
        f"{_estimate(usl.coherency)}. It describes the loads {better} than the broken line."
    ]
    if usl.peak is not None:
        claim = "" if usl.peak_in_range else ", beyond the loads seen: extrapolated, and not claimed"
        lines.append(f"Its greatest throughput lies at {_estimate(usl.peak)}{claim}.")
    return lines


MOST_USES = 10


def use_rows(standing: Standing) -> list[list[str]]:
    """A heading row, then a row for each of the resources that were shortest or fullest.

    Mean use, its 95th percentile and maximum in percent, the percentage of the time in which it was short.
    """
    rows = [["resource", "mean %", "p95 %", "most %", "short %", "headroom"]]
    for use in standing.uses[:MOST_USES]:
        if use.mean is None:
            rows.append([resource_words(use.resource), "–", "–", "–", _percent(use.short), "–"])
            continue
        bound = "≥ " if use.lower_bound else "≤ " if use.upper_bound else ""
        room = "–" if use.headroom is None else _factor(use.headroom)
        figures = [bound + _percent(x) for x in (use.mean.value, use.high95 or 0.0, use.most or 0.0)]
        rows.append([resource_words(use.resource), *figures, _percent(use.short), room])
    return rows


def use_notes(standing: Standing) -> list[str]:
    """What the rows rest on, and how many are not shown."""
    notes = [
        f"Over {span_words(standing.seconds)} in {standing.observations:,} observations"
        + ("" if standing.seen > 0.95 else f", {_percent(standing.seen)} % of the time from first to last")
        + "."
    ]
    partly: dict[str, list[str]] = {}
    for use in standing.uses[:MOST_USES]:
        if use.seen < 0.95 and use.mean is not None:
            shown = f"{_percent(use.seen)} % of it ({span_words(use.seen * standing.seconds)})"
            partly.setdefault(shown, []).append(resource_words(use.resource))
    for shown, names in partly.items():
        notes.append(f"Recorded only in {shown}, and judged by that: {', '.join(names)}.")
    if standing.when:
        notes.append(f"Short {standing.when}.")
    if len(standing.uses) > MOST_USES:
        notes.append(f"{len(standing.uses) - MOST_USES} more resources were less full (--json lists them).")
    return notes


MOST_BOUNDS = 8


def bound_rows(standing: Standing) -> list[list[str]]:
    """A heading row, then a row for each of the bounds that tell most.

    Mean, what held in 95 % of the time (of a rate at most so much, of what is free at least), and the
    greatest, of what is free the least; the part of the greatest that 95 % of the time asked for.
    """
    rows = [["bound", "of", "mean", "95 % of time", "extreme", "of that %"]]
    for row in standing.carried[:MOST_BOUNDS]:
        sign = "≥ " if row.kind in ("carried", "free") else "≤ " if row.kind == "at most" else ""
        figures = [amount(x, row.unit if row.unit.startswith("bytes") else "") for x in (row.mean, row.usual)]
        shown = amount(row.extreme, row.unit if row.unit.startswith("bytes") else "")
        part = "–" if row.relative is None else _percent(row.relative)
        what = row.what if row.unit.startswith("bytes") else row.unit
        if row.kind in ("free", "at most"):
            what = f"{row.unit} {row.what}" if not row.unit.startswith("bytes") else row.what
            figures[1] = sign + figures[1]
        elif row.kind == "carried":
            shown = sign + shown
        elif row.kind == "at least":
            figures, shown = [f"≥ {x}" for x in figures], f"≥ {shown}"
        rows.append([resource_words(row.resource), what, *figures, shown, part])
    return rows


def bound_notes(standing: Standing) -> list[str]:
    """What the bounds mean, and how many are not shown."""
    notes = []
    if any(row.kind == "carried" for row in standing.carried):
        notes.append(
            "A rate is no utilisation: what was carried over an observation bounds the capacity from below;"
            " how much more could be carried is not known."
        )
    left = len(standing.carried) - MOST_BOUNDS
    if left > 0:
        notes.append(f"{left} more bounds are not shown (--json lists them).")
    return notes


def _percent(part: float) -> str:
    """A part of one in percent, to two digits; what is not nothing is not shown as 0."""
    return "< 0.01" if 0 < part < 1e-4 else two_digits(100 * part)


def _factor(value: float) -> str:
    return "none" if value <= 1 else "> 100 ×" if value > 100 else times(value)


def sure_words(finding: Finding) -> str:
    """How sure a finding is: by its chance where one is known, else by the strength of its signs; where a
    model weighed it, both, each with what it is."""
    if finding.chance is not None and finding.signs is not None:
        served = f"its remedy serves: {chance_words(finding.chance)}"
        if finding.signs <= 0:
            return f"{served}; its signs alone: too weak to hold"
        return f"{served}; its signs: {_numbers.strength_words(finding.signs)}"
    if finding.chance is not None and finding.gain is None and finding.component != "none":
        return chance_words(finding.chance)
    return _numbers.strength_words(finding.strength)


WAIT_PARTS = {
    "run": "running",
    "cpu_wait": "waiting for a processor",
    "page_wait": "waiting for pages",
    "io_wait": "waiting for I/O",
    "throttled": "held back by the quota",
    "eligible": "waiting to be admitted",
    "lock_wait": "waiting for locks",
    "other": "waiting for another process",
}


def wait_rows(waits: Sequence[WaitShares], axis: str) -> list[list[str]]:
    """A heading row, then a row for each load class: what part of the users' time went where, in percent.

    A part that no class has is left out.
    """
    seen = [part for part in WAIT_PARTS if any(_share(w, part) for w in waits)]
    rows = [[axis, *(f"{WAIT_PARTS[part]}, %" for part in seen)]]
    for one in waits:
        low, high = _numbers.number(one.load_low), _numbers.number(one.load_high)
        cells = [low if low == high else f"{low}–{high}"]
        for part in seen:
            found = _share(one, part)
            error = None if found is None or found.error is None else 100 * found.error
            cells.append("–" if found is None else _numbers.quantity(100 * (found.share or 0.0), "", error))
        rows.append(cells)
    return rows


_PROBES = {
    "trivial": "a trivial command",
    "compute": "computing",
    "io": "I/O",
    "paging": "touching memory",
    "mixed": "the mixed probe",
}


def alarm_lines(alarms: Sequence[Alarm], most: int | None = None) -> list[str]:
    """When probes were slow, a line each; with `most`, the longest ones, and how many more there were."""
    shown = sorted(alarms, key=lambda one: one.begins_s - one.ends_s)[:most]
    lines = [_alarm(one) for one in sorted(shown, key=lambda one: (one.begins_s, one.probe))]
    if len(alarms) > len(shown):
        lines.append(f"and {len(alarms) - len(shown)} shorter ones")
    return lines


def _alarm(one: Alarm) -> str:
    took, slowest, usual = (
        _numbers.quantity(us / 1e6, "s") for us in (one.took_us, one.slowest_us, one.usual_us)
    )
    line = f"{_PROBES.get(one.probe, one.probe)} took {took} (slowest {slowest}), usually {usual}"
    length = one.ends_s - one.begins_s
    lasted = f"{length / 60:.0f} min" if length >= 120 else f"{length:.0f} s"
    if one.clock:
        line = f"{datetime.fromtimestamp(one.begins_s, UTC):%Y-%m-%d %H:%M:%S} UTC, for {lasted}: {line}"
    else:
        line = f"{one.begins_s:.0f} s after the start, for {lasted}: {line}"
    if one.processors_full >= 0.5 and one.probe not in ("trivial", "compute"):
        line += "; the processors were full meanwhile, which alone delays it"
    return line


def implausible_line(left_out: Sequence[Implausible]) -> str:
    """All that was left out as impossible, in a line; the signals left out most often are named."""
    named = [_left_out(one) for one in left_out[:MOST_NAMED]]
    more = len(left_out) - len(named)
    return ", ".join(named) + (f" and values of {more} other signal{'s' * (more > 1)}" if more else "")


def implausible_lines(left_out: Sequence[Implausible]) -> list[str]:
    """What was left out of each signal, how much, and why it cannot be."""
    lines = []
    for one in left_out:
        sizes = [
            f"{words} {_numbers.quantity(seconds, 's')}"
            for words, seconds in (("the largest", one.largest_s), ("in all", one.sum_s))
            if seconds is not None
        ]
        lines.append(", ".join([_left_out(one), *sizes]) + (f": {one.reason}" if one.reason else ""))
    return lines


def _left_out(one: Implausible) -> str:
    count = "values" if one.count is None else f"{one.count:,} value{'s' * (one.count != 1)}"
    return f"{count} of {one.signal}"


def _share(wait: WaitShares, part: str) -> WaitPart | None:
    return next((p for p in wait.parts if p.part == part and p.share is not None), None)


def wait_notes(waits: Sequence[WaitShares]) -> list[str]:
    """Of what the parts are, how they were measured, and who waited most at the greatest load."""
    if not waits:
        return []
    notes = [f"Parts of the users' {' and '.join(dict.fromkeys(w.of for w in waits))}."]
    methods: dict[str, list[str]] = {}
    for part in waits[-1].parts:
        if part.share is not None:
            methods.setdefault(part.method, []).append(WAIT_PARTS.get(part.part, part.part))
    notes += [f"From {method}: {', '.join(words)}." for method, words in methods.items()]
    if waits[-1].users:
        notes.append(f"Waited most at the greatest load: {'; '.join(map(_waiting_user, waits[-1].users))}.")
    notes += [f"At the greatest load {_held_up(one)}." for one in waits[-1].held_up]
    return notes


_CAUSES = {
    "file_lock": "locks on files",
    "mutex": "locks between threads",
    "local": "answers within the host",
}


def _held_up(one: HeldUp) -> str:
    shown, more = one.users[:MOST_NAMED], len(one.users) - MOST_NAMED
    names = f"user{'s' * (len(one.users) > 1)} {', '.join(shown)}" + (f" and {more} more" if more > 0 else "")
    text = f"{names} waited for {_CAUSES.get(one.cause, one.cause)} {100 * one.share:.0f} % of the time"
    held = [
        f"{who} {100 * part:.0f} %"
        for who, part in list(zip(one.holders, one.parts, strict=True))[:MOST_NAMED]
    ]
    if one.cause == "local":
        return f"{text}, of {one.holders[0]}"
    return f"{text}, held by {', '.join(held)}" if held else text


def _waiting_user(user: WaitingUser) -> str:
    parts = (
        ("running", user.run),
        ("for a processor", user.cpu_wait),
        ("for blocks", user.block_wait),
        ("to be admitted", user.eligible),
    )
    shown = [f"{words} {_numbers.number(100 * value)} %" for words, value in parts if value is not None]
    return f"{user.user} ({', '.join(shown)})"

"""Comparison: did a change help? Two periods at equal load, with intervals that respect time [TB84]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from satline.comparison import _observations as observations
from satline.comparison._changes import confounded, find_changes
from satline.comparison._held import Blocks, hold, placebo
from satline.comparison._hours import by_hour
from satline.comparison._matched import common, level, make_means, slopes
from satline.comparison._observations import Readings, read
from satline.comparison._periods import Observed, common_throughput, observed, period
from satline.comparison._results import (
    AtEqual,
    BandPoint,
    Change,
    Comparison,
    CurvePoint,
    Estimate,
    Hours,
    Matched,
    MatchedClass,
    Period,
    TradeOff,
    Work,
)
from satline.comparison._sides import check_apart, find_recordings, moment_of
from satline.comparison._trade_off import trade_off
from satline.comparison._verdict import condition_of, judge, signed, weaknesses
from satline.comparison._work import per_unit
from satline.diagnosis import absent_users, load_units
from satline.errors import InputError
from satline.recording import Recording
from satline.reduction import Filters, variables

__all__ = [
    "AtEqual",
    "BandPoint",
    "Blocks",
    "Change",
    "Comparison",
    "CurvePoint",
    "Estimate",
    "Hours",
    "Matched",
    "MatchedClass",
    "Observed",
    "Options",
    "Period",
    "Readings",
    "TradeOff",
    "Work",
    "common",
    "compare",
    "find_recordings",
    "hold",
    "level",
    "make_means",
    "moment_of",
    "observed",
    "read",
    "slopes",
]

LEAST_OBSERVATIONS = 10
CLASS_OBSERVATIONS = 50
_AXIS_WORDS = {
    "users": "users",
    "active_users": "active users",
    "in_queue": "users in queue",
    "sessions": "users logged on",
    "problem_state": "processors in user mode",
}


@dataclass(frozen=True)
class Options:
    """How to compare.

    load_axis, measure
        ``None``: the best that all recordings have.
    throughput
        What the trade-off curve has as throughput; ``None``: problem state, where all have it.
    at_least
        Observations that a class must have on each side.
    """

    load_axis: str | None = None
    measure: str | None = None
    throughput: str | None = None
    filters: Filters | None = None
    at_least: int = CLASS_OBSERVATIONS


def compare(
    before: Sequence[Recording],
    after: Sequence[Recording],
    options: Options | None = None,
    *,
    at_s: float | None = None,
) -> Comparison:
    """Hold two periods against each other.

    Parameters
    ----------
    before, after
        Recordings of each side. With `at_s` there is no `after`: what `before` has is cut there.
    at_s
        Moment of the cut, seconds since 1970.

    Raises
    ------
    InputError
        A recording stands on both sides, lacks what is asked for, or has no observation on its side.
    """
    options = options or Options()
    check_apart([r.path for r in before], [r.path for r in after])
    first, second = ([_read(r, options) for r in side] for side in (before, after))
    every = first + second
    axis = options.load_axis or observations.common_axis(every, options.measure)
    axis = every[0].axis if options.load_axis else axis
    measure = options.measure or observations.common_measure(every, axis)
    observations.need(every, measure)
    throughput = options.throughput or common_throughput(every)
    if options.throughput:
        observations.need(every, throughput)
    zone = options.filters.timezone if options.filters else "UTC"
    sides = [first, second if at_s is None else first]
    seen = [observed(_in_time(side), axis, measure, throughput, zone) for side in sides]
    if at_s is not None:
        seen = [seen[0].part(seen[0].middle_s < at_s), seen[1].part(seen[1].middle_s >= at_s)]
        if not all(len(o.middle_s) for o in seen):
            raise InputError(
                f"{before[0].path}: all of its observations are on one side of the cut",
                hint="cut it within the recording: `satline info RECORDING` shows its times",
            )
    return _Work(options, axis, measure, throughput, zone, _in_time(sides[0]), _in_time(sides[1])).done(
        (seen[0], seen[1])
    )


def _read(recording: Recording, options: Options) -> Readings:
    found = observations.read(
        recording, options.load_axis, options.measure, options.filters, options.throughput
    )
    if len(found.seconds) < LEAST_OBSERVATIONS:
        raise InputError(
            f"{recording.path}: {len(found.seconds)} observations; {LEAST_OBSERVATIONS} are needed",
            hint="record for longer, or filter less",
        )
    return found


def _in_time(side: Sequence[Readings]) -> list[Readings]:
    return sorted(side, key=lambda r: float(r.middle_s.min()))


@dataclass(frozen=True)
class _Work:
    options: Options
    axis: str
    measure: str
    throughput: str
    zone: str
    first: Sequence[Readings]
    second: Sequence[Readings]

    def done(self, seen: tuple[Observed, Observed]) -> Comparison:
        """All parts of the answer."""
        blocks = Blocks.of(seen)
        held = hold(seen, self.axis, self.options.at_least, blocks)
        seen, sides, equal = held.seen, held.sides, held.matched
        periods = period(self.first, seen[0], sides[0]), period(self.second, seen[1], sides[1])
        load = _AXIS_WORDS.get(self.axis) or load_units(self.axis)[1]
        words = measure_words(self.measure)
        unit = self.first[0].entity_unit or unit_of(self.measure)
        drift = placebo(seen[0], self.axis, blocks)
        # A study's loads and a simulated machine's do not follow the clock.
        free = not any(r.windows or r.simulated for r in (*self.first, *self.second))
        condition = condition_of(seen) if free else ""
        outcome, headline = judge(words, unit, load, equal, periods, drift, condition)
        hourly = by_hour(sides, seen, blocks.days, self.zone)
        recordings = [[r.recording for r in side] for side in (self.first, self.second)]
        changes = find_changes(recordings[0], recordings[1], periods)
        notes = weaknesses(seen, periods, equal, hourly, blocks.days, changes, load)
        both = {str(r.path): r for side in recordings for r in side}
        notes += [
            f"recording {name} is damaged: what cannot be read is left out"
            for name, r in both.items()
            if r.damage
        ]
        notes += _unlike_names(both)
        absent = ((name, absent_users(r)) for name, r in both.items())
        notes += [f"recording {name}: {why}" for name, why in absent if why is not None]
        if drift is not None and drift.sure:
            notes.insert(
                0,
                f"the first half of before and its second half differ by {signed(drift.value)} at equal load"
                " without the change: days differ by more than the intervals presume",
            )
        curves, lacking = None, []
        if self.throughput:
            curves = trade_off(
                sides, held.cells, seen, self.throughput, unit_of(self.throughput), self.options.at_least
            )
        else:
            lacking.append("no trade-off curve: no throughput is in all recordings")
        if hourly is None:
            lacking.append("no hour-by-hour table: fewer than three hours of the day are on both sides")
        work = per_unit(
            sides, (seen[0].places(self.first), seen[1].places(self.second)), self.options.filters
        )
        if not any(w.what == "transaction" for w in work):
            lacking.append("no processor time per transaction: not in all recordings")
        return Comparison(
            outcome=outcome,
            headline=headline,
            measure=self.measure,
            measure_words=words,
            unit=unit,
            load_axis=self.axis,
            load_words=load,
            blocks=blocks.words,
            before=periods[0],
            after=periods[1],
            matched=equal,
            trade_off=curves,
            hours=hourly,
            work=tuple(work),
            changes=tuple(changes),
            confounded=confounded(changes),
            notes=tuple(notes),
            lacking=tuple(lacking),
            filters=self.first[0].filters,
        )


def _unlike_names(recordings: Mapping[str, Recording]) -> list[str]:
    """That one user has several names in these recordings, because of different keys."""
    keys: dict[object, str] = {}
    for name, recording in recordings.items():
        pseudonyms = recording.description.get("pseudonyms")
        keys.setdefault(pseudonyms.get("key") if isinstance(pseudonyms, dict) else None, name)
    if len(keys) < 2:
        return []
    first, second = list(keys.values())[:2]
    return [
        f"{first} and {second} name the same user differently, since names were replaced by different keys or"
        " in one of them only: users and commands are not matched between them; make copies with one key"
    ]


def unit_of(name: str) -> str:
    """Unit of a variable."""
    found = variables().find(name.partition(":")[0])
    return found.unit if found is not None else ""


def measure_words(name: str) -> str:
    """A measure in plain words."""
    variable, at, entity = name.partition("@")
    if at:
        return f"{measure_words(variable)} of {entity}"
    base, _, member = name.partition(":")
    known = {
        "response": "response",
        "reaction": "reaction time",
        "pressure_cpu": "time with a task waiting for a processor",
        "runnable_tasks": "the run queue",
        "load_average_1": "load average",
        "total_cpu": "processors busy",
        "thermometer": "thermometer",
    }
    words = known.get(base, base.replace("_", " "))
    return f"{words} {member}" if member else words

"""Is it saturated, and at what load [Bard].

Up to saturation throughput rises with the number of users; beyond it throughput is flat or falls. A broken
line is fitted to throughput against load; the verdict "saturated" needs the breakpoint's interval inside the
range seen with loads measured beyond it, a slope beyond it that is surely less than half of that before,
throughput that does not go on rising, and signs of waiting there. "Not saturated" needs as good evidence.
Both must hold without any one day, and throughput at equal loads must not have changed with time.
Everything else is "partly known": where throughput bends most likely, with the interval of the place; the
chance that it does; the load up to which it surely still rises; why no more is known, and what to record.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from satline.diagnosis import _users
from satline.diagnosis._bend import LEAST_RISE, SLOPE_RATIO, Bend
from satline.diagnosis._hinge import Floats, Levels, firm_levels
from satline.diagnosis._left import shared, told
from satline.diagnosis._load import contended, in_users, load_units, nongranular
from satline.diagnosis._results import Estimate, Outcome, Saturation, UslFit
from satline.diagnosis._series import Series, finer, independent, levels_of, time_of_day
from satline.diagnosis._throughput import mix_changes, useful_work, work_completed, work_kept
from satline.diagnosis._usl import fit_usl, peak_of, usl
from satline.reduction import Reduction

__all__ = ["Series", "judge", "saturation", "work_completed"]

# So many loads make a verdict; with so few a broken line can be fitted at all.
LEAST_LEVELS, FEWEST_LEVELS = 4, 3
LEAST_OBSERVATIONS = 20
LEAST_BLOCKS = 8
CREEP = 0.15
ROUNDER = 2.0
USL_REPLICATES = 200
# Part of the recording on each side of a change that belongs to neither.
UNSURE = 0.05
# Where something forbids a verdict, a chance is told no surer than this.
HEDGED = 0.75


@dataclass(frozen=True)
class _Verdict:
    """Makes a `Saturation` of what all outcomes have in common."""

    load_axis: str
    variable: str
    unit: str
    low: float | None = None
    high: float | None = None
    slope_before: Estimate | None = None
    slope_after: Estimate | None = None
    usl: UslFit | None = None
    bend: Estimate | None = None
    chance: float | None = None
    carries: float | None = None
    flat: Estimate | None = None

    def __call__(
        self,
        what: Outcome,
        reason: str,
        advice: str | None = None,
        *,
        at: Estimate | None = None,
        throughput_at: Estimate | None = None,
        retrograde: Estimate | None = None,
        peak: Estimate | None = None,
        regimes: tuple[Saturation, ...] = (),
    ) -> Saturation:
        return Saturation(
            what,
            self.load_axis,
            self.low,
            self.high,
            self.variable,
            at=at,
            throughput_at=throughput_at,
            slope_before=self.slope_before,
            slope_after=self.slope_after,
            reasons=(reason,),
            advice=(advice,) if advice else (),
            retrograde=retrograde,
            peak=peak,
            usl=self.usl,
            bend=self.bend,
            chance=self.chance,
            carries=self.carries,
            regimes=regimes,
            flat=self.flat,
        )


def judge(
    series: Series,
    *,
    load_axis: str,
    variable: str,
    unit: str,
    replicates: int = 1000,
    seed: int = 1,
    split: bool = True,
) -> Saturation:
    """The verdict on a series of observations.

    Where something forbids a verdict (too few observations, loads or blocks, a narrow range), the broken line
    is fitted all the same as far as there are loads, and what it tells is given with the reason.
    """
    outcome = _Verdict(load_axis, variable, unit)
    usable = series.usable
    if not usable.any():
        return outcome("partly-known", *_nothing(series))
    widen = 1.0
    if not series.closed:
        batches, widen = independent(series)
        series = replace(series, batches=batches)
    seen = np.unique(series.number[usable])
    firm = firm_levels(series.number[usable], series.batches[usable])
    doubt: tuple[str, str] | None = None
    if len(seen) >= LEAST_LEVELS and len(firm) < LEAST_LEVELS:
        doubt = (
            f"{len(seen) - len(firm)} of {len(seen)} load levels have too few observations for their error"
            " to be known",
            "Record longer at each load, or with a shorter interval between samples.",
        )
    elif len(seen) >= LEAST_LEVELS:
        series = replace(series, number=np.where(np.isin(series.number, firm), series.number, -1))
    if usable.sum() < LEAST_OBSERVATIONS:
        doubt = _few(series)
    levels = levels_of(series, series.throughput, replicates, seed)
    outcome = replace(outcome, low=float(levels.load[0]), high=float(levels.load[-1]))
    doubt = doubt or _unfit(series, levels)
    if len(levels.load) < FEWEST_LEVELS or not levels.mean.max() > 0 or levels.freedom < 1:
        assert doubt is not None
        return outcome("partly-known", *doubt)
    if series.closed:
        made = Bend(series, _users.sharpened(series, levels, replicates, seed), levels)
    else:
        series = replace(series, number=finer(series))
        fine = levels_of(series, series.throughput, replicates, seed, time_of_day(series))
        if len(fine.load) < FEWEST_LEVELS:
            fine = levels
        made = Bend(series, fine, levels, widen)
    verdict = _verdict(made, outcome, doubt)
    if verdict.outcome == "partly-known" and split and doubt is None:
        verdict = replace(verdict, regimes=_regimes(made, verdict, unit, replicates, seed))
    return verdict


def _few(series: Series) -> tuple[str, str]:
    """Too few observations: of a short recording, or of one that seldom holds a load or a throughput."""
    count, whole = int(series.usable.sum()), len(series.number)
    some = f"{count} observation{'s' if count > 1 else ''}"
    if whole < 2 * LEAST_OBSERVATIONS:
        return f"only {some}", "Record for longer."
    lacking = "a load" if (series.number < 0).sum() > whole / 2 else "a throughput"
    return (
        f"only {some} of {whole} with {lacking}",
        f"Record {lacking.removeprefix('a ')} with every reading, or choose another load (--load).",
    )


def _nothing(series: Series) -> tuple[str, str]:
    """Why there is nothing to fit: no load, or no throughput."""
    if not (series.number >= 0).any():
        if np.isfinite(series.load).any():
            return (
                "there was no load: nobody was active in any observation",
                "Record while users are active, or choose another load (--load; satline info lists them).",
            )
        return (
            "no load was recorded: neither users nor a run queue, a load average or requests",
            "Record users (satline record), or import a log of requests beside it.",
        )
    return (
        "no throughput was recorded: neither completed transactions nor CPU time in user mode",
        "Record CPU times, or import a log of requests.",
    )


def _unfit(series: Series, levels: Levels) -> tuple[str, str] | None:
    """Why no verdict can be given: loads too few or too alike, or data that are not what they should be."""
    low, high, count = float(levels.load[0]), float(levels.load[-1]), len(levels.load)
    if not levels.mean.max() > 0:
        return "nothing was completed at any load", "See the failures of the users first."
    if count < LEAST_LEVELS:
        return (
            f"the load was much the same all the time ({low:.3g} to {high:.3g} users): it cannot show where"
            " a curve bends",
            "Record a heavier and a lighter period, or step the load (satline study).",
        )
    if high < 2 * low:
        return (
            f"the range of loads is narrow: {low:.3g} to {high:.3g} users",
            f"Record loads from {_lighter(low)} to {round(high * 2)} users.",
        )
    if not series.closed and levels.freedom < LEAST_BLOCKS - 1:
        return (
            f"the recording is as good as {levels.freedom + 1:.0f} independent readings: what follows each "
            "other resembles each other",
            "Record for longer: several days, so that each load comes back often.",
        )
    missed = _users.absent(series, levels)
    if missed is not None:
        return missed, "Find out why users did not take part; then record again."
    return None


def _lighter(low: float) -> str:
    """A load lighter than the lightest seen, never below nothing."""
    return f"{max(1, round(low / 4))}" if low >= 2 else f"{low / 4:.2g}"


def _regimes(
    bend: Bend, verdict: Saturation, unit: str, replicates: int, seed: int
) -> tuple[Saturation, ...]:
    """Where the system changed with time, the verdicts before and after; where a bend rests on one episode,
    the verdict without it."""
    series, changed = bend.series, bend.changed
    if bend.levels.freedom + 1 < 2 * LEAST_BLOCKS:
        return ()
    began = series.began_s
    if changed is not None:
        # The time of the change has an error: what lies next to it may belong to either side.
        margin = UNSURE * float(began.max() - began.min())
        parts = [began < changed.at_s - margin, began >= changed.at_s + margin]
    else:
        episode = bend.episode if bend.bent and bend.inside else None
        if episode is None:
            return ()
        parts = [(began < episode.begin_s) | (began >= episode.end_s)]
    return tuple(
        judge(
            replace(series, number=np.where(part, series.number, -1)),
            load_axis=verdict.load_axis,
            variable=verdict.throughput_variable or "",
            unit=unit,
            replicates=replicates,
            seed=seed,
            split=False,
        )
        for part in parts
    )


def _verdict(bend: Bend, outcome: _Verdict, forbidden: tuple[str, str] | None) -> Saturation:
    """The outcome of a broken line: saturated, not, or what is known and why not more.

    forbidden
        Why no verdict may be given, and what to record; ``None``: it may.
    """
    before = bend.estimate("before", outcome.unit + " per user")
    after = bend.estimate("after", outcome.unit + " per user")
    outcome = replace(outcome, slope_before=before, slope_after=after)
    if bend.series.closed:
        rows = np.vstack([bend.levels.mean, bend.means[:USL_REPLICATES]])
        line = (float(bend.point.residual[0]), 3)
        outcome = replace(outcome, usl=usl(bend.levels.load, rows, bend.weights, outcome.unit, line))
    rising = bend.rises and bend.rise > 1
    outcome = replace(
        outcome,
        bend=bend.place if rising else None,
        chance=bend.chance if rising else None,
        carries=bend.at.low if rising else None,
        flat=None if rising and bend.rise > LEAST_RISE else bend.flat,
    )
    if forbidden is not None:
        return _hedged(outcome)("partly-known", *forbidden)
    straight = bend.straight()
    saturated = bend.bent and bend.inside
    likely_not = straight is not None and not (bend.rises and bend.ratio[1] < SLOPE_RATIO)
    if saturated:
        doubt = _unstable(bend, saturated)
        if doubt is not None:
            return _hedged(outcome)("partly-known", *doubt)
        doubt = _gradual(bend) or _users.doubt(bend.series, bend.kept)
        if doubt is not None:
            return outcome("partly-known", *doubt)
        falls = after.high < 0
        beyond = int((bend.classes.load > bend.at.high).sum())
        return outcome(
            "saturated",
            f"throughput rises by {in_words(before)} up to {bend.at.value:.3g} users and by"
            f" {in_words(after)} beyond; {beyond} of {len(bend.classes.load)} loads lie beyond the interval",
            at=bend.at,
            throughput_at=bend.estimate("top", outcome.unit),
            retrograde=after if falls else None,
            peak=_peak(bend, outcome.usl) if falls else None,
        )
    if likely_not and straight is not None:
        doubt = _unstable(bend, saturated) or _users.uneven(bend.series)
        return outcome("partly-known", *doubt) if doubt else outcome("not-saturated", straight)
    if bend.bent and bend.episode is None:
        return _hedged(outcome, high=1.0)("partly-known", *_why_not(bend))
    return _hedged(outcome)("partly-known", *(_unstable(bend, bend.bent) or _why_not(bend)))


def _hedged(outcome: _Verdict, high: float = HEDGED) -> _Verdict:
    """The same with a chance that claims less: neither less than 1 − HEDGED nor more than `high`."""
    if outcome.chance is None:
        return outcome
    return replace(outcome, chance=min(high, max(1 - HEDGED, outcome.chance)))


def _peak(bend: Bend, law: UslFit | None) -> Estimate:
    """Load of greatest throughput, where throughput surely falls beyond: of the law that fits better."""
    if law is not None and law.better_than_broken_line and law.peak_in_range and law.peak is not None:
        return law.peak
    return bend.at


def _unstable(bend: Bend, saturated: bool) -> tuple[str, str] | None:
    """Is a recording at rest of two systems, or its answer that of one day?"""
    if bend.series.closed:
        return None
    changed = bend.changed
    if changed is not None:
        when = _said(changed.at_s, bend)
        more = "more" if changed.shift > 0 else "less"
        return (
            f"the system changed after {when}: from then on the same loads bring"
            f" {abs(changed.shift):.0%} {more} throughput",
            "Judge the time before it and the time after it alone (--to, --from).",
        )
    episode = bend.episode if saturated else None
    if episode is not None:
        when = _said(episode.begin_s, bend)
        return (
            f"throughput bends near {bend.at.value:.3g} users, but only in one part of the recording, from"
            f" {when} on: without it the bend is gone",
            "See what happened then; record more such loads.",
        )
    return None


def _said(time_s: float, bend: Bend) -> str:
    """A point of time in words."""
    if bend.series.time_s is None:
        return f"hour {(time_s - float(bend.series.began_s.min())) / 3600:.0f} of the recording"
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M} UTC"


def _gradual(bend: Bend) -> tuple[str, str] | None:
    """Does throughput go on rising beyond the bend?

    It does if the slope there says so surely; or likely, if a curve without a bend describes it far better.
    """
    likely, least = bend.creep
    load = bend.levels.load
    law, left = fit_usl(load, bend.levels.mean[None, :], bend.weights)
    rounder = left[0] * ROUNDER < bend.point.residual[0] and not peak_of(law)[0] <= load[-1]
    if least <= 2 * CREEP and not (rounder and likely > CREEP):
        return None
    return (
        f"throughput bends gradually: from {bend.at.value:.3g} to {load[-1]:.3g} users it still rises by "
        f"{likely:.0%}, and no load is seen at which it stops",
        f"Record more loads beyond {load[-1]:.3g} users, up to about {round(2 * float(load[-1]))}.",
    )


def _why_not(bend: Bend) -> tuple[str, str]:
    """Why neither answer can be given, and what to record."""
    levels, high = bend.levels, float(bend.levels.load[-1])
    if bend.flat is not None:
        return (
            f"throughput is much the same at every load, {bend.flat.value:.2f} times"
            f" [{bend.flat.low:.2f}, {bend.flat.high:.2f}] at the heaviest: the load does not drive it, or"
            f" {levels.load[0]:.3g} users saturate it already",
            f"Record lighter loads than {levels.load[0]:.3g} users, or name what drives the work as load"
            " (--load).",
        )
    if not bend.rises or bend.rise <= LEAST_RISE:
        return (
            "throughput does not surely rise with load: it is saturated at or below the lowest load, or "
            "load does not drive it",
            f"Record lighter loads than {levels.load[0]:.3g}, and longer.",
        )
    if bend.bent:
        return (
            f"throughput bends near {bend.at.value:.3g} users, but the interval [{bend.at.low:.3g}, "
            f"{bend.at.high:.3g}] reaches the last but one load, {bend.classes.load[-2]:.3g}",
            f"Record more loads beyond {high:.3g} users, up to about {round(2 * high)}.",
        )
    noise = float(levels.error.max()) / float(levels.mean.max())
    if noise > 0.1:
        times = min(100, max(2, int(np.ceil((noise / 0.05) ** 2))))
        return (
            "too few data: the errors are as large as the differences between loads",
            f"Record about {times} times as long at each load.",
        )
    return (
        "throughput bends, but neither surely nor surely not: slope beyond / before is"
        f" [{bend.ratio[0]:.2f}, {bend.ratio[1]:.2f}]",
        f"Record more loads, up to about {round(2 * high)} users.",
    )


def in_words(slope: Estimate) -> str:
    """A slope in words."""
    return f"{slope.value:.3g} [{slope.low:.3g}, {slope.high:.3g}] per user"


def saturation(reduction: Reduction, *, seed: int = 1) -> Saturation:
    """The verdict on a reduced recording.

    Throughput is completed transactions per second where there are transactions, else processors in
    problem state; the latter, too, where the mix of completed transactions changes with load. Where they
    cannot tell, or only later, the work of the completed transactions may.
    """
    observed = reduction.observations
    rate = observed["transaction_rate"]
    transactions = bool(np.isfinite(rate).any()) and float(np.nansum(rate)) > 0
    work = useful_work(reduction) if transactions else None
    if work is not None and not mix_changes(reduction, work):
        work = None
    counted = transactions and work is None
    variable = "transaction_rate" if counted else "problem_state"
    unit = "per second" if counted else "processors"
    single = nongranular(reduction, LEAST_OBSERVATIONS) if not transactions else None
    if single is not None:
        loads = reduction.load[reduction.number >= 0]
        return Saturation(
            "nongranular",
            reduction.load_axis,
            float(loads.min()),
            float(loads.max()),
            variable,
            reasons=(single,),
            advice=("Split the batch work into several streams, or judge it by its own running time.",),
        )
    think = reduction.curves.get("think")
    thinks = [(p.mean, p.n) for p in think.points if p.mean is not None] if think else []
    series = Series(
        load=reduction.load,
        number=reduction.number,
        throughput=observed[variable] if work is None else work,
        seconds=reduction.seconds,
        batches=reduction.batches,
        in_transaction=observed["users_in_transaction"] if transactions else None,
        think_s=sum(m * n for m, n in thinks) / sum(n for _, n in thinks) if thinks else None,
        contended=contended(reduction),
        closed=reduction.load_axis == "users",
        time_s=_time_s(reduction),
        counted=counted,
        work_kept=work_kept(reduction) if counted else None,
    )
    shares = shared(series, reduction)
    if shares is not None:
        series = shares.series
    verdict = judge(series, load_axis=reduction.load_axis, variable=variable, unit=unit, seed=seed)
    if counted:
        verdict = _by_work(verdict, series, reduction, seed)
    if shares is not None:
        verdict = told(verdict, shares)
    if work is not None:
        why = "the heavier the load, the shorter the transactions that complete: useful work is judged"
        verdict = replace(verdict, reasons=(*verdict.reasons, why))
    return verdict if in_users(reduction.load_axis) else _in_units(verdict, *load_units(reduction.load_axis))


def _by_work(verdict: Saturation, series: Series, reduction: Reduction, seed: int) -> Saturation:
    """The verdict by completed transactions, or by their work where that tells more, or earlier.

    Beyond saturation short commands go on completing where the scheduler serves them first; the work does
    not rise. Where the mix of users is the same at every load and nothing is short, each class's throughput
    is in proportion to the users, whatever its weight.
    """
    work = work_completed(reduction)
    if work is None or verdict.outcome == "not-saturated" or verdict.retrograde is not None:
        return verdict
    if not series.closed or _users.absent(series, levels_of(series, series.throughput, 2, seed)):
        return verdict
    # A series on the scale of a whole CPU has its work on that scale too.
    scale = series.load / np.maximum(reduction.load, 1e-9)
    by_work = replace(series, throughput=work * scale, counted=False)
    unit = reduction.curves["work_rate"].unit
    other = judge(by_work, load_axis=reduction.load_axis, variable="work_rate", unit=unit, seed=seed)
    if other.at is None or (verdict.at is not None and other.at.value >= verdict.at.low):
        return verdict
    count = "does not tell" if verdict.at is None else f"bends only at {verdict.at.value:.3g} users"
    why = (
        f"the number of transactions completed {count}, since short ones go on completing: each counts as "
        "what one of its class takes at light load"
    )
    # A window sees the end of a long command or not: that work falls beyond saturation is not claimed.
    return replace(other, reasons=(*other.reasons, why), retrograde=None, peak=None, usl=None)


def _in_units(verdict: Saturation, one: str, many: str) -> Saturation:
    """The verdict in words for a load that is no number of users."""

    def said(text: str) -> str:
        return re.sub(r"\buser\b", one, re.sub(r"\busers\b", many, text))

    def told(estimate: Estimate | None) -> Estimate | None:
        return None if estimate is None else replace(estimate, unit=said(estimate.unit))

    return replace(
        verdict,
        reasons=tuple(map(said, verdict.reasons)),
        advice=tuple(map(said, verdict.advice)),
        at=told(verdict.at),
        slope_before=told(verdict.slope_before),
        slope_after=told(verdict.slope_after),
        retrograde=told(verdict.retrograde),
        peak=told(verdict.peak),
        bend=told(verdict.bend),
        regimes=tuple(_in_units(one_part, one, many) for one_part in verdict.regimes),
    )


def _time_s(reduction: Reduction) -> Floats | None:
    """When each observation began; ``None`` without a clock, or where it was set back."""
    ended_ns = reduction.observations.get("time_ns")
    if ended_ns is None or not np.isfinite(ended_ns).all() or (np.diff(ended_ns) < 0).any():
        return None
    return np.asarray(ended_ns / 1e9 - reduction.seconds)

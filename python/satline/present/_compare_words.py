"""A comparison as tables of words, for the terminal and the page alike."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from satline.comparison import Comparison, Estimate, Period, TradeOff
from satline.comparison.expansion import Expansion
from satline.present import _numbers, _words

LONGEST_NAME = 40
Rows = list[tuple[str, ...]]
_WORK = {
    "problem_state": "transaction, user time",
    "supervisor_state": "transaction, system time",
    "total_cpu": "transaction, all of it",
}


def percent(part: float) -> str:
    """A signed part as a percentage: ``−17 %``."""
    shown = f"{part * 100:+.{0 if abs(part) >= 0.0995 else 1}f}".replace("-", "−")
    return f"{'0' if float(shown.replace('−', '-')) == 0 else shown}\N{NO-BREAK SPACE}%"


def change(found: Estimate | None) -> str:
    """A relative difference with its interval: ``−17 % [−24, −11]``."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{percent(found.value)} [?]"
    ends = (percent(end).removesuffix("\N{NO-BREAK SPACE}%") for end in (found.low, found.high))
    return f"{percent(found.value)} [{', '.join(ends)}]"


def chance(value: float | None) -> str:
    """A chance: ``<0.001``, ``0.02``."""
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.2g}"


def _equals(value: float | None) -> str:
    """A chance after the letter p: ``= 0.02``, ``< 0.001``."""
    shown = chance(value)
    return f"< {shown[1:]}" if shown.startswith("<") else f"= {shown}"


def period_rows(found: Comparison) -> Rows:
    """When, how long, over what loads; and the raw means."""
    rows: Rows = [("", "before", "after")]
    both = (found.before, found.after)
    top = (
        max(abs(p.raw) for p in both if math.isfinite(p.raw))
        if any(math.isfinite(p.raw) for p in both)
        else 1
    )
    scale = _numbers.scale(found.unit, top)
    rows.append(("from (UTC)", *(_clock(p.begins_s) for p in both)))
    rows.append(("to", *(_clock(p.ends_s) for p in both)))
    rows.append(("recordings", *(str(len(p.recordings)) for p in both)))
    rows.append(("observations", *(f"{p.observations:,}" for p in both)))
    rows.append((f"blocks ({found.blocks.partition(' ')[0]})", *(_blocks(p) for p in both)))
    rows.append((found.load_words, *(_loads(p) for p in both)))
    raw = (_numbers.joined(_numbers.number(p.raw * scale.factor), scale.label) for p in both)
    rows.append(("raw mean", *raw))
    return rows


def _blocks(p: Period) -> str:
    return f"{p.blocks}, worth {p.effective_blocks:.1f}"


def _loads(p: Period) -> str:
    if not math.isfinite(p.load_low):
        return "none"
    return f"{p.load_low:.3g} to {p.load_high:.3g}, mean {p.load_mean:.3g}"


def matched_rows(found: Comparison) -> Rows:
    """Classes of equal load, and all of them together."""
    if found.matched is None:
        return []
    scale = _scale(found, [found.matched.before, found.matched.after])
    unit = f", {scale.label}" if scale.label else ""
    rows: Rows = [(found.load_words, "n", f"before{unit}", f"after{unit}", "difference", "p")]
    for one in found.matched.classes:
        rows.append(
            (
                one.label,
                " / ".join(f"{n:,}" for n in one.observations),
                _numbers.number(one.before * scale.factor),
                _numbers.number(one.after * scale.factor),
                _difference(one.relative, one.difference, scale.factor),
                chance(one.chance),
            )
        )
    whole = found.matched
    together = whole.relative or whole.difference
    rows.append(
        (
            "all",
            " / ".join(f"{sum(c.observations[k] for c in whole.classes):,}" for k in (0, 1)),
            _numbers.number(whole.before * scale.factor),
            _numbers.number(whole.after * scale.factor),
            _difference(whole.relative, whole.difference, scale.factor),
            chance(together.chance),
        )
    )
    return rows


def _difference(relative: Estimate | None, absolute: Estimate, factor: float) -> str:
    if relative is not None:
        return change(relative)
    shown = _numbers.number(absolute.value * factor)
    if absolute.low is None or absolute.high is None:
        return f"{shown} [?]"
    return f"{shown} [{', '.join(_numbers.number(e * factor) for e in (absolute.low, absolute.high))}]"


def _scale(found: Comparison, values: list[float]) -> _numbers.Scale:
    return _numbers.scale(found.unit, max((abs(v) for v in values), default=1.0))


def curve_rows(found: Comparison) -> Rows:
    """Points of both trade-off curves."""
    curves = found.trade_off
    if curves is None:
        return []
    scale = _scale(found, [p.measure.value for p in (*curves.before, *curves.after)])
    unit = f", {scale.label}" if scale.label else ""
    throughput = throughput_words(curves)
    rows: Rows = [("", found.load_words, throughput, f"{found.measure_words}{unit}", "n")]
    for side, points in (("before", curves.before), ("after", curves.after)):
        for point in points:
            rows.append(
                (
                    side,
                    point.label,
                    _spread(point.throughput, throughput_factor(curves)),
                    _spread(point.measure, scale.factor),
                    f"{point.observations:,}",
                )
            )
    return rows


def equal_rows(found: Comparison) -> tuple[Rows, Rows]:
    """Both curves at equal throughput, and at an equal measure."""
    curves = found.trade_off
    if curves is None:
        return [], []
    scale = _scale(found, [v for e in curves.at_throughput for v in (e.before, e.after)])
    factor, unit = throughput_factor(curves), f", {scale.label}" if scale.label else ""
    across: Rows = [(f"at {throughput_words(curves)}", f"before{unit}", f"after{unit}", "difference")]
    across += [
        (
            _numbers.number(e.at * factor),
            _numbers.number(e.before * scale.factor),
            _numbers.number(e.after * scale.factor),
            change(e.relative),
        )
        for e in curves.at_throughput
    ]
    scale = _scale(found, [e.at for e in curves.at_measure])
    unit = f", {scale.label}" if scale.label else ""
    heads = (f"{side}: {throughput_words(curves)}" for side in ("before", "after"))
    along: Rows = [(f"at {found.measure_words}{unit}", *heads, "difference")]
    along += [
        (
            _numbers.number(e.at * scale.factor),
            _numbers.number(e.before * factor),
            _numbers.number(e.after * factor),
            change(e.relative),
        )
        for e in curves.at_measure
    ]
    return across if len(across) > 1 else [], along if len(along) > 1 else []


def throughput_words(curves: TradeOff) -> str:
    """``virtual CPU %`` for problem state: of one processor, so that it goes to 200 on two [TB84]."""
    if curves.unit == "processors":
        name = "virtual CPU" if curves.variable == "problem_state" else _words.variable_words(curves.variable)
        return f"{name}, %"
    words = _words.variable_words(curves.variable)
    return f"{words}, {curves.unit}" if curves.unit else words


def throughput_factor(curves: TradeOff) -> float:
    """Shown throughput against the recorded one."""
    return 100.0 if curves.unit == "processors" else 1.0


def _spread(found: Estimate, factor: float) -> str:
    shown = _numbers.number(found.value * factor)
    if found.low is None or found.high is None:
        return shown
    return f"{shown} [{', '.join(_numbers.number(e * factor) for e in (found.low, found.high))}]"


def hour_rows(found: Comparison) -> Rows:
    """Hour by hour."""
    if found.hours is None:
        return []
    hours = found.hours.hours
    scale = _scale(found, [v for h in hours for v in (h.before, h.after)])
    unit = f", {scale.label}" if scale.label else ""
    rows: Rows = [("hour", f"before{unit}", f"after{unit}", "difference", "percent", "load")]
    for h in hours:
        rows.append(
            (
                f"{h.hour:02d}",
                _numbers.number(h.before * scale.factor),
                _numbers.number(h.after * scale.factor),
                _numbers.number((h.after - h.before) * scale.factor),
                "–" if h.relative is None else percent(h.relative),
                " / ".join(_numbers.number(v) for v in h.loads),
            )
        )
    return rows


def hour_words(found: Comparison) -> list[str]:
    """What the signs say."""
    if found.hours is None:
        return []
    hours = found.hours
    count = len(hours.hours)
    words = [
        f"{hours.fell} of {count} hours fell, {hours.rose} rose: sign test p {_equals(hours.chance)} if"
        " hours were independent of each other"
    ]
    if hours.honest_chance is not None:
        words[0] += f", {chance(hours.honest_chance)} by drawing whole days"
    else:
        words[0] += ", which those of one day hardly are"
    words.append(
        f"Hours are by the clock of {hours.timezone}, at whatever load there was: where loads differ, the"
        " table of equal loads decides."
    )
    return words


def work_rows(found: Comparison) -> Rows:
    """Processor time for each unit of work."""
    if not found.work:
        return []
    rows: Rows = [("processor time of a", "before", "after", "difference", "number")]
    for one in found.work:
        if one.what == "transaction":
            name = _WORK.get(one.name, one.name)
        elif one.what == "class":
            name = f"transaction {_short(one.name) or 'without a class'}"
        else:
            name = f"second of user {_short(one.name)}" if one.name else "second of any user"
        unit = "s" if one.unit == "processors" else one.unit
        shown = (_numbers.quantity(v, unit) for v in (one.before, one.after))
        rows.append((name, *shown, change(one.relative), " / ".join(f"{n:,.0f}" for n in one.counts)))
    return rows


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def change_rows(found: Comparison) -> Rows:
    """The change log."""
    rows: Rows = [("when", "time (UTC)", "what")]
    when = {"between": "between", "before": "during before", "after": "during after"}
    for one in found.changes:
        time = "" if one.time_s is None else _clock(one.time_s)
        kind = " (measuring)" if one.kind == "measuring" else ""
        rows.append((when[one.when], time, one.what + kind))
    return rows if len(rows) > 1 else []


def _clock(time_s: float) -> str:
    try:
        return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return "no date"


def expansion_rows(found: Expansion) -> Rows:
    """Expansion factors, by class and load."""
    rows: Rows = [("class", _words.axis_words(found.load_axis), "n", "response", "alone", "cpu", "expansion")]
    for one in found.rows:
        rows.append(
            (
                one.kind or "all",
                one.load,
                f"{one.transactions:,}",
                *(_numbers.quantity(v, "s") for v in (one.response_s, one.alone_s)),
                "–" if one.cpu_s is None else _numbers.quantity(one.cpu_s, "s"),
                _spread(one.expansion, 1.0),
            )
        )
    return rows

"""Tables of loads and throughputs: the verdict, the laws, and throughput at other loads."""

from __future__ import annotations

import math
from collections.abc import Iterator

from satline.present import _numbers
from satline.present.blocks import Block, Headline, Note, Table, listed
from satline.scalability import Scalability, Value

_LAWS = {
    "usl": "universal scalability law",
    "amdahl": "Amdahl's law",
    "linear": "a straight line",
    "broken-line": "broken line",
}
_SOURCES = {
    "repeated rows": "what repeated rows differ by",
    "residuals": "what the law leaves over",
    "misfit": "what the law misses, more than repeated rows differ by",
}


def verdict_blocks(answer: Scalability) -> Iterator[Block]:
    """Where the table saturates, in a few lines."""
    yield from _verdict(answer)
    yield Note(
        "What holds it back cannot be told from a table: record the host while the load test runs"
        " (`satline record`)."
    )
    yield Note("`satline analyse predict` shows the laws, their intervals and other loads.")
    yield from _weaknesses(answer)


def prediction_blocks(answer: Scalability) -> Iterator[Block]:
    """All that is said of a table."""
    yield from _verdict(answer)
    yield from _laws(answer)
    b = answer.bounds
    more = "at least, as X still rises" if b.rising else f"X is greatest at {_number(b.ceiling_load)}"
    cycle = f"{_number(b.cycle_s)} s" if answer.unit == "per second" else _number(b.cycle_s)
    yield Note(
        f"Asymptotes cross at N* = {_number(b.saturation)} ({more}): X is at most N/{cycle}, and"
        f" {_number(b.ceiling)} was seen."
    )
    law = answer.little
    if law is not None:
        z = law.think_s
        think, low, high, residence = (
            _numbers.quantity(one, "s") for one in (z.value, z.low, z.high, law.residence_s)
        )
        yield Note(
            f"By Little's law, N = X(R + Z), users think {think} (by load {low} to {high}); R at the lightest"
            f" load {residence}, and (R + Z)/D = {_number(law.saturation)}."
        )
    yield from _rows(answer)
    if answer.error_source != "none":
        yield Note(
            "Intervals: 95 %, by profile likelihood; errors taken as "
            f"{answer.errors}, their size from {_SOURCES[answer.error_source]}."
        )
    yield from _weaknesses(answer)


def _verdict(answer: Scalability) -> Iterator[Block]:
    yield Note(answer.headline, "strong")
    yield from listed("", answer.reasons)
    rows, loads = answer.rows_read, answer.loads
    unit = f" {answer.unit}" if answer.unit == "per second" else ""
    yield Note(
        f"{answer.table}: {rows:,} row{'s' * (rows != 1)}, {loads:,} load{'s' * (loads != 1)},"
        f" {answer.load_name[:40]} {_number(answer.range_low)} to {_number(answer.range_high)};"
        f" {answer.throughput_name[:40]}{unit}",
        "quiet",
    )


def _laws(answer: Scalability) -> Iterator[Block]:
    usl = answer.usl
    if usl is None or answer.amdahl is None:
        yield Note("Fewer than three loads: no law is fitted, bounds only.")
        return
    rows = [
        ("", "", "95 % interval"),
        ("universal scalability law", "", ""),
        ("  a user alone, λ", *_cells(usl.rate)),
        ("  contention, σ", *_cells(usl.contention)),
        ("  coherency, κ", *_cells(usl.coherency)),
        ("  peak at", *_cells(usl.peak)),
    ]
    if usl.limit is not None and not math.isfinite(usl.peak.value):
        rows.append(("  limit without coherency, λ/σ", _number(usl.limit), ""))
    rows += [("Amdahl's law (κ = 0)", "", ""), ("  contention, σ", *_cells(answer.amdahl.contention))]
    if answer.broken_line is not None:
        rows += [
            ("broken line", "", ""),
            ("  breakpoint", *_cells(answer.broken_line.at, line=True)),
            ("  slope below", *_cells(answer.broken_line.before)),
            ("  slope beyond / below", *_cells(answer.broken_line.ratio)),
        ]
    yield Table.of(rows)
    known = sorted((c for c in answer.compared if c.aicc is not None), key=lambda c: c.aicc or 0.0)
    said = ", ".join(f"{_LAWS[c.law]} {_share(c.weight or 0.0)}" for c in known)
    few = "Too few rows to say which law fits better."
    yield Note(f"Fits best (weight by AICc): {said}." if known else few)


def _rows(answer: Scalability) -> Iterator[Block]:
    responses = any(r.response_s is not None or r.predicted_response_s is not None for r in answer.rows)
    fitted = answer.usl is not None
    head = ["load", "measured", *(("law", "95 % interval", "line") if fitted else ()), "at most"]
    rows = [[*head, *(("R, s", "predicted") if responses else ())]]
    for r in answer.rows:
        row = [_number(r.load) + ("*" if r.extrapolated else ""), _number(r.measured)]
        if fitted:
            law, line = r.usl.value if r.usl else None, r.line.value if r.line else None
            row += [_number(law), _ends(r.usl), _number(line)]
        row.append(_number(r.bound_high))
        rows.append([*row, *((_number(r.response_s), _number(r.predicted_response_s)) if responses else ())])
    of = "by the universal scalability law, by the broken line" if fitted else "and at most"
    yield Headline(f"Throughput: measured, {of}")
    yield Table.of(rows, text=())
    if any(r.extrapolated for r in answer.rows):
        yield Note("* beyond the loads seen: extrapolated, as sure as the law is right there")


def _weaknesses(answer: Scalability) -> Iterator[Block]:
    yield from listed("What weakens the answer", (*answer.warnings, *answer.notes))
    yield from listed("To know more", answer.advice)


def _cells(value: Value, *, line: bool = False) -> tuple[str, str]:
    if not math.isfinite(value.value):
        known = value.low is not None and math.isfinite(value.low)
        return "none", f"none, or {_number(value.low)} or more" if known else ""
    ends = _ends(value)
    if line and value.low == 0:
        ends = f"up to {_number(value.high)}" if value.high not in (None, math.inf) else "anywhere"
    return _number(value.value), ends


def _ends(value: Value | None) -> str:
    if value is None:
        return ""
    if value.low is None or value.high is None:
        return "not known"
    if math.isinf(value.high):
        return f"{_number(value.low)} or more"
    return f"{_number(value.low)} to {_number(value.high)}"


def _share(part: float) -> str:
    return "under 1 %" if part < 0.01 else f"{part:.0%}".replace("%", " %")


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if value != 0 and (abs(value) < 1e-6 or abs(value) >= 1e7):
        return ("−" if value < 0 else "") + f"{abs(value):.3g}"
    return _numbers.number(value)

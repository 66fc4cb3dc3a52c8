"""`analyse predict` and `diagnose` on a table of loads and throughputs: 80 columns, or JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.analyse.lines import columns, items, wrapped
from satline.cli.outputs import print_json
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.diagnosis import Diagnosis
    from satline.reduction import Filters
    from satline.scalability import Scalability, Value

LAWS = {
    "usl": "universal scalability law",
    "amdahl": "Amdahl's law",
    "linear": "a straight line",
    "broken-line": "broken line",
}
SOURCES = {
    "repeated rows": "what repeated rows differ by",
    "residuals": "what the law leaves over",
    "misfit": "what the law misses, more than repeated rows differ by",
}


def predict_table(
    path: Path,
    users: str | None,
    throughput: str | None,
    response: str | None,
    at: str | None,
    think_s: float | None,
    surplus: Sequence[str],
    as_json: bool,
) -> None:
    """The laws, the verdict and throughput at other loads."""
    from satline.scalability import analyse, read_table

    _only_tables(surplus)
    table = read_table(path, users=users, throughput=throughput, response=response)
    answer = analyse(table, at=_loads(at), think_s=think_s)
    if as_json:
        print_json("analyse-predict-table", answer)
        return
    _print(prediction_lines(answer))


def diagnose_table(
    path: Path,
    load_axis: str | None,
    filters: Filters | None,
    throughput: str | None,
    response: str | None,
    as_json: bool,
) -> None:
    """Where a table saturates; JSON has the keys of a recording's diagnosis."""
    from satline.scalability import analyse, read_table

    users = ",".join(filters.users) if filters is not None and filters.users else None
    surplus = ["--load"] if load_axis is not None else []
    if filters is not None:
        from dataclasses import replace

        from satline.reduction import Filters as Plain

        surplus += ["a filter"] if replace(filters, users=None) != Plain() else []
    _only_tables(surplus)
    answer = analyse(read_table(path, users=users, throughput=throughput, response=response))
    if as_json:
        print_json("diagnose", _as_diagnosis(answer), agreement=None)
        return
    _print(
        [
            *_verdict_lines(answer),
            "",
            *_wrapped(
                "What holds it back cannot be told from a table: record the host while the load test runs"
                " (`satline record`)."
            ),
            *_weaknesses(answer),
            "",
            *_wrapped("`satline analyse predict` shows the laws, their intervals and other loads."),
        ]
    )


def _only_tables(surplus: Sequence[str]) -> None:
    if surplus:
        raise click.UsageError(f"{', '.join(surplus)}: of a recording, not of a table")


def _as_diagnosis(answer: Scalability) -> Diagnosis:
    from satline.diagnosis import Diagnosis, Saturation, Unseen

    return Diagnosis(
        recording=answer.table,
        headline=answer.headline,
        saturation=Saturation(
            answer.outcome,
            answer.load_name,
            answer.range_low,
            answer.range_high,
            answer.throughput_name,
            at=answer.at,
            reasons=answer.reasons,
            advice=answer.advice,
        ),
        findings=(),
        others=(),
        unseen=(
            Unseen(
                "what holds it back",
                "a table has no resources",
                "a recording of the host while the load test runs",
            ),
        ),
        warnings=(*answer.notes, *answer.warnings),
    )


def prediction_lines(answer: Scalability) -> list[str]:
    """All that is said of a table."""
    lines = _verdict_lines(answer)
    lines += ["", *_laws(answer), *_bounds(answer), "", *_rows(answer), *_weaknesses(answer)]
    if answer.error_source != "none":
        lines += [
            "",
            *_wrapped(
                "Intervals: 95 %, by profile likelihood; errors taken as "
                f"{answer.errors}, their size from {SOURCES[answer.error_source]}."
            ),
        ]
    return lines


def _verdict_lines(answer: Scalability) -> list[str]:
    rows = f"{answer.rows_read:,} row" + ("s" if answer.rows_read != 1 else "")
    lines = _wrapped(answer.headline)
    lines += _items(answer.reasons)
    lines += [
        "",
        *_wrapped(
            f"{answer.table}: {rows}, {answer.loads:,} load{'s' if answer.loads != 1 else ''},"
            f" {answer.load_name[:40]} {_number(answer.range_low)} to {_number(answer.range_high)};"
            f" {answer.throughput_name[:40]} {answer.unit if answer.unit == 'per second' else ''}".rstrip(
                " ;"
            )
        ),
    ]
    return lines


def _laws(answer: Scalability) -> list[str]:
    usl = answer.usl
    if usl is None or answer.amdahl is None:
        return ["Fewer than three loads: no law is fitted, bounds only."]
    rows = [("", "", "95 % interval")]
    rows += [
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
    lines = columns(rows, left=1)
    known = sorted((c for c in answer.compared if c.aicc is not None), key=lambda c: c.aicc or 0.0)
    if known:
        said = ", ".join(f"{LAWS[c.law]} {_share(c.weight or 0.0)}" for c in known)
        lines += ["", *_wrapped(f"Fits best (weight by AICc): {said}.")]
    else:
        lines += ["", *_wrapped("Too few rows to say which law fits better.")]
    return lines


def _bounds(answer: Scalability) -> list[str]:
    b = answer.bounds
    more = "at least, as X still rises" if b.rising else f"X is greatest at {_number(b.ceiling_load)}"
    lines = [
        "",
        *_wrapped(
            f"Asymptotes cross at N* = {_number(b.saturation)} ({more}): X is at most"
            f" N/{_time(b.cycle_s, answer)}, and {_number(b.ceiling)} was seen."
        ),
    ]
    law = answer.little
    if law is not None:
        z = law.think_s
        lines += _wrapped(
            f"By Little's law, N = X(R + Z), users think {_seconds(z.value)} (by load {_seconds(z.low)} to"
            f" {_seconds(z.high)}); R at the lightest load {_seconds(law.residence_s)}, and"
            f" (R + Z)/D = {_number(law.saturation)}."
        )
    return lines


def _time(value: float, answer: Scalability) -> str:
    return f"{_number(value)} s" if answer.unit == "per second" else _number(value)


def _rows(answer: Scalability) -> list[str]:
    with_response = any(r.response_s is not None or r.predicted_response_s is not None for r in answer.rows)
    fitted = answer.usl is not None
    head = ["load", "measured"]
    head += ["law", "95 % interval", "line"] if fitted else []
    head += ["at most"]
    head += ["R, s", "predicted"] if with_response else []
    rows = [head]
    for r in answer.rows:
        row = [_number(r.load) + ("*" if r.extrapolated else ""), _number(r.measured)]
        if fitted:
            row += [
                _number(r.usl.value if r.usl else None),
                _ends(r.usl),
                _number(r.line.value if r.line else None),
            ]
        row += [_number(r.bound_high)]
        if with_response:
            row += [_number(r.response_s), _number(r.predicted_response_s)]
        rows.append(row)
    lines = ["Throughput: measured, by the universal scalability law, by the broken line"]
    lines = lines if fitted else ["Throughput: measured, and at most"]
    lines += columns(rows)
    if any(r.extrapolated for r in answer.rows):
        lines.append("  * beyond the loads seen: extrapolated, as sure as the law is right there")
    return lines


def _weaknesses(answer: Scalability) -> list[str]:
    texts = [*answer.warnings, *answer.notes]
    lines = ["", "What weakens the answer", *_items(texts)] if texts else []
    return lines + (["", "To know more", *_items(answer.advice)] if answer.advice else [])


def _loads(text: str | None) -> list[float]:
    if text is None:
        return []
    try:
        loads = [float(part) for part in text.split(",")]
    except ValueError:
        loads = []
    if not loads or len(loads) > 100 or not all(0 < n <= 1e12 for n in loads):
        raise InputError(f"--at {text!r}", hint="write loads above 0: 64,128")
    return loads


def _cells(value: Value, *, line: bool = False) -> tuple[str, str]:
    if not math.isfinite(value.value):
        low = (
            f"none, or {_number(value.low)} or more"
            if value.low is not None and math.isfinite(value.low)
            else ""
        )
        return "none", low
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
    from satline.present import number

    if value is None:
        return ""
    if value != 0 and (abs(value) < 1e-6 or abs(value) >= 1e7):
        return ("−" if value < 0 else "") + f"{abs(value):.3g}"
    return number(value)


def _seconds(value: float | None) -> str:
    from satline.present import quantity

    return quantity(value, "s")


def _wrapped(text: str) -> list[str]:
    return wrapped(_shown(text))


def _items(texts: Sequence[str]) -> list[str]:
    return items([_shown(text) for text in texts])


def _shown(text: str) -> str:
    from satline.present import visible

    return visible(text)


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(_shown(line))

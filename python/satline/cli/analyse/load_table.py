"""`analyse predict` and `diagnose` on a table of loads and throughputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.outputs import print_json, print_text
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.diagnosis import Diagnosis
    from satline.reduction import Filters
    from satline.scalability import Scalability


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
    from satline.present.scalability import prediction_blocks
    from satline.scalability import analyse, read_table

    _only_tables(surplus)
    table = read_table(path, users=users, throughput=throughput, response=response)
    answer = analyse(table, at=_loads(at), think_s=think_s)
    if as_json:
        print_json("analyse-predict-table", answer)
        return
    print_text(prediction_blocks(answer))


def diagnose_table(
    path: Path,
    load_axis: str | None,
    filters: Filters | None,
    throughput: str | None,
    response: str | None,
    as_json: bool,
) -> None:
    """Where a table saturates; JSON has the keys of a recording's diagnosis."""
    from satline.present.scalability import verdict_blocks
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
    print_text(verdict_blocks(answer))


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

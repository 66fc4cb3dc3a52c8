"""A diagnosis as a result: a row for each rule, those that hold first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from satline.api._charts import with_band
from satline.api._columns import Column, Frame, made_table
from satline.api._reduced import Reduced
from satline.api._result import Result
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.diagnosis import Diagnosis, Finding, Saturation
    from satline.reconcile import Story

FINDINGS_SHOWN = 5


class Diagnosed(Result["Diagnosis"]):
    """Where a recording saturates and what holds it back [Bard]; made by `OpenRecording.diagnose`.

    Its table has a row for each rule: first the findings that hold, the strongest first, then the others
    with why they do not hold or could not be judged.

    Attributes
    ----------
    reduced
        The curves that it rests on.
    agreement
        How other answers from the same recording relate to it.
    """

    def __init__(self, result: Diagnosis, reduced: Reduced, agreement: Story) -> None:
        super().__init__(result)
        self.reduced = reduced
        self.agreement = agreement

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        return self.result.headline

    @property
    def saturation(self) -> Saturation:
        """Whether it saturates, at what load, and how sure that is."""
        return self.result.saturation

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that hold, the strongest first."""
        return self.result.findings

    def lines(self) -> list[str]:
        """The headline, the findings, and what weakens the answer."""
        found = [
            f"{f.title} (strength {f.strength:.2f}): {f.summary}" for f in self.findings[:FINDINGS_SHOWN]
        ]
        warnings = [f"weakened by: {text}" for text in self.result.warnings]
        return [self.headline, *found, *self.agreement.lines, *warnings]

    def evidence(self) -> Frame:
        """What each finding rests on: a row for each fact, for or against it."""
        columns = [
            Column("rule", "text"),
            Column("variable", "text"),
            Column("load", "text", meaning="where it was looked at"),
            Column("value"),
            Column("error", meaning="standard error of the value"),
            Column("unit", "text"),
            Column("threshold", "text", meaning="what it was held against"),
            Column("supports", "bool"),
        ]

        def make() -> pa.Table:
            return made_table(
                columns,
                [
                    (f.rule, e.variable, e.load, e.value, e.error, e.unit, e.threshold, e.supports)
                    for f in (*self.findings, *self.result.others)
                    for e in f.evidence
                ],
            )

        return Frame("Evidence", make)

    def resources(self) -> Frame:
        """How full each recorded resource was, the shortest first; empty where nothing tells."""
        columns = [
            Column("resource", "text"),
            Column("component", "text"),
            *(Column(name, unit="fraction") for name in ("mean", "mean_low", "mean_high", "high95", "most")),
            Column("limit", unit="fraction", meaning="use from which on it counts as short"),
            Column("short", unit="fraction", meaning="part of the time in which it was short"),
            Column("waited", unit="fraction", meaning="part of the time in which something waited for it"),
            Column("headroom", meaning="factor by which its load may grow until it is short"),
            Column("lower_bound", "bool", meaning="its true use is at least this"),
            Column("upper_bound", "bool", meaning="its true use is at most this"),
        ]
        uses = self.result.standing.uses if self.result.standing is not None else ()

        def make() -> pa.Table:
            return made_table(
                columns,
                [
                    (
                        *(u.resource, u.component),
                        *((u.mean.value, u.mean.low, u.mean.high) if u.mean else (None, None, None)),
                        *(u.high95, u.most, u.limit, u.short, u.waited, u.headroom),
                        *(u.lower_bound, u.upper_bound),
                    )
                    for u in uses
                ],
            )

        return Frame("Use of resources", make)

    def waits(self) -> Frame:
        """Where the users' time went, by load: a row for each class of load and part of the time."""
        unit = self.reduced.result.load_unit
        columns = [
            Column("load_low", unit=unit),
            Column("load_high", unit=unit),
            Column("part", "text"),
            Column("share", unit="fraction"),
            Column("error", unit="fraction", meaning="standard error of the share"),
            Column("of", "text", meaning="of which time it is a share"),
            Column("method", "text"),
        ]

        def make() -> pa.Table:
            return made_table(
                columns,
                [
                    (w.load_low, w.load_high, p.part, p.share, p.error, w.of, p.method)
                    for w in self.result.waits
                    for p in w.parts
                ],
            )

        return Frame("Where the users' time went", make)

    def plot(self) -> Any:
        """An `altair.Chart` of throughput against load, with the saturation load and its interval marked.

        Raises
        ------
        InputError
            No throughput was recorded.
        """
        verdict = self.saturation
        name = verdict.throughput_variable
        if name is None or name not in self.reduced.result.curves:
            raise InputError(
                "nothing to draw: no throughput was recorded", hint=".resources() shows what was recorded"
            )
        chart = self.reduced.plot(name)
        low, high = verdict.range_low, verdict.range_high
        if verdict.at is None or low is None or high is None:
            return chart
        # An interval may reach beyond the loads that were seen; the chart does not.
        ends = [min(max(end, low), high) for end in (verdict.at.low, verdict.at.high)]
        words = f"saturated at {verdict.at.value:.3g} {verdict.at.unit}"
        return with_band(chart, min(max(verdict.at.value, low), high), ends[0], ends[1], words)

    def _table(self) -> pa.Table:
        columns = [
            Column("rule", "text"),
            Column("title", "text"),
            Column("component", "text"),
            Column("state", "text"),
            Column("strength", meaning="0 to 1; findings are ranked by it"),
            Column("chance", meaning="that an upgrade it asks for is nearly as good as the best"),
            Column("upgrade", "text", meaning="the one that would bring most of those it asks for"),
            Column("gain", unit="fraction", meaning="of work done at the heaviest load, by that upgrade"),
            Column("gain_error", unit="fraction", meaning="standard error of the gain"),
            Column("summary", "text"),
        ]
        rows = []
        for one in (*self.findings, *self.result.others):
            upgrade, gain, error = one.gain or (None, math.nan, math.nan)
            rows.append(
                (
                    *(one.rule, one.title, one.component, one.state, one.strength, one.chance),
                    *(upgrade, gain, error, one.summary),
                )
            )
        return made_table(columns, rows)

"""A prediction as a result: a row for each scenario and number of users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satline.api._charts import Dot, below_each_other, line_chart
from satline.api._columns import Column, Frame, finite, made_table
from satline.api._result import Result
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.diagnosis import Estimate
    from satline.prediction import Prediction, Scenario
    from satline.reconcile import Story

MEASURED = "measured"


class Predicted(Result["Prediction"]):
    """Throughput and response at other loads and after changes [Bard]; made by `OpenRecording.predict`.

    Its table has a row for each scenario and number of users, with 95 % intervals, and what was measured
    where the recording has that load. It is empty where nothing can be predicted: `lines` says why.

    Attributes
    ----------
    agreement
        How other answers from the same recording relate to it.
    """

    def __init__(self, result: Prediction, agreement: Story) -> None:
        super().__init__(result)
        self.agreement = agreement

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The system as it is, then after each change; empty where nothing can be predicted."""
        base = self.result.base
        return () if base is None else (base, *self.result.scenarios)

    def lines(self) -> list[str]:
        """Where each scenario saturates and by what; or why nothing can be predicted, and what to do."""
        if self.result.base is None:
            return ["Nothing can be predicted", *self.result.reasons, *self.result.advice]
        return [
            f"Predicted from loads of {self.result.from_low:.3g} to {self.result.from_high:.3g}",
            *(
                f"{s.name}: saturates at {_words(s.saturation_users)} users, first {s.first};"
                f" at most {_words(s.ceiling)} {s.ceiling.unit}"
                for s in self.scenarios
            ),
            *self.agreement.lines,
            *(f"weakened by: {text}" for text in self.result.warnings),
        ]

    def demands(self) -> Frame:
        """What a unit of work needs of each resource: a row for each."""
        columns = [
            Column("resource", "text"),
            Column("capacity", meaning="processors, or 1"),
            *(Column(f"demand{end}_s", unit="s") for end in ("", "_low", "_high")),
            Column("background", meaning="in use without the users, in the unit of the capacity"),
            Column("page_share", unit="fraction", meaning="part of the demand that is paging"),
        ]

        def make() -> pa.Table:
            return made_table(
                columns,
                [
                    (
                        *(d.name, d.capacity, d.demand_s.value, d.demand_s.low, d.demand_s.high),
                        *(d.background.value, d.page_share),
                    )
                    for d in self.result.demands
                ],
            )

        return Frame(f"Demands of a {self.result.unit}", make)

    def utilisation(self) -> Frame:
        """How full each resource is: a row for each scenario, number of users and resource."""
        columns = [
            Column("scenario", "text"),
            Column("users", "int", unit="users"),
            Column("resource", "text"),
            Column("utilisation", unit="fraction"),
        ]

        def make() -> pa.Table:
            return made_table(
                columns,
                [
                    (s.name, row.users, station, used)
                    for s in self.scenarios
                    for row in s.rows
                    for station, used in zip(s.stations, row.utilisation, strict=True)
                ],
            )

        return Frame("Utilisation", make)

    def plot(self) -> Any:
        """An `altair.Chart` of throughput against users, and of response below it; bars are 95 % intervals.

        Raises
        ------
        InputError
            Nothing could be predicted.
        """
        if self.result.base is None:
            raise InputError(
                f"nothing to draw: {'; '.join(self.result.reasons)}", hint=" ".join(self.result.advice)
            )
        unit = self.result.base.ceiling.unit
        throughput: list[Dot] = []
        response: list[Dot] = []
        for scenario in self.scenarios:
            for row in scenario.rows:
                throughput.append(_dot(scenario.name, row.users, row.throughput))
                response.append(_dot(scenario.name, row.users, row.response_s))
        for row in self.result.base.rows:
            if row.measured_throughput is not None:
                throughput.append(_dot(MEASURED, row.users, row.measured_throughput))
            if row.measured_response_s is not None:
                response.append(_dot(MEASURED, row.users, row.measured_response_s))
        return below_each_other(
            [
                line_chart(throughput, "users", f"throughput, {unit}"),
                line_chart(response, "users", "response, s"),
            ]
        )

    def _table(self) -> pa.Table:
        unit = self.result.base.ceiling.unit if self.result.base is not None else ""
        ends = ("", "_low", "_high")
        columns = [
            Column("scenario", "text"),
            Column("users", "int", unit="users"),
            *(Column(f"throughput{end}", unit=unit) for end in ends),
            *(Column(f"response{end}_s", unit="s") for end in ends),
            *(Column(f"measured_throughput{end}", unit=unit) for end in ends),
            *(Column(f"measured_response{end}_s", unit="s") for end in ends),
        ]
        rows = [
            (
                *(s.name, row.users, *_ends(row.throughput), *_ends(row.response_s)),
                *(*_ends(row.measured_throughput), *_ends(row.measured_response_s)),
            )
            for s in self.scenarios
            for row in s.rows
        ]
        return made_table(columns, rows)


def _dot(series: str, users: int, found: Estimate) -> Dot:
    return Dot(series, users, finite(found.value), finite(found.low), finite(found.high))


def _ends(found: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if found is None else (found.value, found.low, found.high)


def _words(found: Estimate) -> str:
    return f"{found.value:.3g} [{found.low:.3g}, {found.high:.3g}]"

"""A designed experiment as a result: its analysis of variance, its runs, its effects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from satline.api._charts import Dot, below_each_other, line_chart
from satline.api._columns import Column, Frame, finite, made_table
from satline.api._result import Result
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.experiment import Outcome, Part

_PART_COLUMNS = (Column("class", "text"), Column("measure", "text"))


class Experiment(Result["Outcome"]):
    """A designed experiment that was run and analysed; made by `study`.

    Its table is the analysis of variance: a row for each measure, class of commands and source of variation.

    Attributes
    ----------
    path
        The directory of its runs: the same study with this directory as ``out`` goes on there.
    """

    def __init__(self, result: Outcome, path: Path) -> None:
        super().__init__(result)
        self.path = path

    def lines(self) -> list[str]:
        """The factors, the runs, and what is significant of each measure."""
        from satline.experiment import verdicts

        plan = self.result.plan
        factors = "; ".join(f"{f.name} ({', '.join(f.levels)})" for f in plan.factors)
        lines = [f"{len(self.result.results)} of {len(plan.runs)} runs; factors: {factors}"]
        for part in self.result.parts:
            words = f"not analysed: {part.why}"
            if part.analysis is not None:
                found = [source for source, said in verdicts(part.analysis).items() if said == "significant"]
                words = f"significant: {', '.join(found) or 'nothing'}"
            lines.append(f"{part.class_name}, {part.measure}: {words}")
        return [*lines, *self.result.missing, *self.result.sensitivity]

    def runs(self) -> Frame:
        """What each run yielded: a row for each run and class of commands."""
        factors = [factor.name for factor in self.result.plan.factors]
        figures: dict[str, str] = {
            "reaction_s": "s",
            "reaction_p90_s": "s",
            "response_s": "s",
            "response_p90_s": "s",
            "interactions_per_minute": "per minute",
            "satisfaction": "fraction",
        }
        columns = [
            Column("run", "int"),
            Column("replicate", "int"),
            *(Column(name, "text") for name in factors),
            Column("class", "text"),
            *(Column(name, "int") for name in ("users", "interactions", "failed", "unanswered")),
            *(Column(name, unit=unit) for name, unit in figures.items()),
            Column("flags", "text", meaning="how its conditions differed from those of the others"),
        ]

        def make() -> pa.Table:
            return made_table(
                columns,
                [
                    (
                        *(one.run.number, one.run.replicate, *(one.run.levels[name] for name in factors)),
                        *(f.class_name, f.users, f.interactions, f.failed, f.unanswered),
                        *(getattr(f, name) for name in figures),
                        "; ".join(one.flags),
                    )
                    for one in self.result.results
                    for f in one.figures
                ],
            )

        return Frame("Runs", make)

    def effects(self) -> Frame:
        """Differences between levels, with intervals that hold for all of them together.

        Where ``log`` is true they are differences of natural logarithms of the measure.
        """
        columns = [
            *_PART_COLUMNS,
            Column("source", "text"),
            Column("from_level", "text"),
            Column("to_level", "text"),
            Column("effect"),
            Column("effect_low"),
            Column("effect_high"),
            Column("log", "bool"),
        ]

        def make() -> pa.Table:
            return made_table(
                columns,
                [
                    (
                        *(part.class_name, part.measure, c.source, *(c.between or (None, None))),
                        *(c.value, c.low, c.high, part.analysis.log),
                    )
                    for part in self.result.parts
                    if part.analysis is not None
                    for c in part.analysis.contrasts
                ],
            )

        return Frame("Effects", make)

    def plot(self, measure: str | None = None, class_name: str = "all") -> Any:
        """An `altair.Chart` of the mean of a measure at each level, one below the other for each factor.

        Bars are 95 % intervals.

        Parameters
        ----------
        measure
            Which; default: the first that was analysed.
        class_name
            Class of commands.

        Raises
        ------
        InputError
            That measure of that class was not analysed.
        """
        part = self._part(measure, class_name)
        assert part.analysis is not None
        means = part.analysis.means
        charts = []
        for factor in self.result.plan.factors:
            own = [one for one in means if one.factor == factor.name]
            # A level that is no number has its place among the levels.
            places = {level: _number(level, k) for k, level in enumerate(factor.levels)}
            dots = [
                Dot(f"{factor.name} {m.level}", places[m.level], *map(finite, (m.value, m.low, m.high)))
                for m in own
            ]
            charts.append(line_chart(dots, factor.name, part.measure, line=False, zero=False))
        return below_each_other(charts)

    def _part(self, measure: str | None, class_name: str) -> Part:
        for part in self.result.parts:
            if (
                part.class_name == class_name
                and measure in (None, part.measure)
                and part.analysis is not None
            ):
                return part
        known = [f"{p.measure} of {p.class_name}" for p in self.result.parts if p.analysis is not None]
        raise InputError(
            f"{measure or 'no measure'} of {class_name} was not analysed",
            hint=f"analysed: {', '.join(known) or 'nothing; see lines()'}",
        )

    def _table(self) -> pa.Table:
        columns = [
            *_PART_COLUMNS,
            Column("source", "text"),
            Column("sum_of_squares"),
            Column("degrees_of_freedom", "int"),
            Column("mean_square"),
            Column("f"),
            Column("p", meaning="chance of as large an F where there is no effect"),
            Column("p_adjusted", meaning="the same, kept for all terms together"),
        ]
        return made_table(
            columns,
            [
                (
                    *(part.class_name, part.measure, row.source, row.squares, row.freedom),
                    *(row.mean_square, finite(row.f), row.chance, row.adjusted),
                )
                for part in self.result.parts
                if part.analysis is not None
                for row in part.analysis.rows
            ],
        )


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise

"""Curves against load as a result: a row for each variable and load class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satline.api._charts import Dot, below_each_other, line_chart
from satline.api._columns import Column, Frame, finite, made_table, metadata_of
from satline.api._result import Result
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.api._recording import OpenRecording
    from satline.reduction import Reduction

PERCENTILES = (25, 50, 75, 90)
USUAL = ("transaction_rate", "response", "total_cpu", "page_wait", "io_wait", "paging_rate")
MOST_SHOWN = 4
_ERRORS = {
    "sd": "standard deviation of the observations",
    "standard_error": "sd / sqrt(n)",
    "honest_error": "standard error by batch means, which accounts for autocorrelation",
    "effective_n": "independent observations that would give honest_error",
}


class Reduced(Result["Reduction"]):
    """A recording's variables against load [Bard]; made by `OpenRecording.reduce`.

    Its table has a row for each variable and class of load: the ends and the middle of the class, the
    variable, its unit, the number of observations, mean, standard deviation, errors and percentiles.
    """

    def __init__(self, result: Reduction, recording: OpenRecording) -> None:
        super().__init__(result)
        # Observations are read when they are asked for: a temporary import stays until then.
        self._recording = recording

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables that have a curve."""
        return tuple(self.result.curves)

    @property
    def missing(self) -> dict[str, str]:
        """Variables without a curve, and why."""
        return self.result.missing

    def lines(self) -> list[str]:
        """What load is, its classes, and how many variables have a curve."""
        from satline.present import axis_words

        curves = self.result
        loads = [f"{curves.classes[0].low:g} to {curves.classes[-1].high:g}"] if curves.classes else []
        return [
            f"{len(self.variables)} variables against {axis_words(curves.load_axis)}",
            ", ".join(
                [
                    f"{len(curves.classes)} classes of load",
                    *loads,
                    f"{sum(c.observations for c in curves.classes)} observations",
                ]
            ),
            *([f"only {curves.filters}"] if curves.filters else []),
            *([f"{len(self.missing)} variables are missing: see .missing"] if self.missing else []),
        ]

    def trends(self) -> Frame:
        """Whether each variable surely changes with load: a row for each variable, in words."""
        from satline.reduction import trend

        columns = [Column("variable", "text"), Column("trend", "text")]

        def make() -> pa.Table:
            return made_table(columns, [(n, trend(c).words) for n, c in self.result.curves.items()])

        return Frame("Trends with load", make)

    def observations(self, *variables: str) -> Frame:
        """The observations behind the curves: a row for each, in the order of time.

        Parameters
        ----------
        variables
            Which to give beside the load, the class of load (from 0; −1: none), the block that is taken as
            independent, and the observation's length; default: all that were reduced.

        Raises
        ------
        InputError
            A variable that was not reduced.
        """
        found = self.result.observations
        names = list(variables) or [n for n in self.result.curves if n in found]
        for name in names:
            if name not in found:
                raise InputError(
                    f"{name}: there are no observations of it",
                    hint="name it in reduce(variables=[...]); .variables lists those that were reduced",
                )
        return Frame("Observations", lambda: self._observed(names))

    def _observed(self, names: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        curves = self.result
        units = {name: curve.unit for name, curve in curves.curves.items()}
        parts = [
            ("load", curves.load, curves.load_unit),
            ("load_class", curves.number, ""),
            ("block", curves.batches, ""),
            ("length_s", curves.seconds, "s"),
            *((name, curves.observations[name], units.get(name, "")) for name in names),
        ]
        # NaN stands for missing in these arrays, and null does here.
        arrays = [pa.array(values, from_pandas=True) for _, values, _ in parts]
        fields = [
            pa.field(name, array.type, metadata=metadata_of(unit))
            for (name, _, unit), array in zip(parts, arrays, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def plot(self, *variables: str) -> Any:
        """An `altair.Chart` of means against load, one below the other for each unit.

        Bars are ±1 standard error, which accounts for autocorrelation where there are enough observations.

        Parameters
        ----------
        variables
            Which to draw; default: throughput, response, processors and waits, as far as they were recorded.

        Raises
        ------
        InputError
            A variable without a curve.
        """
        from satline.present import axis_words, variable_words

        curves = self.result.curves
        chosen = list(variables) or [n for n in USUAL if n in curves][:MOST_SHOWN]
        chosen = chosen or list(self.variables)[:MOST_SHOWN]
        for name in chosen:
            if name not in curves:
                why = self.missing.get(name, "it was not reduced")
                raise InputError(f"{name} has no curve: {why}", hint=".variables lists those that have one")
        if not chosen:
            raise InputError("nothing to draw: no variable has a curve", hint=".missing says why")
        units = dict.fromkeys(curves[name].unit for name in chosen)
        axis = f"{axis_words(self.result.load_axis)}"
        charts = []
        for unit in units:
            same = [name for name in chosen if curves[name].unit == unit]
            dots = [dot for name in same for dot in self._dots(name, variable_words(name))]
            y = f"{variable_words(same[0])}, {unit}" if len(same) == 1 else unit
            charts.append(line_chart(dots, axis, y))
        return below_each_other(charts)

    def _dots(self, name: str, words: str) -> list[Dot]:
        found = []
        for load, point in zip(self.result.classes, self.result.curves[name].points, strict=True):
            mean, error = finite(point.mean), finite(point.honest_error or point.standard_error)
            ends = (None, None) if mean is None or error is None else (mean - error, mean + error)
            found.append(Dot(words, load.midpoint, mean, *ends))
        return found

    def _table(self) -> pa.Table:
        curves, unit = self.result, self.result.load_unit
        columns = [
            Column("load_low", unit=unit),
            Column("load_high", unit=unit),
            Column("load", unit=unit, meaning="midpoint of the class, or its mean load"),
            Column("class_observations", "int"),
            Column("class_seconds", unit="s"),
            Column("variable", "text"),
            Column("unit", "text", meaning="of mean, sd, errors and percentiles"),
            Column("n", "int", meaning="observations that have the variable"),
            Column("mean"),
            *(Column(name, meaning=meaning) for name, meaning in _ERRORS.items()),
            *(Column(f"p{p}") for p in PERCENTILES),
            *(Column(f"p{p}_{end}") for p in PERCENTILES for end in ("low", "high")),
        ]
        rows = []
        for name, curve in curves.curves.items():
            for load, point in zip(curves.classes, curve.points, strict=True):
                ends = [e for p in PERCENTILES for e in point.percentile_intervals.get(p, (None, None))]
                rows.append(
                    (
                        *(load.low, load.high, load.midpoint, load.observations, load.seconds),
                        *(name, curve.unit, point.n, point.mean),
                        *(getattr(point, error) for error in _ERRORS),
                        *(point.percentiles.get(p) for p in PERCENTILES),
                        *ends,
                    )
                )
        return made_table(columns, rows)

"""The diagnosis as text in a terminal: the verdict first, then its evidence, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from satline.diagnosis import Diagnosis, Evidence, Finding, Standing, Unseen
from satline.present import _numbers, _words
from satline.present._text import print_table, say
from satline.present.blocks import Column, Table
from satline.reduction import Curves, Point

_WIDEST = 100
_MOST_ALARMS = 5
NARROW = 64


def print_diagnosis(
    diagnosis: Diagnosis, console: Console, *, every: bool = True, notes: Sequence[str] = ()
) -> None:
    """Prints `diagnosis` on `console`, no wider than 100 columns.

    Without `every`, rules that do not hold and signals that could not be seen are folded to a line each.
    `notes` follow the headline: what other answers say (`satline.reconcile`).

    Names that come from outside are shown with their control characters as visible escapes. Colour is left to
    rich: none when the output is not a terminal or NO_COLOR is set.
    """
    _Page(console, every).diagnosis(diagnosis, notes)


def curves_table(curves: Curves, variables: Sequence[str]) -> Table:
    """A table of `variables` against load: mean ± one standard error, a row for each load class.

    The error is the honest one where there is one, else the textbook one. A variable that `curves` lacks has
    an empty column, whose heading says so.
    """
    columns = [Column(_words.axis_words(curves.load_axis)), Column("observations")]
    for variable in variables:
        words = _words.variable_words(variable)
        if variable in curves.curves:
            columns.append(Column(words, _unit(curves, variable)))
        else:
            columns.append(Column(f"{words} (not recorded)"))
    rows = []
    for index, load_class in enumerate(curves.classes):
        row = [_words.load_words(load_class), f"{load_class.observations:,}"]
        for variable in variables:
            curve = curves.curves.get(variable)
            largest = _largest(curves, variable) if curve else 0.0
            row.append(_mean(curve.points[index], curve.unit, largest) if curve else "")
        rows.append(tuple(row))
    return Table(tuple(columns), tuple(rows))


def _largest(curves: Curves, variable: str) -> float:
    means = [abs(point.mean) for point in curves.curves[variable].points if point.mean is not None]
    return max(means, default=0.0)


def _unit(curves: Curves, variable: str) -> str:
    return _numbers.scale(curves.curves[variable].unit, _largest(curves, variable)).label


def _mean(point: Point, unit: str, largest: float) -> str:
    """The mean and its error in the scale of the column, without the unit."""
    if point.mean is None:
        return "–"
    factor = _numbers.scale(unit, largest).factor
    error = point.honest_error if point.honest_error is not None else point.standard_error
    return _numbers.quantity(point.mean * factor, "", None if error is None else error * factor)


class _Page:
    """Prints parts of a diagnosis one under the other."""

    def __init__(self, console: Console, every: bool = True) -> None:
        self._console = console
        self._every = every
        self._width = min(console.width, _WIDEST)

    def diagnosis(self, diagnosis: Diagnosis, notes: Sequence[str] = ()) -> None:
        self._line(diagnosis.headline, style="bold")
        for note in notes:
            self._line(note)
        self._line(f"Recording: {diagnosis.recording}", style="dim")
        if diagnosis.standing is not None:
            self._standing(diagnosis.standing)
        self._saturation(diagnosis)
        self._section("Findings, strongest first")
        findings, remarks = split_remarks(diagnosis.findings)
        if not findings:
            self._line("No rule holds: nothing is named as the bottleneck.", indent=2)
        for rank, finding in enumerate(findings, start=1):
            self._finding(rank, finding)
        if remarks:
            self._section("Remarks, which name no bottleneck")
        for rank, finding in enumerate(remarks, start=1):
            self._finding(rank, finding)
        alarms = _words.alarm_lines(diagnosis.alarms, None if self._every else _MOST_ALARMS)
        self._list("Probes that took much longer than usual", alarms)
        self._waits(diagnosis)
        if self._every:
            self._others("Rules that do not hold", [f for f in diagnosis.others if f.state != "cannot-judge"])
            self._list(
                "Rules that could not be judged",
                [f"{titles}: {reason}" for titles, reason in unjudged(diagnosis.others)],
            )
            self._unseen(diagnosis.unseen)
            self._list("Left out as impossible", _words.implausible_lines(diagnosis.implausible))
        else:
            self._folded(diagnosis)
            if diagnosis.implausible:
                self._console.print()
                left_out = _words.implausible_line(diagnosis.implausible)
                self._line(f"Left out as impossible: {left_out} (--all lists them).")
        self._list("What weakens the answer", diagnosis.warnings)
        self._list("Conditions", [f"{name}: {value}" for name, value in diagnosis.conditions.items()])

    def _standing(self, standing: Standing) -> None:
        rows = _words.use_rows(standing)
        if self._width < NARROW:
            rows = [[row[0], row[1], row[4]] for row in rows]
        if len(rows) > 1:
            self._section("How full each resource was")
            self._table(Table.of(rows), indent=2)
            for note in _words.use_notes(standing):
                self._line(note, indent=2)
        self._bounds(standing)
        self._section("Next step")
        self._line(standing.next_step or "None.", indent=2)

    def _bounds(self, standing: Standing) -> None:
        """What is bounded though its capacity is not known."""
        rows = _words.bound_rows(standing)
        if len(rows) == 1:
            return
        if self._width < NARROW:
            rows = [[row[0], row[1], row[4]] for row in rows]
        self._section("Bounds where the capacity is not known")
        self._table(Table.of(rows, text=(0, 1)), indent=2)
        for note in _words.bound_notes(standing):
            self._line(note, indent=2)

    def _folded(self, diagnosis: Diagnosis) -> None:
        """Rules that name nothing, and signals that were not there, in a line each."""
        failed = [f.title for f in diagnosis.others if f.state != "cannot-judge"]
        blind = [f.title for f in diagnosis.others if f.state == "cannot-judge"]
        lines = []
        if failed:
            lines.append(f"Do not hold: {'; '.join(failed)}.")
        if blind:
            lines.append(f"Could not be judged: {'; '.join(blind)}.")
        if diagnosis.unseen:
            lines.append(f"{len(diagnosis.unseen)} signals that the rules use were not recorded.")
        if lines:
            self._section("Other rules")
            for line in lines:
                self._item("–", line, indent=2)
            self._line("`satline diagnose --all` says why of each.", indent=2)

    def _waits(self, diagnosis: Diagnosis) -> None:
        rows = _words.wait_rows(diagnosis.waits, _words.axis_words(diagnosis.saturation.load_axis))
        if len(rows) < 2 or len(rows[0]) < 2:
            return
        self._section("Where the users' time went")
        self._table(Table.of(rows))
        for note in _words.wait_notes(diagnosis.waits):
            self._line(note, indent=2)

    def _saturation(self, diagnosis: Diagnosis) -> None:
        saturation = diagnosis.saturation
        self._section("Saturation")
        self._line(f"{_words.outcome_words(saturation.outcome)}.", indent=2)
        for line in _words.saturation_lines(saturation):
            self._line(line, indent=2)
        self._bullets("Why", saturation.reasons)
        self._bullets("What to do about that", saturation.advice)

    def _finding(self, rank: int, finding: Finding) -> None:
        if rank > 1:
            self._console.print()
        sure = _words.sure_words(finding)
        self._item(f"{rank}.", f"{_words.sentence(finding.title)} — {sure}", indent=2, style="bold")
        self._line(_words.sentence(finding.summary), indent=5)
        if finding.evidence:
            self._line("Evidence", indent=5, style="underline")
        for evidence in finding.evidence:
            mark = "?" if evidence.value is None else "✓" if evidence.supports else "✗"
            self._item(mark, evidence_words(evidence), indent=5)
        self._bullets("Remedies, cheapest first", finding.remedies, indent=5, numbered=True)
        self._bullets("It would be a false reading if", finding.false_readings, indent=5)
        self._bullets("Not seen for this rule", finding.missing, indent=5)

    def _others(self, title: str, findings: Sequence[Finding]) -> None:
        self._list(title, [f"{_words.sentence(finding.title)}: {finding.summary}" for finding in findings])

    def _unseen(self, unseen: Sequence[Unseen]) -> None:
        self._list("What could not be seen", unseen_words(unseen))

    def _list(self, title: str, lines: Sequence[str]) -> None:
        if lines:
            self._section(title)
            for line in lines:
                self._item("–", line, indent=2)

    def _bullets(self, title: str, lines: Iterable[str], *, indent: int = 2, numbered: bool = False) -> None:
        for index, line in enumerate(lines, start=1):
            if index == 1:
                self._line(title, indent=indent, style="underline")
            self._item(f"{index}." if numbered else "–", line, indent=indent)

    def _table(self, table: Table, indent: int = 0) -> None:
        print_table(table, self._console, width=self._width, indent=indent)

    def _section(self, title: str) -> None:
        self._console.print()
        self._line(title, style="bold cyan")

    def _line(self, words: str, *, indent: int = 0, style: str = "") -> None:
        self._wrapped(" " * indent, words, style)

    def _item(self, mark: str, words: str, *, indent: int, style: str = "") -> None:
        self._wrapped(f"{' ' * indent}{mark} ", words, style)

    def _wrapped(self, lead: str, words: str, style: str) -> None:
        say(words, self._console, style, lead=lead, width=self._width)


def split_remarks(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Findings that name what holds the load back, and remarks, which name nothing."""
    remarks = [finding for finding in findings if finding.component == "none"]
    return [finding for finding in findings if finding.component != "none"], remarks


def unjudged(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Titles of the rules that could not be judged, and why; those with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for finding in findings:
        if finding.state == "cannot-judge":
            by_reason.setdefault(finding.summary, []).append(_words.sentence(finding.title))
    return [("; ".join(titles), reason) for reason, titles in by_reason.items()]


def evidence_words(evidence: Evidence) -> str:
    """One line of evidence: variable, load, number ± error, and the sign that it was held against."""
    shown = _numbers.quantity(evidence.value, evidence.unit, evidence.error)
    words = f"{_words.variable_words(evidence.variable)}"
    if evidence.load:
        words += f", {evidence.load}"
    words += f": {shown}"
    if evidence.threshold:
        fraction = evidence.unit.startswith("fraction")
        sign = _numbers.percentages(evidence.threshold) if fraction else evidence.threshold
        words += f" (sign: {sign})"
    return words


def unseen_words(unseen: Sequence[Unseen]) -> list[str]:
    """What was not there: why, what it would have needed, which rules lost by it; a line for each remedy."""
    together: dict[str, list[Unseen]] = {}
    for signal in unseen:
        plain = signal.would_need and signal.reason.startswith("not recorded")
        together.setdefault(signal.would_need if plain else f"{signal.signal}\n{signal.reason}", []).append(
            signal
        )
    return [_unseen_line(signals) for signals in together.values()]


def _unseen_line(signals: Sequence[Unseen]) -> str:
    first = signals[0]
    names = ", ".join(_words.variable_words(signal.signal) for signal in signals)
    words = f"{names}: {first.reason if len(signals) == 1 else 'not recorded'}"
    if first.would_need:
        words += f"; {'it' if len(signals) == 1 else 'they'} would have needed {first.would_need}"
    rules = dict.fromkeys(rule for signal in signals for rule in signal.rules)
    if rules:
        words += f" (rules that lose by it: {', '.join(rules)})"
    return words

"""A comparison in a terminal: the answer first, then what it rests on, in 80 columns."""

from __future__ import annotations

from rich.console import Console

from satline.comparison import Comparison
from satline.comparison.expansion import Expansion
from satline.present import _compare_words as words
from satline.present import _words
from satline.present._text import print_table
from satline.present.blocks import Table
from satline.present.terminal import _Page


def print_comparison(found: Comparison, console: Console, *, full: bool = False) -> None:
    """Prints `found`; with `full` also the points of the curves."""
    _Compared(console).show(found, full)


def print_expansion(found: Expansion, console: Console) -> None:
    """Prints expansion factors."""
    page = _Compared(console)
    if found.filters:
        page.say(f"Only {found.filters}.")
    page.table(words.expansion_rows(found))
    if "service" in found.methods.values():
        page.say("Alone: processor time, and service of the I/Os without queueing.")
    light = [kind or "all" for kind, method in found.methods.items() if method == "lightest"]
    if light:
        page.say(
            f"Alone, of {', '.join(light)}: the response at the lightest load seen, as what transactions need"
            " was not recorded; at that load they were hardly alone."
        )


class _Compared(_Page):
    def say(self, words: str) -> None:
        """A line of text."""
        self._line(words)

    def show(self, found: Comparison, full: bool) -> None:
        self._line(_words.sentence(found.headline) + ".", style="bold")
        if found.filters:
            self._line(f"Only {found.filters}.")
        for note in found.notes:
            self._item("!", _words.sentence(note) + ".", indent=0)
        self._rows("The two periods", words.period_rows(found))
        self._rows(
            f"At equal load: {found.measure_words}",
            words.matched_rows(found),
            "Intervals are 95 %; p is after Holm's correction for all classes, that of all by itself."
            + _outside(found),
        )
        across, along = words.equal_rows(found)
        self._rows("At equal throughput (trade-off curve)", across)
        self._rows("At equal " + found.measure_words, along)
        if found.trade_off is not None and found.trade_off.why_not:
            self._section("Trade-off curve")
            self._line(f"Nothing at equal throughput: {found.trade_off.why_not}.", indent=2)
        if full:
            self._rows("Points of the trade-off curves", words.curve_rows(found))
        self._rows("Hour by hour", words.hour_rows(found), *words.hour_words(found))
        self._rows("Processor time for the work", [row[:-1] for row in words.work_rows(found)])
        self._rows("What changed", words.change_rows(found))
        if found.confounded:
            self._line(_words.sentence(found.confounded) + ".", indent=2)
        self._list("Not compared", found.lacking)

    def _rows(self, title: str, rows: words.Rows, *notes: str) -> None:
        if not rows:
            return
        self._section(title)
        self.table(rows)
        for note in notes:
            self._line(note, indent=2)

    def table(self, rows: words.Rows) -> None:
        """A table of a heading row and the rows below it."""
        last = len(rows[0]) - 1
        text = (0, last) if rows[0][last] == "what" else (0,)
        print_table(Table.of(rows, text=text), self._console, width=self._width)


def _outside(found: Comparison) -> str:
    if found.matched is None or max(found.matched.outside) < 0.005:
        return ""
    before, after = found.matched.outside
    parts = f"{before * 100:.0f} % of before, {after * 100:.0f} % of after"
    return f" Not compared, as the other side lacks the load: {parts}."

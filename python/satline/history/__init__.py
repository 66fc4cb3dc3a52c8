"""History: recordings kept under rules, and a day held against the days before it [Bitner]."""

from satline.history._add import Added, Pruned, add, prune
from satline.history._compare import TOGETHER, ChangedColumn, HistoryComparison, compare_with_history, judge
from satline.history._figures import Figures, Row, read_figures
from satline.history._rows import ChangedRow
from satline.history._store import DayNote, History, Kept, Rules, parse_day, today, used_bytes

__all__ = [
    "TOGETHER",
    "Added",
    "ChangedColumn",
    "ChangedRow",
    "DayNote",
    "Figures",
    "History",
    "HistoryComparison",
    "Kept",
    "Pruned",
    "Row",
    "Rules",
    "add",
    "compare_with_history",
    "judge",
    "parse_day",
    "prune",
    "read_figures",
    "today",
    "used_bytes",
]

"""Comparison: did a change help? Two periods at equal load, with intervals that respect time [TB84]."""

from satline.comparison._compare import Options, compare
from satline.comparison._results import (
    AtEqual,
    BandPoint,
    Change,
    Comparison,
    CurvePoint,
    Estimate,
    Hours,
    Matched,
    MatchedClass,
    Period,
    TradeOff,
    Work,
)
from satline.comparison._sides import find_recordings, moment_of

__all__ = [
    "AtEqual",
    "BandPoint",
    "Change",
    "Comparison",
    "CurvePoint",
    "Estimate",
    "Hours",
    "Matched",
    "MatchedClass",
    "Options",
    "Period",
    "TradeOff",
    "Work",
    "compare",
    "find_recordings",
    "moment_of",
]

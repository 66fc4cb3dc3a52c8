"""Comparison: did a change help? Two periods at equal load, with intervals that respect time [TB84]."""

from satline.comparison._compare import Options, compare
from satline.comparison._results import Comparison, CurvePoint, Estimate
from satline.comparison._sides import find_recordings, moment_of

__all__ = ["Comparison", "CurvePoint", "Estimate", "Options", "compare", "find_recordings", "moment_of"]

"""Designed experiments as studies: a plan, its runs one after another, and what they say together."""

from satline.experiment.designed._cells import Designed, designed
from satline.experiment.designed._file import DesignPart, FactorPart

__all__ = ["DesignPart", "Designed", "FactorPart", "designed"]

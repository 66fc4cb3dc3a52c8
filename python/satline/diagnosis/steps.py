"""The steps of a diagnosis, for analyses that ask something else of the same observations."""

from satline.diagnosis._blocks import lengthen, student
from satline.diagnosis._hinge import Integers, make_levels
from satline.diagnosis._hinge import fit as fit_hinge
from satline.diagnosis._histories import MOST_ENTITIES, ROUNDING_NS, Courses, Histories
from satline.diagnosis._load import nongranular
from satline.diagnosis._series import Series, independent
from satline.diagnosis._usl import usl

__all__ = [
    "MOST_ENTITIES",
    "ROUNDING_NS",
    "Courses",
    "Histories",
    "Integers",
    "Series",
    "fit_hinge",
    "independent",
    "lengthen",
    "make_levels",
    "nongranular",
    "student",
    "usl",
]

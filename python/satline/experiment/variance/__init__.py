"""Analysis of variance of designed experiments."""

from satline.experiment.variance._anova import Analysis, Contrast, LevelMean, Row, analyse, mean_squares
from satline.experiment.variance._checks import Check
from satline.experiment.variance._coding import Layout
from satline.experiment.variance._lenth import Lenth, lenth
from satline.experiment.variance._power import effective_size, observations_needed, replicates_needed
from satline.experiment.variance._table import Results, per_run, read_table, split_by
from satline.experiment.variance._yates import YatesRow, yates

__all__ = [
    "Analysis",
    "Check",
    "Contrast",
    "Layout",
    "Lenth",
    "LevelMean",
    "Results",
    "Row",
    "YatesRow",
    "analyse",
    "effective_size",
    "lenth",
    "mean_squares",
    "observations_needed",
    "per_run",
    "read_table",
    "replicates_needed",
    "split_by",
    "yates",
]

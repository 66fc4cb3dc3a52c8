"""Analysis of variance of designed experiments."""

from satline.experiment.variance._anova import Analysis, Contrast, LevelMean, Row, analyse, mean_squares
from satline.experiment.variance._checks import Check
from satline.experiment.variance._coding import Layout, all_terms, estimable
from satline.experiment.variance._lenth import Lenth, lenth
from satline.experiment.variance._power import (
    effective_size,
    observations_needed,
    power_of_factor,
    replicates_needed,
    terms_of_two,
    window_variance,
)
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
    "all_terms",
    "analyse",
    "effective_size",
    "estimable",
    "lenth",
    "mean_squares",
    "observations_needed",
    "per_run",
    "power_of_factor",
    "read_table",
    "replicates_needed",
    "split_by",
    "terms_of_two",
    "window_variance",
    "yates",
]

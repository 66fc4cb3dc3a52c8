"""Designs: which combinations of factors are run, in which blocks and order."""

from satline.experiment.designs._factors import Factor, Skip, parse_factor, parse_skip
from satline.experiment.designs._fraction import Fraction, choose_fraction, fraction_of, parse_generators
from satline.experiment.designs._plan import Plan, Run, make_plan

__all__ = [
    "Factor",
    "Fraction",
    "Plan",
    "Run",
    "Skip",
    "choose_fraction",
    "fraction_of",
    "make_plan",
    "parse_factor",
    "parse_generators",
    "parse_skip",
]

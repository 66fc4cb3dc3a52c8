"""Designs: which combinations of factors are run, in which blocks and order."""

from satline.experiment.designs._blocks import given_up
from satline.experiment.designs._factors import LETTERS, Factor, Skip, check_factors, parse_factor, parse_skip
from satline.experiment.designs._fraction import (
    ROMAN,
    Fraction,
    choose_fraction,
    fraction_of,
    parse_fraction,
    parse_generators,
    parse_resolution,
)
from satline.experiment.designs._plan import Plan, Run, make_plan
from satline.experiment.designs._words import length, letters, names, parse_word

__all__ = [
    "LETTERS",
    "ROMAN",
    "Factor",
    "Fraction",
    "Plan",
    "Run",
    "Skip",
    "check_factors",
    "choose_fraction",
    "fraction_of",
    "given_up",
    "length",
    "letters",
    "make_plan",
    "names",
    "parse_factor",
    "parse_fraction",
    "parse_generators",
    "parse_resolution",
    "parse_skip",
    "parse_word",
]

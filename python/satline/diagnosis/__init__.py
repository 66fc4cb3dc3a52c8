"""Diagnosis: is it saturated, at what load, and what holds it back [Bard]."""

from satline.diagnosis._answer import chance_words, resource_words, times
from satline.diagnosis._courses import ROUNDING_NS
from satline.diagnosis._diagnose import diagnose, vm_words
from satline.diagnosis._hinge import Integers, make_levels
from satline.diagnosis._hinge import fit as fit_hinge
from satline.diagnosis._histories import MOST_ENTITIES, Courses, Histories
from satline.diagnosis._known import require_two_readings
from satline.diagnosis._lateness import LateLoad, Lateness, lateness_of
from satline.diagnosis._load import in_users, load_units, nongranular
from satline.diagnosis._results import (
    Alarm,
    Diagnosis,
    Estimate,
    Evidence,
    Finding,
    HeldUp,
    Implausible,
    Outcome,
    ResourceUse,
    Saturation,
    Standing,
    Together,
    Unseen,
    UslFit,
    WaitingUser,
    WaitPart,
    WaitShares,
)
from satline.diagnosis._series import Series, independent, lengthen, student
from satline.diagnosis._suffices import Suffices, suffices
from satline.diagnosis._throughput import mix_changes, work_completed
from satline.diagnosis._unseen import implausible
from satline.diagnosis._usl import usl
from satline.diagnosis._waits import wait_shares
from satline.diagnosis._warnings import LOG_ON_ADVICE, absent_users, failed_part
from satline.diagnosis._words import amount, span_words, two_digits
from satline.diagnosis.rules import RULES
from satline.diagnosis.rules._worth import undecided
from satline.diagnosis.saturation import saturation

__all__ = [
    "LOG_ON_ADVICE",
    "MOST_ENTITIES",
    "ROUNDING_NS",
    "RULES",
    "Alarm",
    "Courses",
    "Diagnosis",
    "Estimate",
    "Evidence",
    "Finding",
    "HeldUp",
    "Histories",
    "Implausible",
    "Integers",
    "LateLoad",
    "Lateness",
    "Outcome",
    "ResourceUse",
    "Saturation",
    "Series",
    "Standing",
    "Suffices",
    "Together",
    "Unseen",
    "UslFit",
    "WaitPart",
    "WaitShares",
    "WaitingUser",
    "absent_users",
    "amount",
    "chance_words",
    "diagnose",
    "failed_part",
    "fit_hinge",
    "implausible",
    "in_users",
    "independent",
    "lateness_of",
    "lengthen",
    "load_units",
    "make_levels",
    "mix_changes",
    "nongranular",
    "require_two_readings",
    "resource_words",
    "saturation",
    "span_words",
    "student",
    "suffices",
    "times",
    "two_digits",
    "undecided",
    "usl",
    "vm_words",
    "wait_shares",
    "work_completed",
]

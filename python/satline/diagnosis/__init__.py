"""Diagnosis: is it saturated, at what load, and what holds it back [Bard]."""

from satline.diagnosis._absent import LOG_ON_ADVICE, absent_users
from satline.diagnosis._diagnose import diagnose, vm_words
from satline.diagnosis._implausible import implausible
from satline.diagnosis._known import require_two_readings
from satline.diagnosis._lateness import LateLoad, Lateness, lateness_of
from satline.diagnosis._load import in_users, load_units
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
from satline.diagnosis._suffices import Suffices, suffices
from satline.diagnosis._waits import wait_shares
from satline.diagnosis._warnings import failed_part
from satline.diagnosis.rules import RULES
from satline.diagnosis.saturation import saturation

__all__ = [
    "LOG_ON_ADVICE",
    "RULES",
    "Alarm",
    "Diagnosis",
    "Estimate",
    "Evidence",
    "Finding",
    "HeldUp",
    "Implausible",
    "LateLoad",
    "Lateness",
    "Outcome",
    "ResourceUse",
    "Saturation",
    "Standing",
    "Suffices",
    "Together",
    "Unseen",
    "UslFit",
    "WaitPart",
    "WaitShares",
    "WaitingUser",
    "absent_users",
    "diagnose",
    "failed_part",
    "implausible",
    "in_users",
    "lateness_of",
    "load_units",
    "require_two_readings",
    "saturation",
    "suffices",
    "vm_words",
    "wait_shares",
]

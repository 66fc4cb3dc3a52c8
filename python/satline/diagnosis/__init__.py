"""Diagnosis: is it saturated, at what load, and what holds it back [Bard]."""

from satline.diagnosis._diagnose import diagnose
from satline.diagnosis._json import to_dict, to_json
from satline.diagnosis._results import Diagnosis, Estimate, Evidence, Finding, Saturation, Unseen
from satline.diagnosis.rules import RULES
from satline.diagnosis.saturation import saturation

__all__ = [
    "RULES",
    "Diagnosis",
    "Estimate",
    "Evidence",
    "Finding",
    "Saturation",
    "Unseen",
    "diagnose",
    "saturation",
    "to_dict",
    "to_json",
]

"""Reconciling: what several answers say of one recording, as one story, or why they differ."""

from satline.reconcile._answers import Allowed, Answers, planted
from satline.reconcile._reconcile import reconcile, story, weakened
from satline.reconcile._results import Reason, Relation, Said, Story

__all__ = [
    "Allowed",
    "Answers",
    "Reason",
    "Relation",
    "Said",
    "Story",
    "planted",
    "reconcile",
    "story",
    "weakened",
]

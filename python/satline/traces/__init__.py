"""Page-reference traces: imported, recorded, and replayed against replacement policies."""

from satline.traces._program import Program, Progress
from satline.traces._record import record
from satline.traces._replay import Replayed, ReplayedPolicy, replay

__all__ = [
    "Program",
    "Progress",
    "Replayed",
    "ReplayedPolicy",
    "record",
    "replay",
]

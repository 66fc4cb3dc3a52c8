"""The picture of a simulated run as it goes, on a terminal."""

from satline.present.watching._live import watch
from satline.present.watching._pace import USUAL_PACE, Pace

__all__ = ["USUAL_PACE", "Pace", "watch"]

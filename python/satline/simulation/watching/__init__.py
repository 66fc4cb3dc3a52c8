"""A simulated run as it goes: what is where in storage, who waits for what, how busy the devices are."""

from satline.simulation.watching._keys import USUAL_PACE, Pace
from satline.simulation.watching._live import watch
from satline.simulation.watching._rates import History, Rates
from satline.simulation.watching._stream import Device, Frame, Machine, Watched

__all__ = [
    "USUAL_PACE",
    "Device",
    "Frame",
    "History",
    "Machine",
    "Pace",
    "Rates",
    "Watched",
    "watch",
]

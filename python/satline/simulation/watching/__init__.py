"""A simulated run as it goes: what is where in storage, who waits for what, how busy the devices are."""

from satline.simulation.watching._rates import DeviceRates, History, Rates
from satline.simulation.watching._stream import Device, Frame, Machine, Watched

__all__ = [
    "Device",
    "DeviceRates",
    "Frame",
    "History",
    "Machine",
    "Rates",
    "Watched",
]

"""Free constants of a simulated machine, fitted to a measured table by simulation."""

from satline.simulation.calibration._calibrate import Calibrated, Fitted, Line, calibrate
from satline.simulation.calibration._file import Calibration, CalibrationFile, read_calibration

__all__ = [
    "Calibrated",
    "Calibration",
    "CalibrationFile",
    "Fitted",
    "Line",
    "calibrate",
    "read_calibration",
]

"""Free constants of a simulated machine, fitted to a measured table by simulation."""

from satline.simulation.calibration._calibrate import Calibrated, Fitted, Line, calibrate
from satline.simulation.calibration._constants import number_text
from satline.simulation.calibration._file import Calibration, CalibrationFile, read_calibration

__all__ = [
    "Calibrated",
    "Calibration",
    "CalibrationFile",
    "Fitted",
    "Line",
    "calibrate",
    "number_text",
    "read_calibration",
]

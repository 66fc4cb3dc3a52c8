"""The researcher's API: `satline.open`, `satline.compare`, `satline.simulate`, `satline.study`.

Analyses answer with their own dataclasses; here these become results that a notebook shows, draws and hands
to pandas, Polars or anything that reads Arrow. This is a face, as the command line is: it imports all the
packages below it, and none of them imports it.
"""

from satline.api._columns import Column, Frame, Tabular
from satline.api._compared import Compared, compare
from satline.api._diagnosed import Diagnosed
from satline.api._experiment import Experiment
from satline.api._open import open_recording
from satline.api._predicted import Predicted
from satline.api._recording import Info, OpenRecording
from satline.api._reduced import Reduced
from satline.api._result import Result
from satline.api._simulated import Simulation, simulate, simulate_recording
from satline.api._studied import SimulatedStudyRun, StudyRun, study
from satline.api._tables import Table, Tables, Users
from satline.extras import MissingLibraryError

__all__ = [
    "Column",
    "Compared",
    "Diagnosed",
    "Experiment",
    "Frame",
    "Info",
    "MissingLibraryError",
    "OpenRecording",
    "Predicted",
    "Reduced",
    "Result",
    "SimulatedStudyRun",
    "Simulation",
    "StudyRun",
    "Table",
    "Tables",
    "Tabular",
    "Users",
    "compare",
    "open_recording",
    "simulate",
    "simulate_recording",
    "study",
]

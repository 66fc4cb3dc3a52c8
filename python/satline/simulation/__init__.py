"""Simulated machines: runs with intervals, comparisons under common random numbers, sweeps, studies."""

from satline.simulation._batches import Truncation, batch_means, mser
from satline.simulation._designed import is_designed, run_designed
from satline.simulation._estimate import Difference, Estimate, mean_interval, paired
from satline.simulation._factorial import ArmRow, Effects, against, effects
from satline.simulation._files import (
    about,
    find_calibration,
    find_machine,
    find_simulated_study,
    find_workload,
    shipped_calibrations,
    shipped_machines,
    shipped_studies,
    shipped_workloads,
)
from satline.simulation._grid import parse_set, parse_users, parse_vary
from satline.simulation._measures import MEASURES, USUAL, Measure, is_measure, measure
from satline.simulation._precise import Goal
from satline.simulation._replications import Point, Warmup
from satline.simulation._run_study import Planted, StudyResult, run_simulated_study
from satline.simulation._runner import Program, Result, Run, Setting, Stopped, setting_text
from satline.simulation._simulate import Simulated, simulate
from satline.simulation._study import FigurePlan, SimulatedStudy, read_simulated_study
from satline.simulation._sweep import Progress, Store, sweep

__all__ = [
    "MEASURES",
    "USUAL",
    "ArmRow",
    "Difference",
    "Effects",
    "Estimate",
    "FigurePlan",
    "Goal",
    "Measure",
    "Planted",
    "Point",
    "Program",
    "Progress",
    "Result",
    "Run",
    "Setting",
    "Simulated",
    "SimulatedStudy",
    "Stopped",
    "Store",
    "StudyResult",
    "Truncation",
    "Warmup",
    "about",
    "against",
    "batch_means",
    "effects",
    "find_calibration",
    "find_machine",
    "find_simulated_study",
    "find_workload",
    "is_designed",
    "is_measure",
    "mean_interval",
    "measure",
    "mser",
    "paired",
    "parse_set",
    "parse_users",
    "parse_vary",
    "read_simulated_study",
    "run_designed",
    "run_simulated_study",
    "setting_text",
    "shipped_calibrations",
    "shipped_machines",
    "shipped_studies",
    "shipped_workloads",
    "simulate",
    "sweep",
]

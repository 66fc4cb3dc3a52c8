"""The calibration file: what was measured, which constants are free, how the fit is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from satline.errors import InputError
from satline.problems import line_of, parse_toml, read_toml
from satline.simulation._files import MeasureName, Sets, find_machine, find_workload
from satline.simulation.calibration._constants import Axis, axis

Words = Annotated[str, Field(min_length=1, max_length=2000)]
Positive = Annotated[float, Field(gt=0, lt=math.inf)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Target(_Part):
    """A line of the measured table.

    measure
        The figure of a run that it is held against.
    value
        As measured, in the measure's unit.
    tolerance
        Relative error that is still good enough; `None`: the file's.
    error
        Relative standard error of the measurement itself, as by rounding in print.
    weight
        Of its squared error against the others'.
    reading
        How the line is understood, where it could be understood otherwise.
    """

    name: Annotated[str, Field(min_length=1, max_length=60)]
    measure: MeasureName
    value: Positive
    tolerance: Annotated[float, Field(gt=0, le=10)] | None = None
    error: Annotated[float, Field(ge=0, le=1)] = 0.0
    weight: Positive = 1.0
    source: Words
    reading: str = ""


class Constant(_Part):
    """A free constant.

    key
        Of the machine file or, after ``workload.``, of the workload file; several get the same value.
    ratio
        Further keys, which get so many times the value: a deviation that keeps its proportion to the mean.
    start
        Where it is held without evidence; by default the file's value.
    """

    name: Annotated[str, Field(min_length=1, max_length=60)]
    key: Annotated[list[Words], BeforeValidator(_one_or_more), Field(min_length=1)]
    range: Annotated[list[float], Field(min_length=2, max_length=2)]
    scale: Literal["linear", "log"] = "linear"
    whole: bool = False
    ratio: dict[str, Positive] = {}
    start: float | None = None
    why: Words

    @property
    def keys(self) -> dict[str, float]:
        """All keys, and how many times the value each gets."""
        return {**dict.fromkeys(self.key, 1.0), **self.ratio}


class RunPlan(_Part):
    """How long, how often, and from which seeds; the check's seed must be another."""

    seconds: Annotated[float, Field(gt=0, le=1e7)] = 900.0
    warmup_seconds: Annotated[float, Field(ge=0, le=1e7)] = 300.0
    replications: Annotated[int, Field(ge=2, le=1000)] = 4
    seed: Seed = 1
    starts: Annotated[int, Field(ge=0, le=10_000)] = 16
    rounds: Annotated[int, Field(ge=1, le=100)] = 8
    check_replications: Annotated[int, Field(ge=2, le=1000)] = 10
    check_seed: Seed = 2


class CalibrationFile(_Part):
    """A whole calibration file."""

    title: Words
    on: Annotated[str, Field(min_length=1, max_length=80)]
    note: str = ""
    machine: str
    workload: str
    tolerance: Annotated[float, Field(gt=0, le=10)] = 0.1
    ridge: Annotated[float, Field(gt=0, le=100)] = 0.05
    run: RunPlan = RunPlan()
    set: Sets = {}
    target: Annotated[list[Target], Field(min_length=1, max_length=100)]
    constant: Annotated[list[Constant], Field(min_length=1, max_length=50)]

    @model_validator(mode="after")
    def _whole(self) -> CalibrationFile:
        for kind, names in (
            ("target", [one.name for one in self.target]),
            ("constant", [one.name for one in self.constant]),
            ("constant", [key for one in self.constant for key in (*one.key, *one.ratio)]),
        ):
            for name in sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f'{kind}: "{name}" is there twice; leave one out')
        if self.run.check_seed == self.run.seed:
            raise ValueError("run: check_seed is the fit's seed; give one that the fit never saw")
        if self.run.warmup_seconds >= self.run.seconds:
            raise ValueError("run: the warm-up is all of the run; leave something to measure")
        return self

    def allowed(self, target: Target) -> float:
        """The target's tolerance."""
        return self.tolerance if target.tolerance is None else target.tolerance


@dataclass(frozen=True)
class Calibration:
    """A calibration file that was read, with its files found and its constants placed in them."""

    name: str
    path: Path
    file: CalibrationFile
    machine: Path
    workload: Path
    axes: tuple[Axis, ...]


def read_calibration(path: Path) -> Calibration:
    """Read and check a calibration file, and that the files that it names have its constants.

    Raises
    ------
    InputError
        It cannot be read, or says what it cannot say: each error with line, key, remedy.
    """
    text, file = read_toml(
        path,
        CalibrationFile,
        kind="calibration",
        name_one="a calibration is a TOML file in UTF-8",
        hint="docs/guides/calibrating.md has every key",
    )
    found = {}
    for key, find in (("machine", find_machine), ("workload", find_workload)):
        try:
            found[key] = find(getattr(file, key), path.parent)
        except InputError as error:
            message = f"{path}:{line_of(text, (key,))}: {key}: {error.message}"
            raise InputError(message, hint=error.hint) from None
    trees = {}
    for key, one in found.items():
        whose = f"it is the {key} of {path}"
        trees[key] = parse_toml(one, name_one=whose, no_text=whose)[1]
    axes = []
    for number, constant in enumerate(file.constant):
        try:
            axes.append(axis(constant, trees["machine"], trees["workload"], file.set))
        except ValueError as error:
            message, _, hint = str(error).partition("; ")
            place = f"{path}:{line_of(text, ('constant', number))}: constant[{number + 1}] {constant.name}"
            raise InputError(f"{place}: {message}", hint=hint) from None
    return Calibration(path.stem, path, file, found["machine"], found["workload"], tuple(axes))

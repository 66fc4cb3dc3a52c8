"""Simulated studies: a machine, a workload, what is varied, what is drawn, and what was planted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from satline.dotted import flat
from satline.errors import InputError
from satline.experiment.designed import DesignPart, FactorPart
from satline.problems import Place, key_words, line_of, read_toml
from satline.simulation._files import MeasureName, Sets, find_machine, find_workload
from satline.simulation._grid import MOST_USERS, parse_users
from satline.simulation._measures import MEASURES, USUAL
from satline.simulation._runner import Setting

Count = Annotated[int, Field(ge=1, le=MOST_USERS)]
Seconds = Annotated[float, Field(gt=0, le=1e8)]


def _users(value: Any) -> Any:
    """Users as a list, or as text with ranges."""
    if not isinstance(value, str):
        return value
    try:
        return list(parse_users(value))
    except InputError as error:
        raise ValueError(f"{value!r} are no numbers of users; {error.hint}") from None


Users = Annotated[list[Count], BeforeValidator(_users), Field(min_length=1, max_length=500)]
Values = Annotated[list[Setting], Field(min_length=1, max_length=500)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SimulatedLoad(_Part):
    """Numbers of users, each a run of its own, and how long and how often."""

    users: Users
    replications: Annotated[int, Field(ge=1, le=1000)] = 5
    seconds: Seconds = 3600.0
    warmup_seconds: Annotated[float, Field(ge=0, le=1e8)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1


class Arm(_Part):
    """One of the systems that are compared: another machine, another workload, or other values of keys."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    machine: str | None = None
    workload: str | None = None
    set: Sets = {}


class FigurePlan(_Part):
    """One figure: a measure against users, against a varied key, or against another measure.

    x_label
        What stands at the axis; by default the words of `x`.
    """

    title: str
    y: MeasureName
    x: str = "users"
    x_label: str = ""


class RecordingPlan(_Part):
    """The run that is recorded and diagnosed: steps of users, one after another."""

    users: Users
    step_seconds: Seconds = 900.0
    warmup_seconds: Annotated[float, Field(ge=0, le=1e8)] = 300.0
    sample_seconds: Annotated[float, Field(ge=0.1, le=86400)] = 10.0


class SimulatedStudyFile(_Part):
    """A whole file of a simulated study."""

    title: str
    question: str = ""
    machine: str
    workload: str
    expects: str | None = None
    measures: Annotated[list[MeasureName], Field(min_length=1)] = list(USUAL)
    load: SimulatedLoad
    set: Sets = {}
    vary: Annotated[dict[str, Values], BeforeValidator(flat)] = {}
    arm: list[Arm] = []
    compare: bool = False
    factor: Annotated[list[FactorPart], Field(max_length=8)] = []
    design: DesignPart | None = None
    figure: list[FigurePlan] = []
    recording: RecordingPlan | None = None

    @model_validator(mode="after")
    def _whole(self) -> SimulatedStudyFile:
        names = [arm.name for arm in self.arm]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f'arm: two arms are named "{name}"; give each a name of its own')
        factors = [factor.name for factor in self.factor]
        for name in sorted({name for name in factors if factors.count(name) > 1}):
            raise ValueError(f'factor: two factors are named "{name}"; give each a name of its own')
        if self.compare and len(self.arm) < 2:
            raise ValueError("compare: there is nothing to compare; add two or more [[arm]]")
        if self.design is not None and not self.factor:
            raise ValueError("design: there is nothing to vary; add [[factor]] tables")
        if self.factor and self.arm:
            raise ValueError("factor: a study has arms or factors; leave one of them out")
        for figure in self.figure:
            if figure.x != "users" and figure.x not in self.vary and figure.x not in MEASURES:
                raise ValueError(
                    f'figure: x = "{figure.x}" is not varied; write users, a key of [vary] or a measure'
                )
        if self.expects is not None:
            from satline.diagnosis.rules import RULES

            rules = [rule.name for rule, _ in RULES]
            if self.expects not in rules:
                raise ValueError(f'expects: there is no rule "{self.expects}"; one of: {", ".join(rules)}')
            if self.recording is None:
                raise ValueError("expects: nothing is recorded to be diagnosed; add a table [recording]")
        return self


@dataclass(frozen=True)
class System:
    """One system that a study runs: its files, and the keys that are set."""

    machine: Path
    workload: Path
    sets: Mapping[str, Setting]


@dataclass(frozen=True)
class SimulatedStudy:
    """A study file that was read; its name is the file's without ``.toml``.

    arms
        The systems by the name of their arm; one without a name where nothing is compared.
    """

    name: str
    path: Path
    file: SimulatedStudyFile
    machine: Path
    workload: Path
    arms: Mapping[str, System]


def read_simulated_study(path: Path) -> SimulatedStudy:
    """Read and check a file of a simulated study.

    Raises
    ------
    InputError
        It cannot be read, or says what it cannot say: all errors at once, each with line, key, remedy.
    """
    text, file = read_toml(
        path,
        SimulatedStudyFile,
        kind="simulated study",
        name_one="name a study file, or a shipped one",
        hint="shipped studies show every key: `satline simulate --list`",
    )

    def find(place: Place, name: str | None, by: Callable[[str, Path], Path], otherwise: Path) -> Path:
        if name is None:
            return otherwise
        try:
            return by(name, path.parent)
        except InputError as error:
            message = f"{path}:{line_of(text, place)}: {key_words(place)}: {error.message}"
            raise InputError(message, hint=error.hint) from None

    machine = find(("machine",), file.machine, find_machine, path)
    workload = find(("workload",), file.workload, find_workload, path)
    arms = {
        arm.name: System(
            find(("arm", number, "machine"), arm.machine, find_machine, machine),
            find(("arm", number, "workload"), arm.workload, find_workload, workload),
            {**file.set, **arm.set},
        )
        for number, arm in enumerate(file.arm)
    }
    return SimulatedStudy(
        path.stem, path, file, machine, workload, arms or {"": System(machine, workload, file.set)}
    )

"""Simulated studies: a machine, a workload, what is varied, what is drawn, and what was planted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from satline.errors import InputError
from satline.problems import line_of, read_toml
from satline.simulation._files import find_machine, find_workload
from satline.simulation._grid import MOST_USERS, parse_users
from satline.simulation._measures import MEASURES, USUAL, known
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


def _flat(value: Any) -> Any:
    """Nested tables as dotted keys: ``storage.pageable_frames = 200`` is a table in a table."""
    if not isinstance(value, dict):
        return value
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        below = _flat(inner)
        flat |= {f"{key}.{k}": v for k, v in below.items()} if isinstance(below, dict) else {key: below}
    return flat


def _known(name: str) -> str:
    if not known(name):
        raise ValueError(f'there is no measure "{name}"; some are: {", ".join(USUAL)}')
    return name


Users = Annotated[list[Count], BeforeValidator(_users), Field(min_length=1, max_length=500)]
Sets = Annotated[dict[str, Setting], BeforeValidator(_flat)]
Values = Annotated[list[Setting], Field(min_length=1, max_length=500)]
MeasureName = Annotated[str, AfterValidator(_known)]


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
    """One of the systems that are compared."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
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
    vary: Annotated[dict[str, Values], BeforeValidator(_flat)] = {}
    arm: list[Arm] = []
    figure: list[FigurePlan] = []
    recording: RecordingPlan | None = None

    @model_validator(mode="after")
    def _whole(self) -> SimulatedStudyFile:
        names = [arm.name for arm in self.arm]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f'arm: two arms are named "{name}"; give each a name of its own')
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
class SimulatedStudy:
    """A study file that was read; its name is the file's without ``.toml``."""

    name: str
    path: Path
    file: SimulatedStudyFile
    machine: Path
    workload: Path

    def arms(self) -> Mapping[str, Mapping[str, Setting]]:
        """Settings of each arm by its name; one without a name where nothing is compared."""
        if not self.file.arm:
            return {"": self.file.set}
        return {arm.name: {**self.file.set, **arm.set} for arm in self.file.arm}


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
    found = []
    for key, name, find in (
        ("machine", file.machine, find_machine),
        ("workload", file.workload, find_workload),
    ):
        try:
            found.append(find(name, path.parent))
        except InputError as error:
            message = f"{path}:{line_of(text, (key,))}: {key}: {error.message}"
            raise InputError(message, hint=error.hint) from None
    return SimulatedStudy(path.stem, path, file, found[0], found[1])

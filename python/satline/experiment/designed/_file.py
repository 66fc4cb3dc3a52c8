"""What a study file says of a design: the tables `[[factor]]` and `[design]`."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from satline.dotted import flat
from satline.experiment.designs._factors import RESERVED

MeasureName = Literal[
    "reaction_s", "reaction_p90_s", "response_s", "response_p90_s", "interactions_per_minute", "satisfaction"
]
# Columns of results.csv beside the factors.
TAKEN = (
    *RESERVED,
    *("class", "users", "recording", "flags", "seed", "interactions", "failed", "unanswered"),
    *get_args(MeasureName),
)
Scalar = bool | int | float | str


def _level(value: Any) -> Any:
    values = value if isinstance(value, list) and value else [value]
    if any(not isinstance(one, bool | int | float | str) for one in values):
        raise ValueError("is no level; write a number, a text, true or false, or a list of such")
    if any(isinstance(one, float) and not math.isfinite(one) for one in values):
        raise ValueError("is not a finite number")
    return value


def _name(name: str) -> str:
    if name in TAKEN:
        raise ValueError(f'"{name}" is a column of the results; name it otherwise')
    if name != name.strip() or any(char in name for char in ",=\n\r"):
        raise ValueError(f"{name!r} is no name of a factor; leave blanks at its ends, commas and = out")
    return name


Level = Annotated[Scalar | list[Scalar], BeforeValidator(_level)]
Levels = list[tuple[str, dict[str, Any]]]


class FactorPart(BaseModel):
    """What is varied on purpose: levels of a setting, low first; or a part that is switched off and on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_name)]
    setting: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    levels: Annotated[list[Level], Field(max_length=100)] = []
    off: Annotated[dict[str, Any], BeforeValidator(flat)] = {}
    on: Annotated[dict[str, Any], BeforeValidator(flat)] = {}

    @model_validator(mode="after")
    def _one_form(self) -> FactorPart:
        if (self.setting is None) == (not self.on):
            raise ValueError(f'factor: "{self.name}" needs a setting with levels, or a table on')
        if self.setting is None:
            if self.levels:
                raise ValueError(f'levels: "{self.name}" is off and on; leave levels out')
            return self
        if self.off:
            raise ValueError(f'off: "{self.name}" has levels; leave off out')
        shown = [text for text, _ in self.every_level]
        if len(shown) < 2:
            raise ValueError(f'levels: "{self.name}" has {len(shown)}; write two or more')
        if len(set(shown)) < len(shown):
            raise ValueError(f'levels: a level of "{self.name}" is there twice; write each once')
        return self

    @property
    def every_level(self) -> Levels:
        """Each level as it is shown, with the keys that it sets."""
        if self.setting is None:
            return [("off", self.off), ("on", self.on)]
        return [(level_text(level), {self.setting: level}) for level in self.levels]


class DesignPart(BaseModel):
    """Which cells are run, how often, in which blocks; and how they are analysed.

    users
        In place of the load's.
    plan
        A file that `satline experiment design --csv` wrote, in place of all that makes one.
    repeat_late
        How often a run is repeated whose emulator was late.
    most_runs, smallest
        After the plan's runs further replicates are run, of the cells that narrow undecided effects most,
        until each factor's effect on the first measure is there or smaller than `smallest`, or so many runs
        are done.
        With ``transform = "log"`` `smallest` is relative: 0.1 is a tenth.
    pool, transform
        As `satline experiment anova` has them. Without `pool` and replicates: Lenth's method where all
        factors have two levels, else 2.
    within_seconds
        Reactions within this time are satisfactory.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["full", "fraction"] = "full"
    fraction: str | None = None
    resolution: str | None = None
    generators: str | None = None
    replicates: Annotated[int, Field(ge=1, le=1000)] = 1
    blocks: Annotated[int, Field(ge=1, le=100_000)] | Literal["replicates"] | None = None
    confound: list[str] = []
    skip: list[str] = []
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    users: Annotated[int, Field(ge=1, le=10_000)] | None = None
    plan: str | None = None
    repeat_late: Annotated[int, Field(ge=0, le=20)] = 2
    most_runs: Annotated[int, Field(ge=2, le=10_000)] | None = None
    smallest: Annotated[float, Field(gt=0)] | None = None
    pool: Annotated[int, Field(ge=2)] | None = None
    transform: Literal["log", "none"] = "none"
    within_seconds: Annotated[float, Field(gt=0, le=86400)] = 2.0
    measures: Annotated[list[MeasureName], Field(min_length=1)] = ["reaction_s", "response_s"]

    @model_validator(mode="after")
    def _one_plan(self) -> DesignPart:
        parts = [name for name in ("fraction", "resolution", "generators") if getattr(self, name) is not None]
        if len(parts) > 1:
            raise ValueError(f"{parts[1]}: {' and '.join(parts)} exclude each other; write one")
        if (self.kind == "fraction") != bool(parts):
            raise ValueError(
                'kind: a fraction has one of fraction, resolution, generators; write fraction = "1/2"'
                if not parts
                else f'{parts[0]}: is of a fraction; write kind = "fraction"'
            )
        if self.blocks == "replicates" and self.replicates < 2:
            raise ValueError("blocks: one replicate is one block; write replicates = 2 or more")
        if (self.most_runs is None) != (self.smallest is None):
            raise ValueError("most_runs: goes with smallest, the smallest effect that matters; write both")
        if self.most_runs is not None and (self.blocks is not None or self.confound):
            raise ValueError("most_runs: further runs are of no block; leave blocks and confound out")
        makes = {"kind", "replicates", "blocks", "confound", "skip", "seed", *parts}
        given = sorted(makes & self.model_fields_set)
        if self.plan is not None and given:
            raise ValueError(f"{given[0]}: the plan says it; leave out {', '.join(given)}, or plan")
        return self


def level_text(level: Any) -> str:
    """A level as tables show it.

    >>> level_text("32 MB"), level_text(True), level_text(0.5), level_text([2, 4])
    ('32 MB', 'true', '0.5', '2 4')
    """
    if isinstance(level, bool):
        return "true" if level else "false"
    if isinstance(level, list):
        return " ".join(level_text(one) for one in level)
    return f"{level:.12g}" if isinstance(level, float) else str(level)

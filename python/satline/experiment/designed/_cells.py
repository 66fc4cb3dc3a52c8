"""From a study file to a plan and the study of each of its cells, all checked before anything runs."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from satline.dotted import put
from satline.errors import InputError
from satline.experiment.designed._file import DesignPart, FactorPart
from satline.experiment.designs import Factor, Fraction, Plan, Run, make_plan, parse_skip
from satline.experiment.designs._factors import MOST_RUNS
from satline.outside import parse_toml
from satline.problems import Place, joined, key_words, line_of, say

Cell = TypeVar("Cell")
Key = tuple[str, ...]


@dataclass(frozen=True)
class Designed(Generic[Cell]):
    """An experiment that can be run.

    factors
        With their levels, as the plan names them.
    cells
        What each combination runs, by its levels in the order of the factors; but for those that are skipped.
    """

    path: Path
    text: str
    parts: tuple[FactorPart, ...]
    factors: tuple[Factor, ...]
    design: DesignPart
    cells: Mapping[Key, Cell]

    def key(self, levels: Mapping[str, str]) -> Key:
        """The cell of a run."""
        return tuple(levels[factor.name] for factor in self.factors)

    def plan(self, seed: int) -> Plan:
        """The runs in their order; `seed` where the study has none.

        Raises
        ------
        InputError
            The design cannot be made, or the plan's file is not of these factors.
        """
        if self.design.plan is not None:
            return self._read_plan(self.path.parent / self.design.plan)
        try:
            return self._made(seed if self.design.seed is None else self.design.seed)
        except InputError as error:
            line = line_of(self.text, ("design",))
            message = f"{self.path}:{line}: design: {error.message.replace('--', '')}"
            raise InputError(message, hint=error.hint.replace("--", "")) from None

    def _made(self, seed: int) -> Plan:
        from satline.experiment.designs._words import parse_word

        design, factors = self.design, self.factors
        by_replicate = design.blocks == "replicates"
        return make_plan(
            factors,
            seed=seed,
            replicates=design.replicates,
            fraction=_fraction(design, factors),
            blocks=design.blocks if isinstance(design.blocks, int) else 1,
            confound=[parse_word(word, factors, f"confound {word!r}") for word in design.confound],
            replicate_blocks=by_replicate,
            skips=[parse_skip(text, factors) for text in design.skip],
        )

    def _read_plan(self, path: Path) -> Plan:
        """A plan that was written before, perhaps by hand."""
        from satline.experiment.variance import read_table
        from satline.experiment.variance._table import _text

        rows = read_table(path).to_pylist()
        columns = ", ".join(["run", *(factor.name for factor in self.factors)])
        runs = []
        for number, row in enumerate(rows, 1):
            levels = {}
            for factor in self.factors:
                level = "" if row.get(factor.name) is None else _text(row[factor.name])
                # A reader of CSV takes true for a truth, not for a word.
                level = level.lower() if level in ("True", "False") else level
                if level not in factor.levels:
                    what = f"no level {level!r}" if factor.name in row else f"no column {factor.name}"
                    raise InputError(
                        f"{path}:{number + 1}: {what} of the factor {factor.name}",
                        hint=f"its levels are {', '.join(factor.levels)}; the columns are {columns}",
                    )
                levels[factor.name] = level
            block, replicate = row.get("block"), row.get("replicate") or 1
            if not all(isinstance(one, int) and one >= 1 for one in (block or 1, replicate)):
                raise InputError(
                    f"{path}:{number + 1}: block and replicate are numbers from 1",
                    hint="as `satline experiment design --csv` writes them",
                )
            runs.append(Run(number, block, replicate, levels))
        if not runs:
            raise InputError(f"{path}: no runs", hint="`satline experiment design --csv` writes a plan")
        blocks = len({run.block for run in runs})
        return Plan(self.factors, tuple(runs), max(run.replicate for run in runs), 0, blocks=blocks)


def _fraction(design: DesignPart, factors: Sequence[Factor]) -> Fraction | None:
    from satline.experiment.designs import choose_fraction, fraction_of, parse_generators
    from satline.experiment.designs._fraction import parse_fraction, parse_resolution

    if design.kind == "full":
        return None
    if any(len(factor.levels) != 2 for factor in factors):
        raise InputError("a fraction needs factors at two levels", hint='run all: kind = "full"')
    if design.fraction is not None:
        return fraction_of(len(factors), parse_fraction(design.fraction))
    if design.resolution is not None:
        return choose_fraction(len(factors), parse_resolution(design.resolution))
    return parse_generators(design.generators or "", factors)


def designed(
    path: Path,
    text: str,
    parts: Sequence[FactorPart],
    design: DesignPart,
    model: type[BaseModel],
    cell: Callable[[dict[str, Any]], Cell],
    *,
    place: Callable[[str], str] = str,
) -> Designed[Cell]:
    """The experiment that a study file describes.

    Parameters
    ----------
    cell
        Makes a cell's study of the file's values, with the cell's settings put in.
    place
        Where a factor's setting stands in the file.

    Raises
    ------
    InputError
        A cell would not make a study: file, line, factor and level of all that is wrong, at once.
    """
    factors = tuple(Factor(part.name, tuple(text for text, _ in part.every_level)) for part in parts)
    names = [factor.name for factor in factors]
    for name in sorted({name for name in names if names.count(name) > 1}):
        line = line_of(text, ("factor", names.index(name, names.index(name) + 1)))
        raise InputError(f'{path}:{line}: factor: two are named "{name}"', hint="name each otherwise")
    if math.prod(len(factor.levels) for factor in factors) > MOST_RUNS:
        raise InputError(f"{path}: more than {MOST_RUNS:,} combinations", hint="have fewer levels")
    values = parse_toml(text)
    if design.users is not None:
        put(values, "load.users", [design.users])
    skips = []
    for number, one in enumerate(design.skip):
        try:
            skips.append(parse_skip(one, factors))
        except InputError as error:
            line = line_of(text, ("design", "skip", number))
            message = f"{path}:{line}: design.{error.message.removeprefix('--')}"
            raise InputError(message, hint=error.hint) from None
    made: dict[Key, Cell] = {}
    wrong: dict[str, str] = {}
    for chosen in itertools.product(*(part.every_level for part in parts)):
        key = tuple(level for level, _ in chosen)
        if any(skip.holds(dict(zip(names, key, strict=True))) for skip in skips):
            continue
        own = copy.deepcopy(values)
        for _, settings in chosen:
            for setting, value in settings.items():
                put(own, place(setting), value)
        try:
            made[key] = cell(own)
        except ValidationError as error:
            for problem in error.errors():
                spot, message, remedy = say(problem, model, "study")
                where = _where(path, text, parts, key, spot, place)
                wrong.setdefault(f"{where}: {key_words(spot)}: {message}", remedy)
        except InputError as error:
            message = error.message
            if message.startswith(f"{path}:"):  # the place is another: that of the level
                message = message.removeprefix(f"{path}:").partition(": ")[2]
            where = _where(path, text, parts, key, tuple(message.partition(":")[0].split(".")), place)
            wrong.setdefault(f"{where}: {message}", error.hint)
    if wrong:
        raise joined(
            sorted(wrong.items(), key=lambda one: _line(path, one[0])),
            hint="a setting is a dotted key of the study: limits.memory",
        )
    return Designed(path, text, tuple(parts), factors, design, made)


def _where(
    path: Path, text: str, parts: Sequence[FactorPart], key: Key, spot: Place, place: Callable[[str], str]
) -> str:
    """The factor and the level that brought a problem at `spot`, or the cell."""
    names = tuple(part for part in spot if isinstance(part, str))
    for number, (part, level) in enumerate(zip(parts, key, strict=True)):
        settings = dict(part.every_level)[level]
        if any(_touches(tuple(place(setting).split(".")), names) for setting in settings):
            nth = [one for one, _ in part.every_level].index(level)
            key_of = ("levels", nth) if part.setting is not None else (level,)
            line = line_of(text, ("factor", number, *key_of))
            return f"{path}:{line}: factor {part.name}, level {level}"
    cell = ", ".join(f"{part.name} {level}" for part, level in zip(parts, key, strict=True))
    return f"{path}:{line_of(text, ('factor',))}: with {cell}"


def _line(path: Path, message: str) -> int:
    number = message.removeprefix(f"{path}:").partition(":")[0]
    return int(number) if number.isdecimal() else 0


def _touches(setting: tuple[str, ...], spot: tuple[str, ...]) -> bool:
    shared = min(len(setting), len(spot))
    return shared > 0 and setting[:shared] == spot[:shared]

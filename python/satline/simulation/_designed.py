"""A designed study on the simulated machine: a recording of each run, analysed as any designed study."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satline.errors import InputError
from satline.experiment.designed import Designed, DesignPart, designed
from satline.problems import Place, line_of
from satline.simulation._files import find_machine, find_workload
from satline.simulation._runner import Program, Run, setting_text
from satline.simulation._study import SimulatedStudy, SimulatedStudyFile

if TYPE_CHECKING:
    from satline.experiment.designed import Outcome, Store

MEASURES = ["response_s", "interactions_per_minute"]
SAMPLES = 200


@dataclass(frozen=True)
class DesignedOutcome:
    """What it yielded: the analysis; how many runs were there before, and where all are."""

    outcome: Outcome
    there_before: int
    store: Store
    design: DesignPart


def is_designed(study: SimulatedStudy) -> bool:
    """Is it run as a design? A study whose factors are off and on, and no more, has effects of its own."""
    file = study.file
    return file.design is not None or any(factor.setting is not None for factor in file.factor)


def cells_of(study: SimulatedStudy, design: DesignPart, text: str, seed: int | None) -> Designed[Run]:
    """The run of every cell, each checked by reading its values as a study file.

    Raises
    ------
    InputError
        A cell that the file would not take, or one that has not one number of users and a stated warm-up.
    """
    path = study.path

    def cell(values: dict[str, Any]) -> Run:
        file = SimulatedStudyFile.model_validate(values)
        load = file.load
        checks: tuple[tuple[bool, Place, str], ...] = (
            (len(load.users) != 1, ("load", "users"), "load.users: a run of a design has one number"),
            (load.warmup_seconds is None, ("load",), "load.warmup_seconds: missing; a design needs it"),
            (bool(file.vary), ("vary",), "vary: a design varies by its factors"),
        )
        for bad, where, message in checks:
            if bad:
                hint = "every run of a design is a recording of its own"
                raise InputError(f"{path}:{line_of(text, where)}: {message}", hint=hint)
        return Run(
            find_machine(file.machine, path.parent),
            find_workload(file.workload, path.parent),
            users=(load.users[0],),
            step_seconds=load.seconds,
            warmup_seconds=load.warmup_seconds or 0.0,
            sample_seconds=max(1.0, round(load.seconds / SAMPLES, 3)),
            seed=load.seed if seed is None else seed,
            sets=tuple((key, setting_text(value)) for key, value in file.set.items()),
        )

    return designed(path, text, study.file.factor, design, SimulatedStudyFile, cell, place=_place)


def _place(setting: str) -> str:
    """Where a factor's setting stands in a study's file: in `[set]`, but for the study's own keys."""
    own = setting in ("machine", "workload") or setting.startswith("load.")
    return setting if own else f"set.{setting}"


def run_designed(
    study: SimulatedStudy,
    out: Path,
    *,
    replicates: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    leave_out_flagged: bool = False,
    progress: Callable[[int, int], None] | None = None,
    program: Program | None = None,
) -> DesignedOutcome:
    """Run what is not there yet, several at a time, and analyse all of it.

    Replicates are blocks, since the cells of one share their random numbers.

    Parameters
    ----------
    progress
        Called with the runs that are done, and with how many there are.

    Raises
    ------
    InputError, SatlineError
        Wrong input, or a run failed: those that have ended are kept.
    """
    from satline.experiment.designed import Store, digest_of, outcome_of, results_of

    program = program or Program()
    text = study.path.read_text(encoding="utf-8")
    design = design_of(study, replicates)
    experiment = cells_of(study, design, text, seed)
    _check(experiment, program)
    # The program, every file that it reads, the settings and the seed.
    digest = digest_of(text, [program.key(run) for run in experiment.cells.values()] + [str(replicates)])
    store = Store(out)
    plan = store.begun(digest, study.path)
    if plan is None:
        plan = experiment.plan(secrets.randbelow(1_000_000))
        store.begin(plan, digest, study.name, text)
    left = [run for run in plan.runs if not store.finished(run, digest)]
    for one in left:
        store.set_aside(one)
    done, lock = len(plan.runs) - len(left), threading.Lock()
    show = progress or (lambda *_: None)
    show(done, len(plan.runs))

    def carry_out(one: Any) -> None:
        nonlocal done
        from satline.recording import compact, describe

        path = store.recording(one)
        program.run(
            replace(experiment.cells[experiment.key(one.levels)], replication=one.replicate - 1), None, path
        )
        compact(path)
        describe.update(path, {"study": {"name": study.name, "design": store.place(one, digest)}})
        with lock:
            done += 1
            show(done, len(plan.runs))

    with ThreadPoolExecutor(workers or len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(carry_out, one) for one in left]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            for future in futures:
                if future.done():
                    future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            program.stop()
            raise
    results = results_of(plan, store.recording, lambda _: True, design.within_seconds)
    outcome = outcome_of(plan, results, design, leave_out_flagged=leave_out_flagged, paired=True)
    return DesignedOutcome(outcome, len(plan.runs) - len(left), store, design)


def design_of(study: SimulatedStudy, replicates: int | None) -> DesignPart:
    """The study's design; its replicates are the load's replications where it says none."""
    stated = study.file.design or DesignPart()
    if stated.most_runs is not None:
        raise InputError(
            f"{study.path}: design.most_runs: a simulated study runs its replicates side by side",
            hint="leave most_runs and smallest out; write replicates",
        )
    changes: dict[str, Any] = {}
    if replicates is not None:
        changes["replicates"] = replicates
    elif "replicates" not in stated.model_fields_set and stated.plan is None:
        changes["replicates"] = study.file.load.replications
    if "measures" not in stated.model_fields_set:
        changes["measures"] = list(MEASURES)
    return stated.model_copy(update=changes)


def _check(experiment: Designed[Run], program: Program) -> None:
    """Have the program read every cell's machine and workload before anything runs."""
    for key, run in experiment.cells.items():
        sets = [word for name, value in run.sets for word in ("--set", f"{name}={value}")]
        try:
            program.tell("check", str(run.machine), str(run.workload), *sets)
        except InputError as error:
            levels = zip(experiment.factors, key, strict=True)
            error.message = f"with {', '.join(f'{f.name} {level}' for f, level in levels)}: {error.message}"
            raise

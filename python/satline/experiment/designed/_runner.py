"""Carry out a designed study: run after run in the order of the plan, from where it was."""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from satline.errors import InputError, SatlineError
from satline.experiment.designed._cells import Designed
from satline.experiment.designed._drift import (
    HostState,
    against_others,
    read_state,
    within_run,
    work_of_others,
)
from satline.experiment.designed._sequential import Look, extended, look
from satline.experiment.designed._store import Attempt, Store, digest_of
from satline.experiment.designs import Plan, Run
from satline.experiment.progress import clock
from satline.interruption import Interrupted, Signals, signals_interrupt
from satline.systems import Knobs, Limits

if TYPE_CHECKING:
    from satline.experiment.adaptive.driver import Outlook
    from satline.experiment.designed._analysis import Outcome
    from satline.experiment.designed._file import DesignPart
    from satline.experiment.emulator import Progress
    from satline.experiment.progress import View
    from satline.experiment.protocol import Options
    from satline.experiment.study import Study

MOST_FAILED = 3


@dataclass
class Carried:
    """How far a designed study has come.

    repeated
        Runs whose emulator was late, so that it matters, and that were run again.
    interrupted
        Number of the signal that ended it early.
    decided
        What the replicates beyond the plan decided; ``None``: the design has none.
    """

    store: Store
    plan: Plan
    digest: str
    failed: dict[int, str] = field(default_factory=dict)
    late: list[int] = field(default_factory=list)
    repeated: int = 0
    interrupted: int | None = None
    left_behind: list[str] = field(default_factory=list)
    decided: Look | None = None


class Executor(Protocol):
    """Carries out one run into the recording; returns what is left behind and the signal that ended it."""

    def __call__(
        self, run: Run, recording: Path, place: Mapping[str, Any]
    ) -> tuple[list[str], int | None]: ...


def carry_out(designed: Designed[Study], out: Path, options: Options, view: View, quiet: View) -> Carried:
    """Run what has not been run yet of a designed study on a real system.

    Parameters
    ----------
    quiet
        What shows each run's own notes and progress.

    Raises
    ------
    InputError
        Some cell cannot run here, a factor cannot be set, or something else is in `out`: said before any run.
    SatlineError
        The first runs all failed.
    """
    from satline.experiment.feasibility import check_writable, host_to_oneself
    from satline.experiment.protocol import checked, quickened, run_once

    cells = {key: quickened(study) if options.quick else study for key, study in designed.cells.items()}
    programs: dict[str, Path] = {}
    for key, study in cells.items():
        try:
            programs |= checked(study, options.scratch)
        except InputError as error:
            names = zip(designed.factors, key, strict=True)
            error.message = f"with {', '.join(f'{f.name} {level}' for f, level in names)}: {error.message}"
            raise
    check_writable(out)
    first = next(iter(cells.values()))
    texts = sorted({study.workload_text for study in cells.values()})
    digest = digest_of(designed.text, [*texts, f"quick {options.quick}", f"seed {first.file.load.seed}"])
    carried = _begin(designed, out, digest, first.name)

    def execute(run: Run, recording: Path, place: Mapping[str, Any]) -> tuple[list[str], int | None]:
        study = cells[designed.key(run.levels)]
        # Replicates differ by their random numbers; the cells of one share them.
        study = study.with_load(seed=study.file.load.seed + run.replicate - 1)
        needed = {
            name: f"factor {part.name}, level {run.levels[part.name]}: {setting}"
            for part in designed.parts
            for setting in dict(part.every_level)[run.levels[part.name]]
            for name in _names_in_force(setting)
        }
        result = run_once(study, options, quiet, recording, programs, design=place, needed=needed)
        return result.left_behind, result.interrupted

    with host_to_oneself(options.state, view), signals_interrupt() as signals:
        try:
            _go_through(designed, carried, execute, options.scratch, view, signals)
        except Interrupted as interruption:
            carried.interrupted = interruption.number
    return carried


def analyse_carried(
    carried: Carried, stated: DesignPart | None, *, leave_out_flagged: bool = False
) -> Outcome:
    """Analyse the runs that have been carried out.

    Parameters
    ----------
    stated
        The study's design; ``None``: what a design is without a word about it.
    leave_out_flagged
        Without the runs whose conditions were not those of the others.
    """
    from satline.experiment.designed._analysis import outcome_of
    from satline.experiment.designed._file import DesignPart
    from satline.experiment.designed._results import results_of

    design, store = stated or DesignPart(), carried.store
    results = results_of(
        carried.plan, store.recording, lambda run: store.finished(run, carried.digest), design.within_seconds
    )
    return outcome_of(carried.plan, results, design, leave_out_flagged=leave_out_flagged)


def _begin(designed: Designed[Any], out: Path, digest: str, name: str) -> Carried:
    store = Store(out)
    plan = store.begun(digest, designed.path)
    if plan is None:
        plan = designed.plan(secrets.randbelow(1_000_000))
        store.begin(plan, digest, name, designed.text)
    return Carried(store, plan, digest)


def _names_in_force(setting: str) -> list[str]:
    """How a limit or a knob is called where it is said what could not be set."""
    *tables, key = setting.split(".")
    known = {*Limits.__dataclass_fields__, *Knobs.__dataclass_fields__}
    names = [name for name in (key, f"{key}_bytes") if name in known]
    return names if "limits" in tables else [key] if "knobs" in tables else []


def _go_through(
    designed: Designed[Study],
    carried: Carried,
    execute: Executor,
    scratch: Path,
    view: View,
    signals: Signals,
) -> None:
    store, plan = carried.store, carried.plan
    attempts = store.attempts()
    done = {run.number for run in plan.runs if store.finished(run, carried.digest)}
    for run in plan.runs:
        if run.number in done:
            _settle(store.recording(run))
    if done:
        view.note(f"{len(done)} of {len(plan.runs)} runs are there already")
    states = [HostState(**a.state) for n, a in attempts.items() if n in done and a.state is not None]
    lasted = [a.seconds for n, a in attempts.items() if n in done]
    guess = _expected_s(designed)
    left = [run for run in plan.runs if run.number not in done]
    good = bool(done)
    while left or (left := _further(designed, carried, view)):
        run = left.pop(0)
        each = statistics.median(lasted) if lasted else guess
        remaining = clock(each * (len(left) + 1))
        view.note(f"run {run.number} of {len(carried.plan.runs)}: {_words(run)}; about {remaining} left")
        for trial in range(designed.design.repeat_late + 1):
            attempt, behind, signal = _attempt(store, run, carried.digest, execute, scratch, states)
            signal = signal or signals.take()
            late, repeated = attempt.outcome == "late", trial < designed.design.repeat_late
            if late and (signal is not None or not repeated):
                # Nothing is void: the last attempt stays, and says what it is.
                attempt.flags.append(f"late: {attempt.reason}")
                attempt = replace(attempt, outcome="complete")
                carried.late.append(run.number)
            store.log(attempt)
            carried.left_behind += behind
            lasted.append(attempt.seconds)
            if signal is not None:
                carried.interrupted = signal
                return
            if attempt.outcome != "late":
                break
            view.note(f"run {run.number}: {attempt.reason}; again")
            carried.repeated += 1
        _note_end(carried, run, attempt, view)
        good |= attempt.outcome == "complete"
        if attempt.state is not None and attempt.outcome == "complete":
            states.append(HostState(**attempt.state))
        if not good and len(carried.failed) == min(MOST_FAILED, len(plan.runs)):
            reason = carried.failed[run.number]
            raise SatlineError(
                f"the first {len(carried.failed)} runs failed, the last with: {reason}",
                hint=f"mend it and start the study again; what was recorded is in {store.path}",
            )


def _further(designed: Designed[Any], carried: Carried, view: View) -> list[Run]:
    """The next run beyond the plan, which is put into it; none where there is none, or enough is known."""
    from satline.experiment.designed._results import ALL, results_of

    design, store = designed.design, carried.store
    if design.most_runs is None:
        return []
    results = results_of(
        carried.plan,
        store.recording,
        lambda run: store.finished(run, carried.digest),
        design.within_seconds,
    )
    measured = {
        result.run.number: getattr(one, design.measures[0])
        for result in results
        for one in result.figures
        if one.class_name == ALL
    }
    values = {number: float(value) for number, value in measured.items() if value is not None}
    carried.decided = found = look(carried.plan, values, design)
    view.note(found.why)
    if found.run is None:
        return []
    carried.plan = extended(carried.plan, found.run)
    store.extend(carried.plan)
    return [found.run]


def _attempt(
    store: Store, run: Run, digest: str, execute: Executor, scratch: Path, states: list[HostState]
) -> tuple[Attempt, list[str], int | None]:
    """One attempt at a run, whatever comes of it but for what concerns all runs alike."""
    from satline.diagnosis import lateness_of
    from satline.experiment.protocol import NotSetError
    from satline.recording import Recording, compact, describe

    store.set_aside(run)
    recording, before, began = store.recording(run), read_state(scratch), time.monotonic()
    flags = against_others(states, before)
    behind: list[str] = []
    signal: int | None = None
    outcome, reason = "failed", ""
    try:
        behind, signal = execute(run, recording, store.place(run, digest))
        # A signal that came while the host was being restored came to a run that was whole.
        outcome = "complete" if signal is None or store.finished(run, digest) else "interrupted"
    except NotSetError:
        raise
    except SatlineError as error:
        reason = error.message
    if outcome == "complete":
        flags += within_run(before, read_state(scratch))
        compact(recording)
        flags += _of_recording(recording)
        late = lateness_of(Recording.open(recording))
        reason = late.words if late is not None and late.matters else ""
        outcome = "late" if reason else "complete"
        describe.update(recording, {"study": {"design": {"flags": flags, "host": before.plain()}}})
    name = recording.name if recording.exists() else None
    seconds = time.monotonic() - began
    return Attempt(run.number, outcome, name, seconds, reason, flags, before.plain()), behind, signal


def _settle(recording: Path) -> None:
    """Judge the conditions of a run whose recording is whole, but at whose end a kill came before that."""
    from satline.recording import compact, describe

    if "flags" in describe.read(recording).get("study", {}).get("design", {}):
        return
    compact(recording)
    flags = ["ended by a kill before the host was looked at again", *_of_recording(recording)]
    describe.update(recording, {"study": {"design": {"flags": flags}}})


def _of_recording(recording: Path) -> list[str]:
    """What a run's recording itself says against it."""
    return work_of_others(recording) + _unsteady(recording) + _absent(recording)


def _unsteady(recording: Path) -> list[str]:
    from satline.experiment.designed._results import measured_step
    from satline.recording import Recording
    from satline.windows.steady import window_steadiness

    with Recording.open(recording).connect(tables=["event", "transaction"]) as connection:
        step = measured_step(connection)
        found = None if step is None else window_steadiness(connection, step)
    return [found.words] if found is not None and found.steady is False else []


def _absent(recording: Path) -> list[str]:
    from satline.diagnosis import absent_users
    from satline.recording import Recording

    found = absent_users(Recording.open(recording))
    return [] if found is None else [found]


def _note_end(carried: Carried, run: Run, attempt: Attempt, view: View) -> None:
    if attempt.outcome == "failed":
        carried.failed[run.number] = attempt.reason
        view.note(f"run {run.number} FAILED: {attempt.reason}; the study goes on without it")
    else:
        for flag in attempt.flags:
            view.note(f"run {run.number} flagged: {flag}")


def _words(run: Run) -> str:
    return ", ".join(f"{name} {level}" for name, level in run.levels.items())


def _expected_s(designed: Designed[Study]) -> float:
    load = next(iter(designed.cells.values())).file.load
    return load.ramp_seconds + load.warmup_seconds + load.window_seconds + 5.0


class SaidOnce:
    """Shows a line only if no earlier run has shown it: most of what runs say, all of them say."""

    def __init__(self, view: View, live: bool) -> None:
        self._view = view
        self._live = live
        self._said: set[str] = set()

    def __enter__(self) -> SaidOnce:
        if self._live:
            self._view.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live:
            self._view.__exit__(*error)

    def note(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._view.note(text)

    def show(self, progress: Progress) -> None:
        if self._live:
            self._view.show(progress)

    def decided(self, outlook: Outlook) -> None:
        self._view.decided(outlook)

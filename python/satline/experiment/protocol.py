"""The run protocol [AW79]: configuration up; for each step ramp, warm-up and measured window; down again.

`run_study` is the one face of this package that starts things.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satline.diagnosis.peak import Peak, peak_of
from satline.errors import InputError, SatlineError
from satline.experiment.adaptive import Trail, trail_of
from satline.experiment.adaptive.driver import Adaptive
from satline.experiment.adaptive.plan import SearchPlan, StepTimes, has_room, load_processors
from satline.experiment.adaptive.resume import check_resumable, earlier_runs, go_on
from satline.experiment.emulator import Emulator, Progress, WindowTrace, command_line
from satline.experiment.feasibility import check_feasible, check_workload, check_writable, host_to_oneself
from satline.experiment.progress import View, limits_in_words
from satline.experiment.series import Series
from satline.experiment.study import Study
from satline.experiment.swapper import Swapper, beside_the_load, programs_for
from satline.experiment.targets import required_programs, target_settings, workload_for
from satline.interruption import Interrupted, signals_held, signals_interrupt
from satline.systems import Conditions, Configuration, Monitoring, SystemUnderTest, system_named
from satline.systems.binaries import find_binary

if TYPE_CHECKING:
    from satline.diagnosis import Diagnosis
    from satline.reconcile import Story
    from satline.recording import Recording
    from satline.recording.describe import EndReason
    from satline.reduction import Curves

    PageWriter = Callable[[Path, Recording, Curves, Diagnosis, Sequence[str]], None]


QUICK = 1 / 3
MIN_QUICK_S = 60.0
QUICK_NOTE = "quick run: windows of a third of the stated length; steady state is less sure"


@dataclass(frozen=True)
class Options:
    """How to run a study.

    out
        The recording; ``None``: a new directory here, named after the study and the time.
    resume
        A recording of this study with adaptive steps, to go on with; ``None``: a new one.
    scratch
        Directory on the disk that is to hold the data and the swap file.
    state
        Directory of the ledgers; ``None``: the usual place.
    write_page
        Writes the page of a diagnosis into the recording; ``None``: there is none.
    """

    out: Path | None = None
    resume: Path | None = None
    scratch: Path = Path("/var/tmp")
    state: Path | None = None
    quick: bool = False
    write_page: PageWriter | None = None


class NotSetError(InputError):
    """A limit or a knob that the design varies cannot be set here."""


@dataclass
class Result:
    """What came of it.

    left_behind
        What could not be undone; empty when all is gone.
    trail
        How its steps were chosen; ``None``: they were stated.
    judged
        ``None`` when the run was interrupted before two windows were measured.
    interrupted
        Number of the signal that ended it early, or came while the host was being restored.
    """

    recording: Path
    judged: Judged | None = None
    trail: Trail | None = None
    interrupted: int | None = None
    windows: int = 0
    left_behind: list[str] = field(default_factory=list)


def quickened(study: Study) -> Study:
    """The study with shorter warm-ups and windows, and about half of its steps."""
    load = study.file.load
    if load.adaptive:
        return study.with_load(
            seconds=max(MIN_QUICK_S, load.seconds * QUICK),
            warmup_seconds=max(1.0, load.warmup_seconds * QUICK),
            window_seconds=max(4.0, load.window_seconds * QUICK),
        )
    steps = load.users
    if len(steps) > 6:
        steps = sorted({*steps[::2], steps[-1]}) if steps == sorted(steps) else steps[::2]
    return study.with_load(
        users=steps,
        warmup_seconds=max(1.0, load.warmup_seconds * QUICK),
        window_seconds=max(4.0, load.window_seconds * QUICK),
    )


def run_study(study: Study, options: Options, view: View) -> Result:
    """Run a study to its verdict; whatever happens, everything it made is gone afterwards.

    Raises
    ------
    InputError
        The study cannot run here, or could not be started: nothing was recorded.
    SatlineError
        The monitor, the emulator or a server failed: what was recorded until then is kept, and says so.
    """
    if options.quick:
        study = quickened(study)
    programs = checked(study, options.scratch)
    recording = options.resume or options.out or Path(f"{study.name}-{datetime.now():%Y%m%d-%H%M%S}.satline")
    if options.resume is not None:
        check_resumable(recording, study)
    elif recording.exists() and (not recording.is_dir() or any(recording.iterdir())):
        raise InputError(
            f"{recording} is there already",
            hint="name another directory, or delete it; a study's can be resumed",
        )
    check_writable(recording)
    with host_to_oneself(options.state, view):
        result = run_once(study, options, view, recording, programs)
    if result.interrupted is None or result.windows >= 2:
        view.note("reducing and diagnosing …")
        try:
            result.judged = judge(result.recording, study.file.load.until == "peak", options.write_page)
        except BaseException:
            view.note(f"kept: {recording}")
            raise
    return result


def checked(study: Study, scratch: Path) -> dict[str, Path]:
    """Hold a study against what there is here; returns the programs that it needs.

    Raises
    ------
    InputError, SatlineError
        It cannot run here; or a program is missing.
    """
    check_feasible(study, scratch)
    check_workload(study.workload)
    programs = {name: find_binary(name) for name in ("satline-terminal", "satline-monitor")}
    if study.file.monitor.thermometers:
        programs["satline-thermometer"] = find_binary("satline-thermometer")
    return programs | programs_for(study.file.swapper)


def run_once(
    study: Study,
    options: Options,
    view: View,
    recording: Path,
    programs: dict[str, Path],
    *,
    design: Mapping[str, Any] | None = None,
    needed: Mapping[str, str] | None = None,
) -> Result:
    """One run of a study that was checked, without its analysis.

    Parameters
    ----------
    design
        What the recording says of the run's place in a design.
    needed
        Limits and knobs without which the run would mean nothing, and who needs them.

    Raises
    ------
    InputError, SatlineError
        As for `run_study`.
    """
    return _Run(study, options, view, recording, programs, design, needed or {}).run()


class _Run:
    """One run, from the first resource made to the last undone."""

    def __init__(
        self,
        study: Study,
        options: Options,
        view: View,
        recording: Path,
        programs: dict[str, Path],
        design: Mapping[str, Any] | None,
        needed: Mapping[str, str],
    ) -> None:
        self._study = study
        self._design = design
        self._needed = needed
        self._view = view
        self._recording = recording
        self._programs = programs
        self._quick = options.quick
        self._plan = SearchPlan.of(study.file.load, study.limits()) if study.file.load.adaptive else None
        self._resumed = options.resume is not None
        self._system: SystemUnderTest = system_named(study.file.target, options.state)
        self._configuration = Configuration(
            run_id=secrets.token_hex(16),
            limits=study.limits(),
            scratch=options.scratch.absolute(),
            delay_accounting=study.file.monitor.delay_accounting,
            knobs=study.knobs(),
            target=target_settings(study),
            users=self._plan.most_users if self._plan else max(study.file.load.users),
            seconds=study.file.load.longest_s(),
            requires=required_programs(study),
            trace=study.trace(),
            say=view.note,
        )
        self._recorded = False

    def run(self) -> Result:
        result = Result(self._recording)
        reason: EndReason = "failed"
        text = ""
        with signals_interrupt() as signals:
            try:
                try:
                    self._up_and_measure()
                    reason = "complete"
                finally:
                    signals.hold()  # restoring, which they ask for, must not stop half-way
            except Interrupted as interruption:
                reason, text = "interrupted", f"signal {interruption.number}"
                result.interrupted = interruption.number
            except SatlineError as error:
                text = error.message
                raise
            except (BrokenPipeError, SystemExit):
                # rich ends the program when nobody reads it any more; a hang-up may be on its way.
                reason, text = "interrupted", "standard output was closed"
                raise
            finally:
                self._down(result, reason, text)
            while_restoring = signals.take()
            result.interrupted = result.interrupted or while_restoring
        result.windows = self._windows()
        if self._plan is not None and self._recorded:
            from satline.recording import Recording

            result.trail = trail_of(Recording.open(self._recording).description, self._recording)
        return result

    def _up_and_measure(self) -> None:
        study = self._study
        self._view.note(f"{study.file.title} ({study.path})")
        conditions = self._system.prepare(self._configuration)
        for line in limits_in_words(conditions):
            self._view.note(line)
        for name, who in self._needed.items():
            if name in conditions.not_set:
                raise NotSetError(
                    f"{study.path}: {who} cannot be set: {name}: {conditions.not_set[name]}",
                    hint="without it the runs would not differ; run it as root, or leave the factor out",
                )
        if study.file.prepare.commands:
            self._view.note("preparing the data …")
            self._system.run_once(study.file.prepare.commands, study.file.prepare.timeout_seconds)
        self._system.start(study.servers())
        self._describe(conditions)
        with _away_from_the_load(conditions):
            monitor = study.file.monitor
            self._system.measure(
                Monitoring(
                    program=self._programs["satline-monitor"],
                    recording=self._recording.absolute(),
                    interval_s=monitor.interval_seconds,
                    thermometers=tuple(monitor.thermometers),
                    thermometer_every_s=monitor.thermometer_every_seconds,
                    thermometer_program=self._programs.get("satline-thermometer"),
                )
            )
            recording = self._recording.absolute()
            with beside_the_load(study.file.swapper, self._programs, conditions, recording) as swapper:
                self._drive(conditions, swapper)

    def _drive(self, conditions: Conditions, swapper: Swapper | None) -> None:
        from satline.recording import describe

        if self._plan is not None:
            self._drive_adaptive(self._plan, conditions, swapper)
            return
        series = Series(self._study.file.load, self._recording)
        with self._emulating(conditions, swapper, steps=series.steps) as (_, going):
            with self._view:
                for progress in going:
                    if isinstance(progress, Progress):
                        self._view.show(progress)
                    if series.enough(progress):
                        break
            if series.why:
                describe.annotate(self._recording, f"ended by itself: {series.why}")
                self._view.note(series.why)

    def _drive_adaptive(self, plan: SearchPlan, conditions: Conditions, swapper: Swapper | None) -> None:
        from satline.recording import describe

        load = self._study.file.load
        driver = Adaptive(
            plan,
            StepTimes(load.ramp_seconds, load.warmup_seconds, load_processors(self._study.limits())),
            self._recording,
            self._view.decided,
            ahead=bool(conditions.other_processors) or has_room(self._study.limits()),
            **earlier_runs(self._recording) if self._resumed else {},
        )
        first = driver.first()
        if first is None:
            self._note(driver.why)
            return
        stated = {"first": first, "most": plan.most_users}
        with self._emulating(conditions, swapper, **stated) as (emulator, going):
            driver.begin()
            with self._view:
                for progress in going:
                    driver.follow(progress, emulator)
                    if isinstance(progress, Progress):
                        self._view.show(driver.in_time(progress))
            for failure in driver.failures:
                text = f"a look at the windows failed, and its step was run again: {failure}"
                describe.annotate(self._recording, text)
                self._note(text)
            self._view.note(driver.why)

    @contextlib.contextmanager
    def _emulating(
        self, conditions: Conditions, swapper: Swapper | None, **steps: Any
    ) -> Iterator[tuple[Emulator, Iterator[Progress | None]]]:
        """A running emulator, and what it says while all that runs beside it is well; stopped at the end.

        Parameters
        ----------
        steps
            What `command_line` is told of the steps.
        """
        trace = WindowTrace(self._study, conditions, self._recording)
        emulator = Emulator(
            command_line(
                self._programs["satline-terminal"],
                workload_for(self._study, conditions),
                self._recording.absolute(),
                self._study.file.load,
                conditions,
                **steps,
            ),
            conditions.environment,
            conditions.data.parent / "satline-terminal.log",
        )

        def going() -> Iterator[Progress | None]:
            for progress in emulator.progress():
                self._system.check()
                trace.follow(progress)
                if swapper is not None:
                    swapper.check()
                yield progress

        try:
            yield emulator, going()
        finally:
            with signals_held():
                emulator.stop()
                for line in trace.keep():
                    self._note(line)

    def _describe(self, conditions: Conditions) -> None:
        """Create the recording: everything before this leaves none behind when it fails."""
        from satline.recording import describe

        study = self._study
        system: dict[str, Any] = {
            "kind": self._system.kind,
            "processors": conditions.processors,
            "cgroup": "load" if conditions.cgroup else None,
            "limits": conditions.limits,
            "knobs": conditions.knobs or None,
            "not_set": conditions.not_set,
            **conditions.described,
        }
        load = study.file.load
        if self._resumed and self._plan is not None:
            go_on(self._recording, system, self._plan.as_toml())
            self._recorded = True
            return
        describe.create(
            self._recording,
            "satline study",
            host=conditions.host,
            system_under_test=system,
            study={
                "name": study.name,
                "title": study.file.title,
                "question": study.file.question or None,
                "seed": load.seed,
                "users": None if load.adaptive else load.users,
                "search": self._plan.as_toml() if self._plan is not None else None,
                "ramp_seconds": load.ramp_seconds,
                "warmup_seconds": load.warmup_seconds,
                "window_seconds": load.window_seconds,
                "source": study.text,
                "workload": study.workload_text,
                "design": self._design,
            },
        )
        self._recorded = True
        if self._quick:
            describe.annotate(self._recording, QUICK_NOTE)

    def _down(self, result: Result, reason: EndReason, text: str) -> None:
        self._note("restoring the host …")
        try:
            self._system.collect()
        finally:
            result.left_behind = self._system.restore()
            for problem in result.left_behind:
                self._note(f"left behind: {problem}")
            if self._recorded:
                try:
                    self._end_recording(reason, text)
                except (SatlineError, OSError) as error:
                    self._note(f"the end could not be written to {self._recording}: {error}")
                if reason == "failed":
                    self._note(f"kept: {self._recording}")

    def _note(self, text: str) -> None:
        """Say something while restoring; a terminal that is gone must not keep it from being done."""
        with contextlib.suppress(OSError, SystemExit):  # rich ends the program when its reader has gone
            self._view.note(text)

    def _end_recording(self, reason: EndReason, text: str) -> None:
        from satline.recording import DiskFullError, Recording, RecordingWriter, describe

        sources = Recording.open(self._recording).sources.values()
        full = reason == "failed" and any(source.get("end_reason") == "disk-full" for source in sources)
        if reason != "complete" and not full:
            row = {"source": "study", "event": "stopped", "text": text or reason}
            now = {"time_ns": time.time_ns(), "monotonic_ns": time.monotonic_ns()}
            try:
                with RecordingWriter(self._recording, "study") as writer:
                    writer.write_rows("event", [{**now, **row}])
            except DiskFullError:
                full = True
        describe.end(self._recording, "disk-full" if full else reason)

    def _windows(self) -> int:
        """Number of measured windows that came to their end."""
        from satline.recording import Recording

        if not self._recorded:
            return 0
        with Recording.open(self._recording).connect() as connection:
            row = connection.execute("SELECT count(*) FROM event WHERE event = 'window-end'").fetchone()
        return int(row[0]) if row else 0


@contextlib.contextmanager
def _away_from_the_load(conditions: Conditions) -> Iterator[None]:
    """This process on the processors that the load does not use, as far as there are any."""
    if not conditions.other_processors:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, conditions.other_processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class Judged:
    """What a run's recording says.

    agreement
        How the diagnosis and the prediction from the same recording relate.
    peak
        Of a series that was run to find it.
    report
        The page; ``None``: nobody was there to write it.
    """

    diagnosis: Diagnosis
    agreement: Story
    peak: Peak | None
    report: Path | None = None


def judge(path: Path, for_peak: bool, write_page: PageWriter | None = None) -> Judged:
    """The diagnosis of a recording, what the other answers say of it, the peak of its series if asked for,
    and its page.

    The recording stays good whatever fails here.
    """
    from satline.diagnosis import diagnose
    from satline.reconcile import Answers, story
    from satline.recording import Recording, compact
    from satline.reduction import reduce

    compact(path)
    recording = Recording.open(path)
    curves = reduce(recording)
    diagnosis = diagnose(recording, curves)
    told = story(recording, curves, "diagnose", Answers(diagnosis=diagnosis))
    report = None if write_page is None else path / "report.html"
    if report is not None and write_page is not None:
        write_page(report, recording, curves, diagnosis, told.lines)
    return Judged(diagnosis, told, peak_of(recording, diagnosis) if for_peak else None, report)

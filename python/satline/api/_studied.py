"""Studies: emulated users on a real system, designed experiments, simulated studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from satline.api._charts import below_each_other
from satline.api._columns import Column, made_table
from satline.api._experiment import Experiment
from satline.api._result import Result
from satline.api._simulated import Simulation
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.api._diagnosed import Diagnosed
    from satline.api._recording import OpenRecording
    from satline.experiment import Result as RunResult
    from satline.experiment import Study
    from satline.simulation import SimulatedStudy, StudyResult

    Progress = Callable[[float | None, str], None]


class StudyRun(Result["RunResult"]):
    """A study of emulated users that was run; made by `study`.

    Its table is that of its diagnosis: a row for each rule.

    Attributes
    ----------
    recording
        What was recorded; ``None``: the study ended before anything was.
    """

    def __init__(self, result: RunResult, recording: OpenRecording | None) -> None:
        super().__init__(result)
        self.recording = recording
        self._diagnosed: Diagnosed | None = None

    def diagnose(self) -> Diagnosed:
        """The diagnosis of what was recorded.

        Raises
        ------
        InputError
            Nothing was recorded, or too little.
        """
        if self.recording is None:
            raise InputError("nothing was recorded", hint="run the study again, for longer")
        if self._diagnosed is None:
            self._diagnosed = self.recording.diagnose()
        return self._diagnosed

    def lines(self) -> list[str]:
        """The verdict, the windows measured, and where the recording is."""
        judged = self.result.judged
        return [
            "no verdict: it ended too early" if judged is None else judged.diagnosis.headline,
            f"{self.result.windows} windows measured into {self.result.recording}",
            *(f"left behind: {text}" for text in self.result.left_behind),
        ]

    def plot(self) -> Any:
        """An `altair.Chart` of throughput against users; see `Diagnosed.plot`."""
        return self.diagnose().plot()

    def _table(self) -> pa.Table:
        return self.diagnose().to_arrow()


class SimulatedStudyRun(Result["StudyResult"]):
    """A simulated study that was run; made by `study`.

    Its table has a row for each arm, point and measure: that of each arm's `Simulation`, one below the other.

    Attributes
    ----------
    arms
        By name of the arm; one without a name where nothing is compared.
    """

    def __init__(self, result: StudyResult) -> None:
        super().__init__(result)
        self.arms = {name: Simulation(found) for name, found in result.arms.items()}

    def lines(self) -> list[str]:
        """Title and question, each arm, and whether the diagnosis names what was planted."""
        file, planted = self.result.study.file, self.result.planted
        said = [] if planted is None else [planted.words, planted.diagnosis.headline]
        arms = [f"{name or 'points'}: {arm.lines()[0]}" for name, arm in self.arms.items()]
        return [file.title, *([file.question] if file.question else []), *arms, *said]

    def plot(self) -> Any:
        """An `altair.Chart` of throughput and response of each arm, one below the other."""
        return below_each_other([arm.plot() for arm in self.arms.values()])

    def _table(self) -> pa.Table:
        import pyarrow as pa

        parts = []
        for name, arm in self.arms.items():
            rows = arm.to_arrow()
            own = made_table([Column("arm", "text")], [(name,)] * rows.num_rows)
            parts.append(rows.add_column(0, own.schema.field("arm"), own.column("arm")))
        return pa.concat_tables(parts, promote_options="permissive")


def study(
    name_or_file: str | Path,
    *,
    kind: Literal["emulated", "simulated"] | None = None,
    out: str | Path | None = None,
    seed: int | None = None,
    quick: bool = False,
    within: float | None = None,
    seconds: float | None = None,
    most: int | None = None,
    targets: Sequence[str] = (),
    grid: bool = False,
    resume: str | Path | None = None,
    scratch: str | Path = "/var/tmp",
    replications: int | None = None,
    workers: int | None = None,
    leave_out_flagged: bool = False,
    progress: Progress | None = None,
) -> StudyRun | Experiment | SimulatedStudyRun:
    """Run a study: emulated users on a real system, a designed experiment, or a simulated study.

    A study of emulated users puts load on this host, as ``satline study`` does, and takes minutes.

    Parameters
    ----------
    name_or_file
        A shipped study, or a study file.
    kind
        ``emulated`` or ``simulated``; needed only for a name that both kinds have. Default: as it is found.
    out
        Where it is recorded; of a simulated study or a design, the directory of its runs. Default: a new
        directory here, named after the study.
    seed
        In place of the study's.
    quick, within, seconds, most, targets, grid, resume, scratch
        Of emulated users, as the options of ``satline study``: shorter windows; when steps end; what is
        sought; the stated steps only; a recording to go on with; the directory of its data.
    replications, workers
        Of a simulated study: runs of each point, and at a time.
    leave_out_flagged
        Of a design: analyse it without the runs whose conditions were not those of the others.
    progress
        Called now and then with the part that is done, 0 to 1 (``None``: not known), and a line of words.

    Returns
    -------
    `StudyRun`, `Experiment` where the study has factors, or `SimulatedStudyRun`.

    Raises
    ------
    InputError, SatlineError
        The study cannot be read or cannot run here, or a run failed.
    """
    said = progress or (lambda _part, _words: None)
    given: dict[str, dict[str, object]] = {
        "emulated": {
            "quick": quick or None,
            "within": within,
            "seconds": seconds,
            "most": most,
            "targets": tuple(targets) or None,
            "grid": grid or None,
            "resume": resume,
        },
        "simulated": {"replications": replications, "workers": workers},
    }
    found, path = _found(str(name_or_file), kind)
    other = "emulated" if found == "simulated" else "simulated"
    if surplus := [name for name, value in given[other].items() if value is not None]:
        words = {"emulated": "a study of emulated users", "simulated": "a simulated study"}
        raise InputError(
            f"{', '.join(surplus)}: of {words[other]}; {path.stem} is {words[found]}", hint="leave it out"
        )
    place = None if out is None else Path(out)
    if found == "simulated":
        return _simulated(path, place, seed, replications, workers, leave_out_flagged, said)
    from satline.experiment import read_study, with_steps

    read = read_study(path)
    if seed is not None:
        read = read.with_load(seed=seed)
    read = with_steps(read, grid=grid, within=within, seconds=seconds, most=most, targets=targets)
    if read.file.factor:
        if resume is not None:
            raise InputError("resume: a design has many recordings", hint="give its directory as out=")
        return _designed(read, place, quick, Path(scratch), leave_out_flagged, said)
    if leave_out_flagged:
        raise InputError("leave_out_flagged is of a design", hint="add [[factor]] tables to the study")
    return _emulated(read, place, None if resume is None else Path(resume), quick, Path(scratch), said)


def _found(name: str, kind: str | None) -> tuple[str, Path]:
    """The study's kind and file."""
    from satline.experiment import find_study
    from satline.outside import parse_toml, read_text
    from satline.simulation import find_simulated_study

    finders = {"emulated": find_study, "simulated": find_simulated_study}
    if kind is not None and kind not in finders:
        raise InputError(f"kind={kind!r}", hint='write kind="emulated" or kind="simulated"')
    places: dict[str, Path] = {}
    errors: list[InputError] = []
    for one in [kind] if kind is not None else list(finders):
        try:
            places[one] = finders[one](name)
        except InputError as error:
            errors.append(error)
    if not places:
        raise errors[0]
    if len(set(places.values())) == 1 and len(places) > 1:
        # A file: a simulated study names the machine that it simulates.
        path = next(iter(places.values()))
        try:
            simulated = "machine" in parse_toml(read_text(path))
        except (OSError, ValueError):
            simulated = False  # reading it as a study says what is wrong
        return ("simulated" if simulated else "emulated"), path
    if len(places) > 1:
        raise InputError(
            f"there are two studies {name}: of emulated users on this host, and of a simulated machine",
            hint='say which: kind="emulated" or kind="simulated"',
        )
    return next(iter(places.items()))


def _emulated(
    read: Study, out: Path | None, resume: Path | None, quick: bool, scratch: Path, said: Progress
) -> StudyRun:
    from satline.api._recording import OpenRecording
    from satline.api._view import CallbackView
    from satline.experiment import Options, run_study
    from satline.present.html import write_report
    from satline.recording import Recording

    options = Options(out=out, resume=resume, scratch=scratch, quick=quick, write_page=write_report)
    found = run_study(read, options, CallbackView(said))
    if not found.recording.exists():
        return StudyRun(found, None)
    return StudyRun(found, OpenRecording(Recording.open(found.recording)))


def _designed(
    read: Study, out: Path | None, quick: bool, scratch: Path, leave_out_flagged: bool, said: Progress
) -> Experiment:
    from satline.api._view import CallbackView
    from satline.experiment import Options, analyse_carried, carry_out, designed_study

    place = out or Path(f"{read.name}-design")
    view = CallbackView(said)
    options = Options(out=place, scratch=scratch, quick=quick)
    carried = carry_out(designed_study(read), place, options, view, view)
    if carried.interrupted is not None:
        raise KeyboardInterrupt(f"ended early; the same study with out={str(place)!r} goes on")
    outcome = analyse_carried(carried, read.file.design, leave_out_flagged=leave_out_flagged)
    return Experiment(outcome, place)


def _simulated(
    path: Path,
    out: Path | None,
    seed: int | None,
    replications: int | None,
    workers: int | None,
    leave_out_flagged: bool,
    said: Progress,
) -> Experiment | SimulatedStudyRun:
    from satline.simulation import is_designed, read_simulated_study, run_designed, run_simulated_study

    read: SimulatedStudy = read_simulated_study(path)
    place = out or Path(f"{read.name}-simulated")
    if is_designed(read):
        made = run_designed(
            read,
            place,
            replicates=replications,
            seed=seed,
            workers=workers,
            leave_out_flagged=leave_out_flagged,
            progress=lambda done, runs: said(done / max(1, runs), f"{done} of {runs} runs"),
        )
        return Experiment(made.outcome, made.store.path)
    if leave_out_flagged:
        raise InputError("leave_out_flagged is of a design", hint="add [[factor]] tables with levels")
    return SimulatedStudyRun(
        run_simulated_study(
            read,
            place,
            replications=replications,
            seed=seed,
            workers=workers,
            progress=lambda p: said(p.part, f"{p.done} of {p.runs} runs"),
            note=lambda words: said(None, words),
        )
    )

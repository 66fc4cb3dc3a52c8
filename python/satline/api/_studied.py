"""Studies: emulated users on a real system, designed experiments, simulated studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from satline.api._charts import Dot, below_each_other, line_chart
from satline.api._columns import Column, Frame, finite, made_table
from satline.api._result import Result
from satline.api._simulated import Simulation
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.api._diagnosed import Diagnosed
    from satline.api._recording import OpenRecording
    from satline.experiment import Outcome, Part, Study
    from satline.experiment import Result as RunResult
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


class Experiment(Result["Outcome"]):
    """A designed experiment that was run and analysed; made by `study`.

    Its table is the analysis of variance: a row for each measure, class of commands and source of variation.

    Attributes
    ----------
    path
        The directory of its runs: the same study with this directory as ``out`` goes on there.
    """

    def __init__(self, result: Outcome, path: Path) -> None:
        super().__init__(result)
        self.path = path

    def lines(self) -> list[str]:
        """The factors, the runs, and what is significant of each measure."""
        from satline.experiment import verdicts

        plan = self.result.plan
        factors = "; ".join(f"{f.name} ({', '.join(f.levels)})" for f in plan.factors)
        lines = [f"{len(self.result.results)} of {len(plan.runs)} runs; factors: {factors}"]
        for part in self.result.parts:
            words = f"not analysed: {part.why}"
            if part.analysis is not None:
                found = [source for source, said in verdicts(part.analysis).items() if said == "significant"]
                words = f"significant: {', '.join(found) or 'nothing'}"
            lines.append(f"{part.class_name}, {part.measure}: {words}")
        return [*lines, *self.result.missing, *self.result.sensitivity]

    def runs(self) -> Frame:
        """What each run yielded: a row for each run and class of commands."""
        factors = [factor.name for factor in self.result.plan.factors]
        figures: dict[str, str] = {
            "reaction_s": "s",
            "reaction_p90_s": "s",
            "response_s": "s",
            "response_p90_s": "s",
            "interactions_per_minute": "per minute",
            "satisfaction": "fraction",
        }
        columns = [
            Column("run", "int"),
            Column("replicate", "int"),
            *(Column(name, "text") for name in factors),
            Column("class", "text"),
            *(Column(name, "int") for name in ("users", "interactions", "failed", "unanswered")),
            *(Column(name, unit=unit) for name, unit in figures.items()),
            Column("flags", "text", meaning="how its conditions differed from those of the others"),
        ]

        def make() -> pa.Table:
            return made_table(
                columns,
                [
                    (
                        *(one.run.number, one.run.replicate, *(one.run.levels[name] for name in factors)),
                        *(f.class_name, f.users, f.interactions, f.failed, f.unanswered),
                        *(getattr(f, name) for name in figures),
                        "; ".join(one.flags),
                    )
                    for one in self.result.results
                    for f in one.figures
                ],
            )

        return Frame("Runs", make)

    def effects(self) -> Frame:
        """Differences between levels, with intervals that hold for all of them together.

        Where ``log`` is true they are differences of natural logarithms of the measure.
        """
        columns = [
            *_PART_COLUMNS,
            Column("source", "text"),
            Column("from_level", "text"),
            Column("to_level", "text"),
            Column("effect"),
            Column("effect_low"),
            Column("effect_high"),
            Column("log", "bool"),
        ]

        def make() -> pa.Table:
            return made_table(
                columns,
                [
                    (
                        *(part.class_name, part.measure, c.source, *(c.between or (None, None))),
                        *(c.value, c.low, c.high, part.analysis.log),
                    )
                    for part in self.result.parts
                    if part.analysis is not None
                    for c in part.analysis.contrasts
                ],
            )

        return Frame("Effects", make)

    def plot(self, measure: str | None = None, class_name: str = "all") -> Any:
        """An `altair.Chart` of the mean of a measure at each level, one below the other for each factor.

        Bars are 95 % intervals.

        Parameters
        ----------
        measure
            Which; default: the first that was analysed.
        class_name
            Class of commands.

        Raises
        ------
        InputError
            That measure of that class was not analysed.
        """
        part = self._part(measure, class_name)
        assert part.analysis is not None
        means = part.analysis.means
        charts = []
        for factor in self.result.plan.factors:
            own = [one for one in means if one.factor == factor.name]
            # A level that is no number has its place among the levels.
            places = {level: _number(level, k) for k, level in enumerate(factor.levels)}
            dots = [
                Dot(f"{factor.name} {m.level}", places[m.level], *map(finite, (m.value, m.low, m.high)))
                for m in own
            ]
            charts.append(line_chart(dots, factor.name, part.measure, line=False, zero=False))
        return below_each_other(charts)

    def _part(self, measure: str | None, class_name: str) -> Part:
        for part in self.result.parts:
            if (
                part.class_name == class_name
                and measure in (None, part.measure)
                and part.analysis is not None
            ):
                return part
        known = [f"{p.measure} of {p.class_name}" for p in self.result.parts if p.analysis is not None]
        raise InputError(
            f"{measure or 'no measure'} of {class_name} was not analysed",
            hint=f"analysed: {', '.join(known) or 'nothing; see lines()'}",
        )

    def _table(self) -> pa.Table:
        columns = [
            *_PART_COLUMNS,
            Column("source", "text"),
            Column("sum_of_squares"),
            Column("degrees_of_freedom", "int"),
            Column("mean_square"),
            Column("f"),
            Column("p", meaning="chance of as large an F where there is no effect"),
            Column("p_adjusted", meaning="the same, kept for all terms together"),
        ]
        return made_table(
            columns,
            [
                (
                    *(part.class_name, part.measure, row.source, row.squares, row.freedom),
                    *(row.mean_square, finite(row.f), row.chance, row.adjusted),
                )
                for part in self.result.parts
                if part.analysis is not None
                for row in part.analysis.rows
            ],
        )


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


_PART_COLUMNS = (Column("class", "text"), Column("measure", "text"))


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
    from satline.recording import Recording

    options = Options(out=out, resume=resume, scratch=scratch, quick=quick)
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


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise

"""Run a simulated study: its arms, its figures, and the diagnosis of what it planted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from satline.simulation._factorial import combinations_of
from satline.simulation._runner import Program, Run, setting_text
from satline.simulation._simulate import Simulated, simulate
from satline.simulation._study import SimulatedStudy
from satline.simulation._sweep import Progress

if TYPE_CHECKING:
    from satline.diagnosis import Diagnosis


@dataclass(frozen=True)
class Planted:
    """What was planted, and what the diagnosis of the recording says.

    rank
        Place of the planted finding among those that hold, from 1; ``None``: it does not hold.
    """

    expects: str
    diagnosis: Diagnosis
    rank: int | None

    @property
    def named_first(self) -> bool:
        """The planted condition is the strongest finding, or the strongest remark where it is a remark."""
        same = [f for f in self.diagnosis.findings if (f.component == "none") == self._is_remark]
        return bool(same) and same[0].rule == self.expects

    @property
    def _is_remark(self) -> bool:
        return any(f.component == "none" for f in self.diagnosis.findings if f.rule == self.expects)

    @property
    def words(self) -> str:
        """One line for people."""
        if self.rank is None:
            return f"planted: {self.expects}; NOT named by the diagnosis"
        if self.named_first:
            return f"planted: {self.expects}; named by the diagnosis"
        return f"planted: {self.expects}; named by the diagnosis, but as number {self.rank}"


@dataclass(frozen=True)
class StudyResult:
    """What a study yielded: each arm's points, and the planted condition's diagnosis where there is one."""

    study: SimulatedStudy
    arms: dict[str, Simulated]
    planted: Planted | None


def run_simulated_study(
    study: SimulatedStudy,
    out: Path,
    *,
    replications: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    note: Callable[[str], None] = lambda _: None,
    program: Program | None = None,
) -> StudyResult:
    """Run all of it; results are kept in `out`, and what is there already is not run again.

    Raises
    ------
    InputError, SatlineError
        Wrong input, or a run failed.
    """
    program = program or Program()
    load = study.file.load
    out.mkdir(parents=True, exist_ok=True)
    arms = {}
    systems = combinations_of(study) if study.file.factor else study.arms
    for name, system in systems.items():
        if name:
            note(name)
        arms[name] = simulate(
            system.machine,
            system.workload,
            users=load.users,
            replications=replications or load.replications,
            sets=system.sets,
            vary=study.file.vary,
            seconds=load.seconds,
            warmup_seconds=load.warmup_seconds,
            seed=load.seed if seed is None else seed,
            workers=workers,
            out=out / "runs.jsonl",
            progress=progress,
            program=program,
        )
    planted = None
    if study.file.recording is not None:
        note("recording")
        path = out / f"{study.name}.satline"
        record(study, path, program, seed=seed, progress=progress)
        planted = judged(study, path)
    return StudyResult(study, arms, planted)


def record(
    study: SimulatedStudy,
    path: Path,
    program: Program,
    *,
    seed: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> None:
    """Record the study's steps; a recording that is there is of an earlier run, and is replaced."""
    plan = study.file.recording
    assert plan is not None
    run = Run(
        study.machine,
        study.workload,
        users=tuple(plan.users),
        step_seconds=plan.step_seconds,
        warmup_seconds=plan.warmup_seconds,
        sample_seconds=plan.sample_seconds,
        seed=study.file.load.seed if seed is None else seed,
        sets=tuple((key, setting_text(value)) for key, value in study.file.set.items()),
    )
    if (path / "recording.toml").is_file():
        shutil.rmtree(path)
    program.run(run, None if progress is None else lambda part: progress(Progress(0, 1, part)), path)
    if study.file.expects is not None:
        # What was planted goes with the recording: whoever diagnoses it may be told.
        from satline.recording import describe

        describe.update(path, {"truth": {"planted": study.file.expects}})


def judged(study: SimulatedStudy, path: Path) -> Planted | None:
    """The diagnosis of the study's recording beside what was planted; ``None``: nothing was."""
    from satline.diagnosis import diagnose
    from satline.recording import Recording

    expects = study.file.expects
    if expects is None:
        return None
    diagnosis = diagnose(Recording.open(path))
    diagnosis = replace(diagnosis, recording=path.name)
    ranks = [finding.rule for finding in diagnosis.findings]
    return Planted(expects, diagnosis, ranks.index(expects) + 1 if expects in ranks else None)

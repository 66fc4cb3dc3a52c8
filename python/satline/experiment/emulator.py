"""The emulator's process: starts it, follows its progress and traces a window of it [AW79], stops it."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from satline.errors import SatlineError
from satline.experiment.feasibility import told_by
from satline.experiment.study import Load, Study
from satline.outside import parse_json
from satline.systems import Conditions

STOP_TIMEOUT_S = 30.0
TICK_S = 0.25


@dataclass(frozen=True)
class StepLine:
    """A step: users, and the seconds of its parts."""

    users: int
    ramp_s: float
    warmup_s: float
    window_s: float

    @property
    def words(self) -> str:
        """The line for the emulator's standard input.

        >>> StepLine(12, 1.2, 3, 14).words
        '12 ramp=1200ms warmup=3000ms window=14000ms'
        """
        parts = {"ramp": self.ramp_s, "warmup": self.warmup_s, "window": self.window_s}
        return " ".join([str(self.users), *(f"{name}={round(s * 1000)}ms" for name, s in parts.items())])


@dataclass(frozen=True)
class Progress:
    """One progress line of the emulator; ``None``: nothing to say yet."""

    elapsed_s: float = 0.0
    total_s: float = 0.0
    step: int = 0
    steps: int = 0
    users: int = 0
    logged_on: int = 0
    phase: str = ""
    reactions: int = 0
    response_p50_ms: float | None = None
    response_p90_ms: float | None = None
    lateness_p99_us: float | None = None
    failures: int = 0

    @classmethod
    def parse(cls, line: bytes) -> Progress | None:
        """From a JSON line; keys that this version does not know are left out, other lines are none."""
        try:
            values = parse_json(line)
        except ValueError:
            return None
        if not isinstance(values, dict):
            return None
        return cls(**{name: values[name] for name in cls.__dataclass_fields__ if name in values})


def command_line(
    program: Path,
    workload: Path,
    recording: Path,
    load: Load,
    conditions: Conditions,
    steps: Sequence[int] | None = None,
    *,
    first: StepLine | None = None,
    most: int | None = None,
) -> list[str]:
    """The emulator's command for a study's load under the conditions in force.

    Parameters
    ----------
    steps
        In place of the load's users.
    first
        The first step; further ones are told while it runs.
    most
        The most users that a step may have, in place of the most of its users.
    """
    lengths = first or StepLine(0, load.ramp_seconds, load.warmup_seconds, load.window_seconds)
    if first is not None:
        steps = [first.users]
    # What the study says comes later, and counts.
    command = [str(program), "run", *conditions.emulator_options]
    command += ["--workload", str(workload), "--recording", str(recording)]
    command += ["--steps", ",".join(map(str, steps or load.users)), "--seed", str(load.seed)]
    command += ["--max-users", str(most or max(load.users))]
    for name, seconds in (
        ("ramp", lengths.ramp_s),
        ("warmup", lengths.warmup_s),
        ("window", lengths.window_s),
    ):
        command += [f"--{name}", f"{round(seconds * 1000)}ms"]
    if load.log_on_seconds is not None:
        command += ["--logon-timeout", f"{round(load.log_on_seconds * 1000)}ms"]
    if load.line is not None:
        command += ["--line", load.line]
    if load.allow is not None:
        command += ["--allow", load.allow]
    for path in conditions.cgroup_procs:
        command += ["--cgroup-procs", str(path)]
    if conditions.processors is not None:
        # Also beside a cpuset: users must not inherit the emulator's own processor.
        command += ["--affinity", ",".join(map(str, conditions.processors))]
    if conditions.other_processors:
        command += ["--processor", str(conditions.other_processors[-1])]
    for name, value in conditions.environment.items():
        command += ["--env", f"{name}={value}"]
    command += ["--users-file", str(conditions.users_file), "--directory", str(conditions.users)]
    return [*command, "--progress", "json", "--watch-stdin", *(["--follow"] if first is not None else [])]


class Emulator:
    """A running emulator.

    Parameters
    ----------
    command
        From `command_line`.
    environment
        Its variables, beside those inherited.
    log
        File for what it prints to standard error.
    """

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    def tell(self, line: str) -> None:
        """A line on its standard input; one that has ended takes none, and its progress ends."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def progress(self) -> Iterator[Progress | None]:
        """What it says, until it ends; ``None`` at every tick without news, for the caller to look elsewhere.

        Raises
        ------
        SatlineError
            It ended with an error.
        """
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        os.set_blocking(descriptor, False)
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while True:
                if not selector.select(TICK_S):
                    if self._process.poll() is not None:
                        break  # killed; something that it started may still hold the pipe
                    yield None
                    continue
                chunk = os.read(descriptor, 65536)
                if not chunk:
                    break
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines[-1:]:  # the newest is the one that counts
                    yield Progress.parse(line)
        status = self._process.wait()
        if status != 0:
            raise self._failure(status)

    def _failure(self, status: int) -> SatlineError:
        said = self._log.read_text(errors="replace")
        how = f"exit code {status}" if status > 0 else f"signal {-status}"
        error = told_by(said, f"the emulator ended with {how}")
        if status == 2:
            return error
        return SatlineError(f"the emulator ended with {how}: {error.message}", hint=error.hint)

    def stop(self, number: int = signal.SIGINT) -> None:
        """Have it log everybody off and end; kill it when it does not."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)
            try:
                self._process.communicate(timeout=STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class WindowTrace:
    """Follows a run under way, and traces the window that the study names, if it names one."""

    def __init__(self, study: Study, conditions: Conditions, recording: Path) -> None:
        stated = study.file.trace
        self._trace = conditions.trace
        self._step = (stated.step if stated is not None else None) or max(1, len(study.file.load.users))
        self._recording = recording
        self._failed: str | None = None

    def follow(self, progress: Progress | None) -> None:
        if self._trace is None or progress is None:
            return
        inside = progress.step == self._step and progress.phase == "window"
        try:
            if inside and not self._trace.begun:
                self._trace.begin()
            elif not inside:
                self._trace.end()
        except OSError as error:
            # The run does not need it.
            self._failed, self._trace = f"step {self._step} could not be traced: {error.strerror}", None

    def keep(self) -> list[str]:
        """Write what was traced into the recording; returns what is to be told."""
        from satline.recording import describe

        if self._failed is not None:
            return [self._failed]
        if self._trace is None or not self._trace.begun:
            return []
        name = f"trace/step-{self._step:02}.txt.gz"
        try:
            traced = self._trace.keep(self._recording / name)
        except OSError as error:
            return [f"the trace of step {self._step} could not be kept: {error.strerror}"]
        text = f"trace of step {self._step}: {traced.in_words()}"
        describe.annotate(self._recording, f"{text}; {name}")
        return [f"{text}: {self._recording / name}, {traced.bytes / 1e6:.1f} MB"]

"""The swapper beside the load of a run: its policy file, its program."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from satline.errors import SatlineError
from satline.experiment.feasibility import told_by
from satline.experiment.study import StudySwapper
from satline.interruption import signals_held
from satline.systems import Conditions
from satline.systems.binaries import end, end_with_parent, find_binary

PROGRAM = "satline-swapper"
START_S = 0.3


class Swapper:
    """A running swapper.

    Parameters
    ----------
    program
        The binary.
    settings
        From the study.
    conditions
        Of the prepared system: it swaps the users of its list. It runs on the load's processors, outside its
        other limits.
    recording
        Where it records beside the monitor and the emulator.
    """

    def __init__(
        self, program: Path, settings: StudySwapper, conditions: Conditions, recording: Path
    ) -> None:
        import tomli_w

        self._conditions = conditions
        directory = conditions.data.parent
        self._users = directory / "swapper-users.tsv"
        self._list_users()
        policy = directory / "swapper.toml"
        policy.write_text(tomli_w.dumps(policy_for(settings, conditions, self._users)), encoding="utf-8")
        self._log = directory / "satline-swapper.log"
        command = [str(program), "run", "--policy", str(policy), "--recording", str(recording)]
        command += ["--status", str(directory / "swapper-status.json")]
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, **conditions.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=end_with_parent(),
            )
        if conditions.processors is not None:
            os.sched_setaffinity(self._process.pid, conditions.processors)
        time.sleep(START_S)
        self.check()

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._process.pid

    def check(self) -> None:
        """Tell it of users who have logged on since; raise when it has ended by itself."""
        status = self._process.poll()
        if status is not None:
            said = self._log.read_text(errors="replace")
            # What it said before, of what the kernel lacks, is no error.
            error = told_by(said[max(said.rfind("error:"), 0) :], f"it ended with exit code {status}")
            if status == 2:
                raise error
            raise SatlineError(f"the swapper ended during the run: {error.message}", hint=error.hint)
        self._list_users()

    def _list_users(self) -> None:
        file = self._conditions.users_file
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        # The run itself and what else is no user begins so: it is to be left alone.
        users = "".join(line for line in lines if line.endswith("\n") and "\t_" not in line)
        if not self._users.exists() or len(users) != self._users.stat().st_size:
            partial = self._users.with_suffix(".new")
            partial.write_text(users)
            partial.replace(self._users)

    def stop(self) -> None:
        """Have it end and finish its part of the recording."""
        end(self._process)


def policy_for(settings: StudySwapper, conditions: Conditions, users: Path) -> dict[str, Any]:
    """The policy file's content: the study's, with whom to watch and whose storage counts."""
    storage = {} if conditions.cgroup is None else {"cgroup": conditions.cgroup}
    storage |= settings.policy.get("storage", {})
    watch = [{"pid_file": str(users), "interactive": True}]
    return {"watch": watch, **settings.policy, **({"storage": storage} if storage else {})}


def programs_for(settings: StudySwapper | None) -> dict[str, Path]:
    """The program that a study with such a table needs, by name; none where it starts none.

    Raises
    ------
    SatlineError
        It is not there.
    """
    return {PROGRAM: find_binary(PROGRAM)} if settings is not None and settings.enabled else {}


@contextlib.contextmanager
def beside_the_load(
    settings: StudySwapper | None, programs: Mapping[str, Path], conditions: Conditions, recording: Path
) -> Iterator[Swapper | None]:
    """The study's swapper, if it has one, for the time of the block."""
    if settings is None or not settings.enabled:
        yield None
        return
    swapper = Swapper(programs[PROGRAM], settings, conditions, recording)
    try:
        yield swapper
    finally:
        with signals_held():
            swapper.stop()

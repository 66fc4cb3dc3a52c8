"""Can this study run on this host at all? All that is wrong is said at once, before anything is made.

One study at a time, on a host that has nothing left of earlier ones.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from satline.errors import InputError
from satline.experiment.sizes import format_size
from satline.experiment.study import Study
from satline.experiment.targets import elsewhere
from satline.outside import parse_toml
from satline.problems import line_of
from satline.systems import resources
from satline.systems.binaries import find_binary
from satline.systems.janitor import clean_stale
from satline.systems.ledger import state_directory
from satline.systems.lock import held, host_held, note_state

if TYPE_CHECKING:
    from satline.experiment.progress import View


CHECK_TIMEOUT_S = 30.0


def check_feasible(
    study: Study, scratch: Path, proc: Path = Path("/proc"), processors: int | None = None
) -> None:
    """Hold the study's limits and the workload's programs against what this host has.

    Parameters
    ----------
    scratch
        Where the data and the swap file would be.
    processors
        Number of processors that this process may use; ``None``: ask the kernel.

    Raises
    ------
    InputError
        Something cannot be had; names file, line, key and remedy for each.
    """
    if not scratch.is_dir():
        raise InputError(f"{scratch} is not a directory", hint="name one on a local disk for scratch files")
    if elsewhere(study):
        return  # what is there is asked there
    available = len(os.sched_getaffinity(0)) if processors is None else processors
    problems = [
        (f"{study.path}:{line_of(study.text, place)}: {'.'.join(place)}: {message}", remedy)
        for place, message, remedy in _impossible_limits(study, scratch, proc, available)
    ]
    problems += _missing_programs(study)
    problems += _missing_list(study)
    if len(problems) == 1:
        raise InputError(problems[0][0], hint=problems[0][1])
    if problems:
        lines = "".join(f"\n  {message} ({remedy})" for message, remedy in problems)
        raise InputError(
            f"{len(problems)} errors{lines}", hint="nothing was started; mend these and start again"
        )


def _impossible_limits(
    study: Study, scratch: Path, proc: Path, available: int
) -> Iterator[tuple[tuple[str, str], str, str]]:
    limits = study.limits()
    if limits.processors is not None and limits.processors > available:
        yield (
            ("limits", "processors"),
            f"{limits.processors}, but there are {available}",
            f"write at most {available}",
        )
    most = min(available, limits.processors or available)
    if limits.cpu_quota_processors is not None and limits.cpu_quota_processors > most:
        message = f"a quota of {limits.cpu_quota_processors:g} processors, but the load has {most}"
        yield ("limits", "cpu_quota_processors"), message, f"write at most {most}, or leave it out"
    total = resources.memory_bytes(proc)
    if limits.memory_bytes is not None and total is not None and limits.memory_bytes > total:
        message = f"{format_size(limits.memory_bytes)}, but the machine has {format_size(total)}"
        yield ("limits", "memory"), message, f"write less than {format_size(total)}, or leave it out"
    if limits.swap_bytes is not None:
        free = resources.free_disk_bytes(scratch)
        if limits.swap_bytes + resources.DISK_RESERVE_BYTES > free:
            message = f"{format_size(limits.swap_bytes)}, but {scratch} has {format_size(free)} free"
            reserve = format_size(resources.DISK_RESERVE_BYTES)
            yield (
                ("limits", "swap"),
                message,
                f"{reserve} must stay free; write less, or name scratch space on a larger disk",
            )


def _missing_programs(study: Study) -> Iterator[tuple[str, str]]:
    """Programs that the workload or a server needs and that are not on the PATH."""
    try:
        workload = parse_toml(study.workload_text)
    except tomllib.TOMLDecodeError:
        return  # the emulator's own check says where
    wanted = [
        (study.workload, study.workload_text, "requires", name) for name in _texts(workload.get("requires"))
    ]
    if _line(study, workload) == "pty":
        wanted += [
            (study.workload, study.workload_text, "shell", name) for name in _texts(workload.get("shell"))[:1]
        ]
    wanted += [(study.path, study.text, "server.command", server.command[0]) for server in study.servers()]
    seen = set()
    for path, text, key, name in wanted:
        if name.startswith("$SATLINE_") or name in seen or shutil.which(name):
            continue
        seen.add(name)
        line = line_of(text, tuple(key.split(".")))
        yield f'{path}:{line}: {key}: the program "{name}" is not on the PATH', f"install {name}"


def _line(study: Study, workload: dict[str, object]) -> object:
    """Where the users' lines lead."""
    if study.file.load.line is not None:
        return study.file.load.line
    line = workload.get("line")
    return line.get("to", "pty") if isinstance(line, dict) else "pty"


def _missing_list(study: Study) -> Iterator[tuple[str, str]]:
    """The list of hosts that may be driven, where the study names one."""
    allow = study.file.load.allow
    if allow is not None and not Path(allow).is_file():
        line = line_of(study.text, ("load", "allow"))
        remedy = "name a file with what the host's owner was told by `satline-terminal allow`"
        yield f"{study.path}:{line}: load.allow: there is no file {allow}", remedy


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def check_workload(workload: Path) -> None:
    """Have the emulator check a workload file.

    Raises
    ------
    InputError
        With what the emulator says: file, line, key and remedy.
    """
    program = find_binary("satline-terminal")
    try:
        result = subprocess.run(
            [str(program), "check", str(workload)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CHECK_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{workload}: the emulator does not come to an end with it", hint="simplify it"
        ) from None
    if result.returncode != 0:
        raise told_by(result.stderr.decode(errors="replace"), f"{workload} is not a workload")


def told_by(text: str, otherwise: str) -> InputError:
    """An error from what one of Satline's programs printed: its ``error:`` text and its ``hint:``."""
    message: list[str] = []
    hint = ""
    for line in text.strip().splitlines():
        if line.startswith("hint:"):
            hint = line.removeprefix("hint:").strip()
        else:
            message.append(line.removeprefix("error:").strip() if not message else line)
    return InputError("\n".join(message) or otherwise, hint=hint)


@contextlib.contextmanager
def only_one(state: Path | None = None) -> Iterator[None]:
    """Hold the host for one study at a time: two would measure each other.

    Raises
    ------
    InputError
        Another study runs, or the state directory cannot be written.
    """
    busy = "another study is running on this host"
    hint = "wait for its end; two studies would measure each other"
    with contextlib.ExitStack() as stack:
        if state is None:
            stack.enter_context(host_held("satline-study", busy=busy, hint=hint))
        stack.enter_context(held(state or state_directory(), variable="XDG_STATE_HOME", busy=busy, hint=hint))
        if state is None:
            note_state(state_directory().absolute())
        yield


def check_writable(out: Path) -> None:
    """Raises InputError where nothing can be written to `out`, which need not be there yet."""
    above = next(directory for directory in (out.absolute(), *out.absolute().parents) if directory.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{above} may not be written", hint="name another place for the recording")


@contextlib.contextmanager
def host_to_oneself(state: Path | None, view: View) -> Iterator[None]:
    """No other study in the block, and nothing left of earlier ones."""
    with only_one(state):
        undone, stuck, _ = clean_stale(state)
        if undone:
            view.note(f"removed what {len(undone)} earlier run(s) had left behind")
        for problem in stuck:
            view.note(f"left behind by an earlier run: {problem}")
        yield

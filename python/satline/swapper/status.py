"""What the daemon says of itself, and the word to it that a user is about to come back."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from satline.errors import InputError, SatlineError
from satline.outside import parse_json


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class UserStatus(_Part):
    """One user; sizes in bytes, times in seconds, counters since the user was first seen."""

    user: str
    state: str
    state_seconds: float
    idle_seconds: float
    why: str
    interactive: bool
    processes: list[int]
    resident_bytes: int
    working_set_bytes: int | None
    working_set_runs: int
    stays: int
    resumes: int
    resume_us: int
    swapped_out_pages: int
    prepaged_pages: int
    prepage_errors: int


class Status(_Part):
    """The whole status file."""

    pid: int
    time_ns: int
    policy: str
    dry_run: bool
    method: str
    wakes_on_faults: bool
    cpu_us: int
    uptime_s: float
    storage: dict[str, Any] | None
    short: bool
    swap_full: bool
    lacking: list[dict[str, str]]
    users: list[UserStatus]


def default_status(environment: Mapping[str, str] = os.environ, uid: int | None = None) -> Path:
    """/run/satline-swapper/status.json for root, else below $XDG_RUNTIME_DIR, else below /run/user/UID."""
    uid = os.geteuid() if uid is None else uid
    if uid == 0:
        return Path("/run/satline-swapper/status.json")
    base = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{uid}"
    return Path(base) / "satline-swapper/status.json"


def read_status(path: Path) -> Status:
    """The status of the daemon that writes `path`.

    Raises
    ------
    SatlineError
        No daemon writes it, or the file is another's.
    """
    start = "start it with `satline swapper run POLICY`, or name its file: --status FILE"
    try:
        status = Status.model_validate(parse_json(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise SatlineError(f"{path}: no swapper runs", hint=start) from None
    except (ValueError, ValidationError):
        raise InputError(f"{path} is not a swapper's status", hint=start) from None
    if not Path(f"/proc/{status.pid}").exists():
        raise SatlineError(f"{path}: the swapper that wrote it was killed", hint=start)
    return status


def announce(path: Path, user: str) -> None:
    """Tell the daemon whose status is at `path` that `user` is about to come back.

    Raises
    ------
    SatlineError
        No daemon listens.
    """
    address = path.with_suffix(".socket")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto(user.encode(), str(address))
    except OSError as error:
        raise SatlineError(
            f"{address}: {error.strerror}", hint="a swapper must run, with this --status, as you or as root"
        ) from None

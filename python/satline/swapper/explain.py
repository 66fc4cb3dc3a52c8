"""Why a user is in its state, and what a policy means."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from satline.errors import InputError
from satline.swapper.policy import Policy
from satline.swapper.status import Status, UserStatus

# Lines of /proc/PID/status, and what the swapper cannot write out of them.
_LEFT_OUT = {
    "RssShmem": "shared memory (of a guest: share=on)",
    "HugetlbPages": "huge pages that have no swap (of a guest: mem-path in hugetlbfs)",
    "VmLck": "locked (of a guest: mem-lock, or a device that was passed through)",
}
# Less than that is of every process.
_LEAST_LEFT_OUT_BYTES = 4 << 20


def explain_user(status: Status, name: str, proc: Path = Path("/proc")) -> list[str]:
    """Sentences on one user.

    Parameters
    ----------
    proc
        Where the kernel tells of its processes.

    Raises
    ------
    InputError
        The daemon knows none of that name.
    """
    user = next((one for one in status.users if one.user == name), None)
    if user is None:
        names = [one.user for one in status.users]
        close = get_close_matches(name, names, n=1)
        hint = f'did you mean "{close[0]}"?' if close else "`satline swapper status` lists them"
        raise InputError(f"the swapper watches no user {name}", hint=hint)
    return list(_sentences(status, user, proc))


def _sentences(status: Status, user: UserStatus, proc: Path) -> Iterator[str]:
    yield f"{user.user} is {user.state}, for {user.state_seconds:.0f} s: {user.why}."
    yield f"{len(user.processes)} processes; {_mib(user.resident_bytes)} in storage when last counted."
    for key, what in _LEFT_OUT.items():
        size_bytes = sum(_status_bytes(proc / str(pid), key) for pid in user.processes)
        if size_bytes >= _LEAST_LEFT_OUT_BYTES:
            yield f"{_mib(size_bytes)} are {what}: they are left out."
    if user.working_set_bytes is None:
        yield (
            "Its working set is not known: only by coming back after a swap-out do pages show that they "
            'were touched. Until then the kernel alone writes it out (unless swap_out.unknown is "address").'
        )
    else:
        size = _mib(user.working_set_bytes)
        yield f"Its working set is {size} in {user.working_set_runs:,} runs of pages."
    if user.resumes:
        mean_ms = user.resume_us / user.resumes / 1e3
        yield (
            f"It came back {_times(user.resumes)} from outside, {mean_ms:,.0f} ms from the first touch to "
            "the last major fault in the mean."
        )
    if user.prepaged_pages:
        share = user.prepage_errors / user.prepaged_pages
        yield f"Of {user.prepaged_pages:,} prepaged pages {share:.1%} were not touched (prepage errors)."
    if status.storage is not None:
        free, low, high = (status.storage[key] for key in ("free_bytes", "low_bytes", "high_bytes"))
        word = "short" if status.short else "ample"
        yield f"Storage is {word}: {_mib(free)} free; short below {_mib(low)}, until {_mib(high)}."
    if status.swap_full:
        yield "Swap space is at its reserve: nothing is written out."


def _status_bytes(process: Path, key: str) -> int:
    """A size of a process, 0 where the kernel tells none."""
    try:
        text = (process / "status").read_text(errors="replace")
    except OSError:
        return 0
    words = next((line.split() for line in text.splitlines() if line.startswith(f"{key}:")), [])
    return int(words[1]) * 1024 if len(words) > 1 and words[1].isdecimal() else 0


def explain_policy(policy: Policy) -> list[str]:
    """Every key, its value and its meaning, one line each; of a watch only what it states."""
    lines = []
    meanings = dict(policy.meanings)
    for number, watch in enumerate(policy.tables["watch"], 1):
        for key, value in watch.items():
            if value is not None:
                lines.append(f"watch {number}: {key} = {_as_written(value)}: {meanings[f'watch.{key}']}")
    for key, meaning in policy.meanings:
        *tables, name = key.split(".")
        if tables[0] != "watch" and (table := _table(policy, tables)) is not None:
            value = table[name]
            # What a table of its own says stands in its own lines.
            if not isinstance(value, dict):
                lines.append(f"{key} = {'absent' if value is None else _as_written(value)}: {meaning}")
    return lines


def _table(policy: Policy, names: list[str]) -> Any:
    """The table of these names; None: absent."""
    table: Any = policy.tables
    for name in names:
        table = table and table[name]
    return table


def _as_written(value: object) -> str:
    """A value as a policy file has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_as_written, value))}]"
    return str(value)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _mib(size_bytes: float) -> str:
    return f"{size_bytes / 2**20:,.1f} MiB"

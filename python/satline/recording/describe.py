"""recording.toml and sources/*.toml: who, what, how. Every change replaces the whole file atomically."""

from __future__ import annotations

import errno
import os
import platform
import secrets
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import tomli_w

from satline.errors import InputError
from satline.recording._facts import check_description, check_source
from satline.recording._files import FORMAT_VERSION, check_writer_name, locked, sync_directory
from satline.recording._reserve import FULL, become_file

EndReason = Literal["complete", "interrupted", "disk-full", "failed"]
Toml = dict[str, Any]


def create(
    path: Path,
    creator: str,
    *,
    host: Mapping[str, Any] | None = None,
    system_under_test: Mapping[str, Any] | None = None,
    study: Mapping[str, Any] | None = None,
    created: datetime | None = None,
) -> Toml:
    """Make a recording's directories and its recording.toml.

    Parameters
    ----------
    path
        The recording; missing directories are made.
    creator
        `satline study`, `satline record`, ….
    host
        `[host]`; absent: what `host_facts` says of this host.
    system_under_test, study
        These sections; absent: this host, and no study. Keys whose value is None are left out.
    created
        Default: now.

    Returns
    -------
    dict
        What was written.

    Raises
    ------
    InputError
        If there is a recording already, or the directory cannot be made.
    """
    description: Toml = {
        "format_version": FORMAT_VERSION,
        "recording": {"id": secrets.token_hex(16), "created": _utc(created), "creator": creator},
        "host": host_facts() if host is None else dict(host),
        "system_under_test": {"kind": "this-host"} if system_under_test is None else dict(system_under_test),
    }
    if study is not None:
        description["study"] = dict(study)
    try:
        for part in ("sources", "segments", "tables"):
            (path / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{path}: cannot make the recording: {error.strerror}",
            hint="choose a place where you may write",
        ) from error
    with locked(path):
        if (path / "recording.toml").exists():
            raise InputError(
                f"{path}: there is a recording already", hint="choose another name, or delete it"
            )
        write_toml_atomically(path / "recording.toml", description)
    return _without_none(description)


def read(path: Path) -> Toml:
    """The content of recording.toml.

    Raises
    ------
    InputError
        If it is missing, unreadable, no TOML, of a version that this program does not know, or has a key of a
        wrong type.
    """
    file = path / "recording.toml"
    description = read_toml(file, hint=f"is {path} a recording (a directory NAME.satline)?")
    version = description.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise InputError(f"{file}: format_version is missing or not a number", hint="it must be 1")
    if version != FORMAT_VERSION:
        raise InputError(
            f"{file}: format_version is {version}, this program knows {FORMAT_VERSION}",
            hint="use a newer Satline" if version > FORMAT_VERSION else "it must be 1",
        )
    check_description(file, description)
    return description


def read_sources(path: Path) -> dict[str, Toml]:
    """The content of each sources/<writer>.toml, by writer.

    Raises
    ------
    InputError
        If one is unreadable, no TOML, or has a key of a wrong type.
    """
    hint = "restore it from a copy, or delete it: the readings do not need it"
    found = {}
    for file in sorted((path / "sources").glob("[a-z]*.toml")):
        found[file.stem] = read_toml(file, hint=hint)
        check_source(file, found[file.stem])
    return found


def read_toml(file: Path, *, hint: str) -> Toml:
    """A TOML file; InputError with `hint` if it is not there, and with the place if it is no TOML."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{file}: no such file", hint=hint) from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", hint=hint) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{file}: not TOML: {error}", hint="restore it from a copy, or mend the line"
        ) from error


def update(path: Path, sections: Mapping[str, Any]) -> Toml:
    """Merge `sections` into recording.toml: tables key by key, else replacing; None removes a key."""
    return _change(path, lambda description: _merge(description, sections))


def end(path: Path, reason: EndReason, *, ended: datetime | None = None) -> Toml:
    """State that the recording has ended, and why."""
    ending = {"recording": {"ended": _utc(ended), "end_reason": reason}}
    return _change(path, lambda description: _merge(description, ending), at_end=True)


def annotate(path: Path, text: str, *, time: datetime | None = None) -> Toml:
    """Add an annotation, such as "second drum installed"."""

    def add(description: Toml) -> None:
        description.setdefault("annotation", []).append({"time": _utc(time), "text": text})

    return _change(path, add)


def write_source(path: Path, writer: str, fields: Mapping[str, Any]) -> None:
    """Replace sources/<writer>.toml; on a full disk it spends the writer's reserve."""
    check_writer_name(writer)
    (path / "sources").mkdir(parents=True, exist_ok=True)
    write_toml_atomically(path / "sources" / f"{writer}.toml", {"writer": writer, **fields}, at_end=True)


def write_toml_atomically(file: Path, content: Mapping[str, Any], *, at_end: bool = False) -> None:
    """Replace a file so that a reader sees the old or the new one, whole; keys that are None are left out.

    What a recording says `at_end` spends the file's reserve where the disk is full.
    """
    data = tomli_w.dumps(_without_none(content)).encode()
    try:
        _replace(file, data)
    except OSError as error:
        if not at_end or error.errno not in FULL:
            raise
        try:
            become_file(file, data)
        except FileNotFoundError:
            raise error from None
    sync_directory(file.parent)


def _replace(file: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".tmp", dir=file.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def host_facts(proc: Path = Path("/proc"), os_release: Path = Path("/etc/os-release")) -> Toml:
    """`[host]`: what this host is; what cannot be read is absent."""

    def text(file: Path) -> str | None:
        try:
            return file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM):
                return None
            raise

    def line(name: str) -> str | None:
        return (text(proc / name) or "").strip() or None

    def field(content: str | None, prefix: str) -> str | None:
        lines = (content or "").splitlines()
        return next((x.removeprefix(prefix).strip() for x in lines if x.startswith(prefix)), None)

    memory = (field(text(proc / "meminfo"), "MemTotal:") or "").split()
    stat = (text(proc / "stat") or "").splitlines()
    system = field(text(os_release), "PRETTY_NAME=")
    facts = {
        "name": line("sys/kernel/hostname"),
        "kernel": line("sys/kernel/osrelease"),
        "machine": line("sys/kernel/arch") or platform.machine() or None,
        "os": system.strip("\"'") if system else None,
        "processors": sum(1 for x in stat if x.startswith("cpu") and x[3:4].isdigit()) or None,
        "memory_bytes": int(memory[0]) * 1024 if memory and memory[0].isdigit() else None,
        "page_bytes": os.sysconf("SC_PAGESIZE"),
        "boot_id": line("sys/kernel/random/boot_id"),
    }
    return _without_none(facts)


def _change(path: Path, change: Callable[[Toml], None], *, at_end: bool = False) -> Toml:
    read(path)
    with locked(path):
        description = read(path)
        change(description)
        write_toml_atomically(path / "recording.toml", description, at_end=at_end)
    return description


def _merge(into: Toml, changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = _without_none(value) if isinstance(value, Mapping) else value


def _without_none(content: Mapping[str, Any]) -> Toml:
    def clean(value: Any) -> Any:
        if isinstance(value, Mapping):
            return _without_none(value)
        if isinstance(value, list | tuple):
            return [clean(v) for v in value]
        return value

    return {key: clean(value) for key, value in content.items() if value is not None}


def _utc(time: datetime | None) -> datetime:
    return (time or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)

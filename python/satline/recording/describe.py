"""recording.toml and sources/*.toml: who, what, how. Every change replaces the whole file atomically."""

from __future__ import annotations

import errno
import os
import platform
import secrets
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import tomli_w

from satline.atomic import replace_file
from satline.errors import InputError
from satline.outside import parse_toml, read_text
from satline.recording._facts import check_description, check_source
from satline.recording._files import FORMAT_VERSION, check_writer_name, locked, make_directory, sync_directory
from satline.recording._reserve import DISK_FULL, become_file
from satline.recording._seal import CHECKSUMS, Seal, check_seal, damaged, sealed

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
        # First: what is cut off behind it is missed.
        "checksums": CHECKSUMS,
        "format_version": FORMAT_VERSION,
        "recording": {"id": secrets.token_hex(16), "created": _utc(created), "creator": creator},
        "host": host_facts() if host is None else dict(host),
        "system_under_test": {"kind": "this-host"} if system_under_test is None else dict(system_under_test),
    }
    if study is not None:
        description["study"] = dict(study)
    try:
        for part in ("sources", "segments", "tables"):
            make_directory(path / part)
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
        _write_description(path, description)
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
    description, seal = _parsed(file, f"is {path} a recording (a directory NAME.satline)?")
    version = description.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise InputError(f"{file}: format_version is missing or not a number", hint="it must be 1")
    if version != FORMAT_VERSION:
        raise InputError(
            f"{file}: format_version is {version}, this program knows {FORMAT_VERSION}",
            hint="use a newer Satline" if version > FORMAT_VERSION else "it must be 1",
        )
    check_description(file, description)
    if "checksums" in description:
        if seal is None:
            raise damaged(file, "the checksum at its end is missing")
        if seal.recording not in ("-", description.get("recording", {}).get("id")):
            raise damaged(file, "it is sealed as that of another recording")
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
    files = sorted((path / "sources").glob("[a-z]*.toml"))
    owner = read(path) if (path / "recording.toml").exists() else {}
    for writer in owner.get("recording", {}).get("writers", ()):
        file = path / "sources" / f"{writer}.toml"
        if not file.exists():
            raise InputError(
                f"{file}: missing: it says what {writer} is and did",
                hint="bring it back from a copy; `satline recording seal` accepts that it is gone",
            )
    for file in files:
        found[file.stem], seal = _parsed(file, hint)
        check_source(file, found[file.stem])
        if "checksums" not in owner:
            continue
        if seal is None:
            raise damaged(file, "the checksum at its end is missing")
        if seal.recording not in ("-", owner.get("recording", {}).get("id")):
            raise damaged(file, "it belongs to another recording")
        if found[file.stem].get("writer", file.stem) != file.stem:
            raise damaged(file, f"it is that of {found[file.stem]['writer']}")
    return found


def read_toml(file: Path, *, hint: str) -> Toml:
    """A TOML file; InputError with `hint` if it is not there, and with the place if it is no TOML."""
    return _parsed(file, hint)[0]


def _parsed(file: Path, hint: str) -> tuple[Toml, Seal | None]:
    """A description and the line that it ends with; None: it ends without one."""
    try:
        text = read_text(file)
        seal = check_seal(file, text)
        return parse_toml(text), seal
    except FileNotFoundError as error:
        raise InputError(f"{file}: no such file", hint=hint) from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", hint=hint) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{file}: not TOML: {error}", hint="restore it from a copy, or mend the line"
        ) from error


def replace(path: Path, description: Mapping[str, Any]) -> None:
    """Replace recording.toml, as that of a copy; it says then that its files carry checksums."""
    with locked(path):
        _write_description(path, {"checksums": CHECKSUMS, **description})


def reseal(path: Path) -> None:
    """Accept recording.toml and sources/*.toml as they are: give each a checksum of what it says now.

    Raises
    ------
    InputError
        If one is no TOML.
    """
    with locked(path):
        file = path / "recording.toml"
        description = _unsealed(file)
        owner = str(description.get("recording", {}).get("id") or "-")
        sources = sorted((path / "sources").glob("[a-z]*.toml"))
        for source in sources:
            write_toml_atomically(source, _unsealed(source), seal=owner)
        content = {"checksums": CHECKSUMS, **description}
        if "ended" in content.get("recording", {}):
            content["recording"] = {**content["recording"], "writers": [s.stem for s in sources]}
        write_toml_atomically(file, content, seal=owner)


def _unsealed(file: Path) -> Toml:
    """What a file says, whatever its checksum."""
    try:
        return parse_toml(read_text(file))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", hint="bring it back from a copy") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{file}: not TOML: {error}", hint="mend it, or bring it back from a copy"
        ) from error


def update(path: Path, sections: Mapping[str, Any]) -> Toml:
    """Merge `sections` into recording.toml: tables key by key, else replacing; None removes a key."""
    return _change(path, lambda description: _merge(description, sections))


def end(path: Path, reason: EndReason, *, ended: datetime | None = None) -> Toml:
    """State that the recording has ended, and why."""
    writers = sorted(file.stem for file in (path / "sources").glob("[a-z]*.toml"))
    ending = {"recording": {"ended": _utc(ended), "end_reason": reason, "writers": writers}}
    return _change(path, lambda description: _merge(description, ending), at_end=True)


def annotate(path: Path, text: str, *, time: datetime | None = None) -> Toml:
    """Add an annotation, such as "second drum installed"."""

    def add(description: Toml) -> None:
        description.setdefault("annotation", []).append({"time": _utc(time), "text": text})

    return _change(path, add)


def write_source(path: Path, writer: str, fields: Mapping[str, Any]) -> None:
    """Replace sources/<writer>.toml; on a full disk it spends the writer's reserve."""
    check_writer_name(writer)
    make_directory(path / "sources")
    try:
        head = read(path).get("recording", {})
    except InputError:
        head = {}
    owner, known, ended = str(head.get("id", "-")), head.get("writers", ()), "ended" in head
    file = path / "sources" / f"{writer}.toml"
    write_toml_atomically(file, {"writer": writer, **fields}, at_end=True, seal=owner)
    if writer not in known and ended:
        _change(
            path,
            lambda description: _merge(description, {"recording": {"writers": sorted([*known, writer])}}),
        )


def remove_source(path: Path, writer: str) -> None:
    """Delete sources/<writer>.toml, if it is there: what it wrote is taken out of the recording."""

    def forget(description: Toml) -> None:
        head = description.get("recording", {})
        if "writers" in head:
            head["writers"] = [w for w in head["writers"] if w != writer]

    _change(path, forget)
    (path / "sources" / f"{writer}.toml").unlink(missing_ok=True)


def _write_description(path: Path, description: Toml, *, at_end: bool = False) -> None:
    """Replace recording.toml; one of before checksums stays without."""
    owner = str(description.get("recording", {}).get("id") or "-") if "checksums" in description else None
    write_toml_atomically(path / "recording.toml", description, at_end=at_end, seal=owner)


def write_toml_atomically(
    file: Path, content: Mapping[str, Any], *, at_end: bool = False, seal: str | None = None
) -> None:
    """Replace a file so that a reader sees the old or the new one, whole; keys that are None are left out.

    What a recording says `at_end` spends the file's reserve where the disk is full. `seal` is the id of the
    recording that it is a description of: it gets the line with the checksum then.
    """
    text = tomli_w.dumps(_without_none(content))
    data = (text if seal is None else sealed(text, seal)).encode()
    try:
        replace_file(file, data)
    except OSError as error:
        if not at_end or error.errno not in DISK_FULL:
            raise
        try:
            become_file(file, data)
        except OSError:
            raise error from None
    sync_directory(file.parent)


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
        _write_description(path, description, at_end=at_end)
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

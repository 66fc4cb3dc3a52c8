"""A history is of one host: rows of one name, as device sda of two hosts, would be taken for one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from satline.errors import InputError
from satline.history._store import History
from satline.recording import Recording, describe


def host_of(description: Mapping[str, Any]) -> str:
    """Name of the host that a recording is of, by its description; empty where it does not say."""
    return str(description.get("host", {}).get("name") or "")


def known_hosts(history: History) -> set[str]:
    """Names of the hosts whose recordings it has; what cannot be read, or does not say, is left out."""
    found = set()
    for kept in history.recordings():
        try:
            found.add(host_of(describe.read(kept.directory / "hourly.satline")))
        except InputError:
            continue
    return found - {""}


def check_host(history: History, known: set[str], recording: Recording, path: Path | str) -> None:
    """InputError where the recording is of another host than those of the history, `known_hosts`."""
    own = host_of(recording.description)
    if own and known and own not in known | set(history.hosts):
        raise InputError(
            f"{path}: is of host {own}, the history {history.path} of {' and '.join(sorted(known))}",
            hint="keep each host's history in a directory of its own. If it is the same under another name,"
            f" put hosts = [{json.dumps(own)}] at the top of {history.path / 'history.toml'}",
        )


def mixed(history: History, known: set[str]) -> str:
    """A note where recordings of several hosts are in it and history.toml does not say that they are one."""
    foreign = known - set(history.hosts)
    if len(foreign) < 2:
        return ""
    return f"recordings of {' and '.join(sorted(foreign))} are in it: rows of one name are taken for one"

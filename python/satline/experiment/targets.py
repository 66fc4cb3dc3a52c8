"""The tables of a study file that say what its target is like: ``[guest]`` and ``[remote]``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from satline.experiment.sizes import parse_size
from satline.outside import parse_toml
from satline.systems.guest import GuestSettings
from satline.systems.remote import PYTHON, SESSIONS_PER_CONNECTION, RemoteSettings

if TYPE_CHECKING:
    from satline.experiment.study import Study
    from satline.systems import Conditions

Size = Annotated[int, BeforeValidator(parse_size), Field(gt=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GuestKnobs(_Part):
    """Settings of the guest's kernel; each is optional."""

    page_cluster: Annotated[int, Field(ge=0, le=10)] | None = None
    """2 to this power pages are read at once from a paging device."""
    swappiness: Annotated[int, Field(ge=0, le=200)] | None = None
    mglru: Annotated[int, Field(ge=0, le=7)] | None = None
    """Parts of the multi-generational LRU that are on, as bits: 0 none (two lists instead), 7 all."""


class StudyGuest(_Part):
    """The guest's machine."""

    memory: Annotated[Size, Field(ge=96_000_000)] = 256_000_000
    processors: Annotated[int, Field(ge=1, le=64)] = 1
    swap_disks: Annotated[int, Field(ge=0, le=16)] = 1
    swap_disk: Annotated[Size, Field(ge=1_000_000)] = 512_000_000
    """Size of each paging device."""
    swap_iops: Annotated[int, Field(ge=10)] | None = None
    swap_bytes_per_second: Annotated[Size, Field(ge=4096)] | None = None
    accelerator: Literal["auto", "kvm", "emulation"] = "auto"
    image: str | None = None
    kernel: str | None = None
    release: Annotated[str, Field(pattern="^[a-z][a-z0-9-]*$")] | None = None
    """Debian's, of those that `satline guest build` has made."""
    knobs: GuestKnobs = GuestKnobs()


def _one_word(host: str) -> str:
    if not host or host.startswith("-") or any(sign.isspace() or not sign.isprintable() for sign in host):
        raise ValueError(f'"{host}" is no host; write HOST or USER@HOST')
    return host


class StudyRemote(_Part):
    """How the remote host is reached, in OpenSSH's terms; the rest is as the user's configuration says."""

    host: Annotated[str, AfterValidator(_one_word)]
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    identity: str | None = None
    known_hosts: str | None = None
    sessions_per_connection: Annotated[int, Field(ge=1, le=1000)] = SESSIONS_PER_CONNECTION
    python: Annotated[str, AfterValidator(_one_word)] = PYTHON


def target_settings(study: Study) -> GuestSettings | RemoteSettings | None:
    """The target's settings, paths relative to the study; ``None``: it has none."""
    above = study.path.parent

    def beside(name: str | None) -> Path | None:
        return None if name is None else above / Path(name).expanduser()

    if study.file.target == "guest":
        guest = study.file.guest or StudyGuest()
        return GuestSettings(
            memory_bytes=guest.memory,
            processors=guest.processors,
            swap_disks=guest.swap_disks,
            swap_disk_bytes=guest.swap_disk,
            swap_iops=guest.swap_iops,
            swap_bytes_per_second=guest.swap_bytes_per_second,
            page_cluster=guest.knobs.page_cluster,
            swappiness=guest.knobs.swappiness,
            mglru=guest.knobs.mglru,
            accelerator=guest.accelerator,
            disk=None if guest.image is None else str(beside(guest.image)),
            kernel=None if guest.kernel is None else str(beside(guest.kernel)),
            release=guest.release,
        )
    remote = study.file.remote
    if study.file.target == "remote" and remote is not None:
        return RemoteSettings(
            host=remote.host,
            port=remote.port,
            identity=beside(remote.identity),
            known_hosts=beside(remote.known_hosts),
            sessions_per_connection=remote.sessions_per_connection,
            python=remote.python,
        )
    return None


def check_target(target: str, guest: object, remote: object) -> None:
    """Raise ValueError where a table does not go with the target."""
    if target == "remote" and remote is None:
        raise ValueError('remote: missing; add [remote] host = "USER@HOST"')
    for name, table in (("guest", guest), ("remote", remote)):
        if table is not None and target != name:
            raise ValueError(
                f'{name}: the target is "{target}"; write target = "{name}", or take [{name}] out'
            )


def elsewhere(study: Study) -> bool:
    """Whether the load does not run on this host."""
    return study.file.target in ("guest", "remote")


def required_programs(study: Study) -> tuple[str, ...]:
    """Programs that must be where the load runs: the workload's, its shell, the servers'."""
    workload = _workload(study)
    names = [name for name in workload.get("requires", []) if isinstance(name, str)]
    names += workload.get("shell", ["bash"])[:1]
    names += [server.command[0] for server in study.servers()]
    return tuple(dict.fromkeys(name for name in names if not name.startswith("$SATLINE_")))


def workload_for(study: Study, conditions: Conditions) -> Path:
    """The workload as the emulator is to run it: where the load runs elsewhere, its shell leads there."""
    if not conditions.shell_prefix:
        return study.workload.absolute()
    import tomli_w

    workload = _workload(study)
    shell = workload.get("shell", ["bash", "--noprofile", "--norc", "-i"])
    workload["shell"] = [*conditions.shell_prefix, *shell]
    workload["requires"] = []
    path = conditions.data.parent / study.workload.name
    path.write_text(tomli_w.dumps(workload), encoding="utf-8")
    return path


def _workload(study: Study) -> dict[str, Any]:
    try:
        return parse_toml(study.workload_text)
    except tomllib.TOMLDecodeError:
        return {}  # the emulator's own check has said where

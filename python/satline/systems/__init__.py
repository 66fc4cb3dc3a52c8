"""Systems under test: where a study's load runs, and with which limits.

A system is one file and one line in `SYSTEMS`. Standard library only: the janitor imports this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from satline.errors import InputError

if TYPE_CHECKING:
    from satline.systems.event_trace import EventTrace


@dataclass(frozen=True)
class Limits:
    """What the load may use. ``None``: no limit.

    processors
        Number of processors.
    cpu_quota_processors
        Processor time per unit of time, in processors (0.5: half of one).
    memory_bytes, swap_bytes
        Main storage; a swap file of its own.
    read_iops, read_bytes_per_second
        Caps on reads from the disk that holds the data and the swap file.
    """

    processors: int | None = None
    cpu_quota_processors: float | None = None
    memory_bytes: int | None = None
    swap_bytes: int | None = None
    read_iops: int | None = None
    read_bytes_per_second: int | None = None

    def stated(self) -> dict[str, int | float]:
        """The limits that were asked for, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Knobs:
    """Settings of the whole host that hold while the study runs. ``None``: left as it is.

    page_cluster
        A page fault from swap brings 2^page_cluster pages (vm.page-cluster).
    swappiness
        How readily pages of processes are taken before pages of files, 0 to 200 (vm.swappiness).
    mglru
        Parts of the multi-generational LRU that are on, as bits: 0 none, 7 all (lru_gen/enabled).
    swap_device
        A swap device or file that its owner made, in place of a swap file of the study's own.
    swap_kind
        Character of the swap device that the study makes: a name in `swapdevices.KINDS`. ``None``: "disk".
    swap_discard
        Whether the space of freed pages is given back to the device (`swapon --discard=pages`). The kernel
        then writes to empty parts of it first, and not into the gaps between older pages.
    """

    page_cluster: int | None = None
    swappiness: int | None = None
    mglru: int | None = None
    swap_device: Path | None = None
    swap_kind: str | None = None
    swap_discard: bool | None = None


@dataclass(frozen=True)
class Server:
    """A server that runs inside the limits for the whole run.

    ready_file
        Relative to the data directory; the server makes it when it can be used.
    """

    name: str
    command: tuple[str, ...]
    ready_file: str | None = None
    ready_timeout_s: float = 20.0


@dataclass(frozen=True)
class Monitoring:
    """How the system is to be measured, all times in seconds."""

    program: Path
    recording: Path
    interval_s: float
    thermometers: tuple[str, ...] = ()
    thermometer_every_s: float = 30.0
    thermometer_program: Path | None = None


@dataclass(frozen=True)
class TraceSettings:
    """The kernel's trace events that are wanted, ``subsystem:event`` each, and the space for them."""

    events: tuple[str, ...]
    space_bytes: int


@dataclass(frozen=True)
class Configuration:
    """What a system under test is brought up with.

    run_id
        32 hexadecimal digits; every name that the run makes holds it.
    scratch
        Directory in which the run makes its own; its disk holds the data and the swap file.
    environment
        Variables for programs that run as load, beside those inherited.
    target
        The system's own settings; ``None``: it has none.
    users, seconds
        The most users that are to be on it, and for how long.
    requires
        Programs that the load needs there.
    trace
        Events that are to be traced in one window; ``None``: none.
    say
        Tells whoever waits what is being done.
    """

    run_id: str
    limits: Limits
    scratch: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    delay_accounting: bool = True
    knobs: Knobs = Knobs()
    target: Any = None
    users: int = 1
    seconds: float = 0.0
    requires: tuple[str, ...] = ()
    trace: TraceSettings | None = None
    say: Callable[[str], None] = lambda _: None


@dataclass
class Conditions:
    """What is in force once a system is prepared.

    processors
        Those that the load may use; ``None``: all.
    other_processors
        Those left for the monitor and the emulator; empty: none.
    limits
        Limit → value in force.
    knobs
        Knob → value in force.
    not_set
        Limit or knob → why it could not be set.
    cgroup
        Path of the load's control group, relative to each hierarchy's root; ``None``: no group.
    cgroup_procs
        Files to which a process of the load writes "0" before it starts.
    affinity
        Processors to which the load's processes bind themselves, where no control group does it.
    data, users, users_file
        Directories of the study's data and of the users' own; the list of whose process is whose.
    trace
        The tracer, made and idle; ``None``: nothing is to be traced, or ``not_set`` says why not.
    shell_prefix
        Words in front of the workload's shell that bring a user to another host; empty: the load runs here.
    emulator_options
        Further words for the emulator's command.
    host
        ``[host]`` of the recording; ``None``: this host's.
    described
        Further keys of ``[system_under_test]``.
    """

    data: Path
    users: Path
    users_file: Path
    processors: list[int] | None = None
    other_processors: list[int] = field(default_factory=list)
    limits: dict[str, int | float] = field(default_factory=dict)
    knobs: dict[str, int | str] = field(default_factory=dict)
    not_set: dict[str, str] = field(default_factory=dict)
    cgroup: str | None = None
    cgroup_procs: list[Path] = field(default_factory=list)
    affinity: list[int] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    trace: EventTrace | None = None
    shell_prefix: list[str] = field(default_factory=list)
    emulator_options: list[str] = field(default_factory=list)
    host: dict[str, Any] | None = None
    described: dict[str, Any] = field(default_factory=dict)


class SystemUnderTest(Protocol):
    """prepare → start → measure → collect → restore; `restore` is called whatever happened before."""

    kind: str

    def prepare(self, configuration: Configuration) -> Conditions:
        """Bring the system up in the wanted configuration; limits that cannot be set are told, not raised."""
        ...

    def run_once(self, commands: Sequence[str], timeout_s: float) -> None:
        """Run the study's preparing commands, outside the limits, in the data directory."""
        ...

    def start(self, servers: Sequence[Server]) -> None:
        """Start the servers inside the limits, and wait until they are ready."""
        ...

    def measure(self, monitoring: Monitoring) -> None:
        """Start the monitor."""
        ...

    def check(self) -> None:
        """Raise SatlineError when the monitor or a server has ended by itself."""
        ...

    def collect(self) -> None:
        """Stop the monitor; its readings are in the recording afterwards."""
        ...

    def restore(self) -> list[str]:
        """Undo everything; returns what could not be undone, empty when all is gone."""
        ...


def _this_host(state: Path | None) -> SystemUnderTest:
    from satline.systems.this_host import ThisHost

    return ThisHost(state=state)


def _remote(state: Path | None) -> SystemUnderTest:
    from satline.systems.remote.host import RemoteHost

    return RemoteHost(state=state)


def _guest(state: Path | None) -> SystemUnderTest:
    from satline.systems.guest.guest import Guest

    return Guest(state=state)


SYSTEMS: dict[str, Callable[[Path | None], SystemUnderTest]] = {
    "this-host": _this_host,
    "remote": _remote,
    "guest": _guest,
}


def system_named(name: str, state: Path | None = None) -> SystemUnderTest:
    """The system under test `name`, its ledger in the directory `state`.

    Raises
    ------
    InputError
        There is none of that name; the hint lists those that there are.
    """
    if name not in SYSTEMS:
        raise InputError(f'there is no target "{name}"', hint=f"write one of: {', '.join(SYSTEMS)}")
    return SYSTEMS[name](state)

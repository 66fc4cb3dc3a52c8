"""Study files: what they may say, and reading them.

A study names a workload, a target, the steps of the load and the limits under which it runs.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from satline import share
from satline.errors import InputError
from satline.experiment.adaptive.targets import known_target, parse_part
from satline.experiment.designed import Designed, DesignPart, FactorPart, designed
from satline.experiment.sizes import parse_size
from satline.experiment.targets import StudyGuest, StudyRemote, check_target
from satline.problems import line_of, none_such, read_toml
from satline.systems import SYSTEMS, Knobs, Limits, Server, TraceSettings
from satline.systems.event_trace import EVENT, USUAL
from satline.systems.swapdevices import KINDS

Size = Annotated[int, BeforeValidator(parse_size), Field(gt=0)]
Seconds = Annotated[float, Field(ge=0, le=86400)]


class StudySwapper(BaseModel):
    """`satline swapper` on the host of the load, with a policy whose users are the emulated ones.

    policy
        Tables of a policy file. The study states no `watch`; `storage.cgroup` is the load's, if it has one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    policy: dict[str, dict[str, Any]] = {}

    @model_validator(mode="after")
    def _watches_the_load(self) -> StudySwapper:
        if "watch" in self.policy:
            raise ValueError("swapper.policy: a study's swapper watches the emulated users; leave watch out")
        return self


def _known_target(name: str) -> str:
    if name not in SYSTEMS:
        raise ValueError(f'there is no target "{name}"; write one of: {", ".join(SYSTEMS)}')
    return name


def _known_swap_kind(name: str) -> str:
    if name not in KINDS:
        raise ValueError(f'there is no kind of swap device "{name}"; write one of: {", ".join(KINDS)}')
    return name


def _known_line(text: str) -> str:
    place = r"(\[[0-9A-Fa-f:.]+\]|[^:@\s\[\]]+):[0-9]{1,5}"
    host = r"(\[[0-9A-Fa-f:.]+\]|[^:@/\s\[\]]+)"
    web = rf"http://{place}/?|https://{host}(:[0-9]{{1,5}})?/?"
    if not re.fullmatch(rf"pty|(tcp|tls|telnet):{place}|ssh:([^:@\s]+@)?{place}|{web}", text):
        written = '"pty", "tcp:HOST:PORT", "tls:HOST:PORT", "telnet:HOST:PORT", "ssh:USER@HOST:PORT"'
        raise ValueError(f'"{text}" is no line; write {written}, "http://HOST:PORT" or "https://HOST[:PORT]"')
    return text


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Load(_Part):
    """Steps of the load: users log on over the ramp, all settles in the warm-up, the window is measured."""

    users: list[Annotated[int, Field(ge=1, le=10_000)]] = Field([], min_length=1, max_length=200)
    """Users of each step, in order. Where steps are adaptive: what runs with `--grid`."""
    steps: Annotated[Literal["grid", "adaptive"] | None, Field(validate_default=True)] = None
    """`adaptive`: each step is chosen by what was seen before. Default: `grid` where users are stated."""
    least_users: Annotated[int, Field(ge=1, le=10_000)] = 1
    most_users: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Of adaptive steps. Default: the most of `users`, else by processors and memory of the load."""
    within: Annotated[float, Field(gt=0, le=2), BeforeValidator(parse_part)] = 0.15
    """Adaptive steps end when each target's 95 % interval is at most so wide to either side of its value."""
    seconds: Annotated[float, Field(ge=10, le=86400)] = 270.0
    """Adaptive steps end after this time, ramps and warm-ups included."""
    targets: Annotated[list[Annotated[str, AfterValidator(known_target)]], Field(min_length=1)] = ["knee"]
    """What adaptive steps are to find."""
    ramp_seconds: Seconds = 2.0
    warmup_seconds: Seconds = 4.0
    window_seconds: Annotated[float, Field(ge=1, le=86400)] = 20.0
    log_on_seconds: Annotated[float, Field(ge=0.001, le=3600)] | None = None
    """Time within which a user's shell must give its first prompt; without it 15, on another host 120."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    line: Annotated[str, AfterValidator(_known_line)] | None = None
    """Where the users' lines lead, in place of what the workload says."""
    allow: str | None = None
    """List of hosts other than this one that may be driven; relative to the study."""
    steady: Literal["check", "wait"] = "check"
    """`wait`: while the window is not steady, it was warm-up, and another follows."""
    steady_limit_seconds: Annotated[float, Field(gt=0, le=86400)] = 600.0
    """How long is waited at most; the last window counts then, and is flagged."""
    until: Literal["end", "peak"] = "end"
    """`peak`: the series ends by itself when interactions have not grown for two steps."""

    @model_validator(mode="after")
    def _steps_that_fit(self) -> Load:
        if self.steps == "grid" and not self.users:
            raise ValueError(
                'users: steps = "grid" needs the users of each step, such as users = [1, 2, 4, 8]'
            )
        if self.adaptive:
            ended_by = [f'{key} = "{value}"' for key, value in self._ends_by_itself().items()]
            if ended_by:
                raise ValueError(
                    f"{ended_by[0]} is of steps that are stated; write users = […], or leave it out"
                )
            if self.most_users is not None and self.most_users < self.least_users:
                raise ValueError(f"most_users: {self.most_users}, but least_users is {self.least_users}")
        elif self.steady == "wait" and len(self.users) > 1:
            raise ValueError('steady: "wait" is for one number of users; leave it out, or write one')
        return self

    def _ends_by_itself(self) -> dict[str, str]:
        usual = {"steady": "check", "until": "end"}
        return {key: getattr(self, key) for key, value in usual.items() if getattr(self, key) != value}

    @property
    def adaptive(self) -> bool:
        """Is each step chosen by what was seen before?"""
        return self.steps == "adaptive" or (self.steps is None and not self.users)

    @property
    def most(self) -> int:
        """The most users that any step may have; of adaptive steps what is stated, and 0 where nothing is."""
        return (self.most_users if self.adaptive else None) or max(self.users, default=0)

    def longest_s(self) -> float:
        """Length of all steps, the longest that it may be."""
        if self.adaptive:
            return self.seconds
        steps = len(self.users) * (self.ramp_seconds + self.warmup_seconds + self.window_seconds)
        return steps + (self.steady_limit_seconds if self.steady == "wait" else 0.0)


class StudyLimits(_Part):
    """Limits of the load; each is optional."""

    processors: Annotated[int, Field(ge=1)] | None = None
    cpu_quota_processors: Annotated[float, Field(ge=0.01)] | None = None
    memory: Annotated[Size, Field(ge=16_000_000)] | None = None
    swap: Annotated[Size, Field(ge=1_000_000)] | None = None
    read_iops: Annotated[int, Field(ge=1)] | None = None
    read_bytes_per_second: Annotated[Size, Field(ge=4096)] | None = None


class StudyKnobs(_Part):
    """Settings of the kernel, of the whole host: as they were when the study ends, whatever happens."""

    page_cluster: Annotated[int, Field(ge=0, le=10)] | None = None
    swappiness: Annotated[int, Field(ge=0, le=200)] | None = None
    mglru: Annotated[int, Field(ge=0, le=7)] | None = None
    swap_device: str | None = None
    swap_kind: Annotated[str, AfterValidator(_known_swap_kind)] | None = None
    """Character of the swap device of `limits.swap` bytes."""
    swap_discard: bool | None = None
    """Whether the space of freed pages is given back to that device."""


class Monitor(_Part):
    """How the system is measured."""

    interval_seconds: Annotated[float, Field(ge=0.1, le=600)] = 1.0
    thermometers: list[Literal["trivial", "io", "compute", "paging", "mixed"]] = []
    thermometer_every_seconds: Annotated[float, Field(ge=1, le=86400)] = 30.0
    delay_accounting: bool = True


class Prepare(_Part):
    """Shell commands that run once, outside the limits, in the data directory."""

    commands: list[str] = []
    timeout_seconds: Annotated[float, Field(gt=0, le=86400)] = 300.0


class Trace(_Part):
    """Events of the kernel that are traced in one step's window, until the space is full."""

    events: list[Annotated[str, Field(pattern=EVENT)]] = Field(list(USUAL), min_length=1)
    space: Annotated[Size, Field(ge=64 * 1024, le=4_000_000_000)] = 16_000_000
    step: Annotated[int, Field(ge=1)] | None = None
    """The step whose window is traced; ``None``: the last."""


class StudyServer(_Part):
    """A server inside the limits; a user of its own in the recording."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    command: list[str] = Field(min_length=1)
    ready_file: str | None = None
    ready_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 20.0


class StudyFile(_Part):
    """A whole study file."""

    title: str
    question: str = ""
    workload: str
    target: Annotated[str, AfterValidator(_known_target)] = "this-host"
    load: Load
    limits: StudyLimits = StudyLimits()
    knobs: StudyKnobs = StudyKnobs()
    guest: StudyGuest | None = None
    remote: StudyRemote | None = None
    monitor: Monitor = Monitor()
    trace: Trace | None = None
    prepare: Prepare = Prepare()
    swapper: StudySwapper | None = None
    server: list[StudyServer] = []
    factor: Annotated[list[FactorPart], Field(max_length=24)] = []
    design: DesignPart | None = None

    @model_validator(mode="after")
    def _one_name_each(self) -> StudyFile:
        names = [server.name for server in self.server]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f'server: two servers are named "{name}"; give each a name of its own')
        if self.knobs.swap_device is not None and self.limits.swap is not None:
            raise ValueError("knobs: swap_device stands in place of limits.swap; leave one of them out")
        if self.knobs.swap_kind is not None and self.limits.swap is None:
            raise ValueError("knobs: swap_kind is of a device that is not made; state limits.swap, its size")
        if self.knobs.swap_discard is not None and self.limits.swap is None:
            raise ValueError("knobs: swap_discard is of a device that is not made; state limits.swap")
        if self.design is not None and not self.factor:
            raise ValueError("design: there is nothing to vary; add [[factor]] tables")
        if self.trace is not None and self.target != "this-host":
            raise ValueError('trace: events are traced where target = "this-host" only; take [trace] out')
        if self.load.adaptive and self.target != "this-host":
            raise ValueError(
                f'load: adaptive steps are for target = "this-host", whose readings can be seen meanwhile; '
                f'of "{self.target}" write users = […]'
            )
        if self.load.adaptive and self.trace is not None and self.trace.step is None:
            raise ValueError("trace: which step is the last is not known beforehand; write step = N")
        if (
            self.trace is not None
            and not self.load.adaptive
            and (self.trace.step or 1) > len(self.load.users)
        ):
            raise ValueError(f"trace: no step {self.trace.step} in load.users ({len(self.load.users)} steps)")
        if self.swapper is not None and self.target != "this-host":
            raise ValueError(f'swapper: it is started on this host only; the target is "{self.target}"')
        check_target(self.target, self.guest, self.remote)
        return self


@dataclass(frozen=True)
class Study:
    """A study file that was read.

    name
        Its file's name without ``.toml``.
    text, workload_text
        What the study and the workload file say, word for word: they go into the recording.
    """

    name: str
    path: Path
    text: str
    file: StudyFile
    workload: Path
    workload_text: str

    def limits(self) -> Limits:
        """The limits, sizes in bytes."""
        stated = self.file.limits
        return Limits(
            processors=stated.processors,
            cpu_quota_processors=stated.cpu_quota_processors,
            memory_bytes=stated.memory,
            swap_bytes=stated.swap,
            read_iops=stated.read_iops,
            read_bytes_per_second=stated.read_bytes_per_second,
        )

    def knobs(self) -> Knobs:
        """The knobs of the kernel."""
        stated = self.file.knobs
        return Knobs(
            page_cluster=stated.page_cluster,
            swappiness=stated.swappiness,
            mglru=stated.mglru,
            swap_device=None if stated.swap_device is None else Path(stated.swap_device),
            swap_kind=stated.swap_kind,
            swap_discard=stated.swap_discard,
        )

    def trace(self) -> TraceSettings | None:
        """The events to be traced."""
        stated = self.file.trace
        return None if stated is None else TraceSettings(tuple(stated.events), stated.space)

    def servers(self) -> list[Server]:
        """The servers, in the order of the file."""
        return [
            Server(server.name, tuple(server.command), server.ready_file, server.ready_timeout_seconds)
            for server in self.file.server
        ]

    def with_load(self, **changes: Any) -> Study:
        """The same study with other values in its ``[load]``."""
        load = self.file.load.model_copy(update=changes)
        file = self.file.model_copy(update={"load": load})
        return replace(self, file=file)


def with_steps(
    study: Study,
    *,
    grid: bool = False,
    within: float | None = None,
    seconds: float | None = None,
    most: int | None = None,
    targets: Sequence[str] = (),
) -> Study:
    """The study with its steps as a command asks for them.

    Parameters
    ----------
    grid
        The steps that it states, in their order.
    within, seconds, most, targets
        Of adaptive steps: any of them makes steps that are stated adaptive.

    Raises
    ------
    InputError
        It states no steps, or they cannot be adaptive.
    """
    changes = {"within": within, "seconds": seconds, "most_users": most, "targets": list(targets) or None}
    changes = {key: value for key, value in changes.items() if value is not None}
    load = study.file.load
    if grid:
        if changes:
            raise InputError(
                "a grid runs the steps that are stated;"
                " precision, time, most users and target are of a search",
                hint="leave one or the other out",
            )
        if not load.users:
            raise InputError(
                f"{study.path}: it states no steps", hint="write users = [1, 2, 4, 8] under [load]"
            )
        return study.with_load(steps="grid")
    if not changes:
        return study
    file = study.file
    for what, is_so in (
        (f'target = "{file.target}"', file.target != "this-host"),
        ("[[factor]] tables", bool(file.factor)),
        (f'until = "{load.until}"', load.until != "end"),
        (f'steady = "{load.steady}"', load.steady != "check"),
        ("[trace] without a step", file.trace is not None and file.trace.step is None),
    ):
        if is_so:
            raise InputError(
                f"{study.path}: a study with {what} runs the steps that it states",
                hint="leave precision, time, most users and target out",
            )
    return study.with_load(steps="adaptive", **changes)


def shipped_studies() -> list[Path]:
    """The study files that come with Satline."""
    return sorted(share.path("studies").glob("*.toml"))


def find_study(name_or_file: str) -> Path:
    """A file of that name, else a shipped study of that name.

    Raises
    ------
    InputError
        There is neither.
    """
    path = Path(name_or_file)
    if path.is_file():
        return path
    shipped = {study.stem: study for study in shipped_studies()}
    if name_or_file in shipped:
        return shipped[name_or_file]
    raise none_such(name_or_file, shipped, kind="study", listed_by="satline experiment studies")


def read_study(path: Path) -> Study:
    """Read and check a study file.

    Raises
    ------
    InputError
        It cannot be read, or says what a study cannot say: all errors at once, each with line, key, remedy.
    """
    text, file = read_toml(
        path,
        StudyFile,
        kind="study",
        name_one="name a study file, or a shipped study",
        hint="shipped studies show every key: `satline experiment studies`",
    )
    return _study(path, text, file)


def _study(path: Path, text: str, file: StudyFile) -> Study:
    if file.load.allow is not None:
        load = file.load.model_copy(update={"allow": str(path.parent / file.load.allow)})
        file = file.model_copy(update={"load": load})
    workload = _find_workload(path, text, file.workload)
    return Study(
        path.stem, path, text, file, workload, workload.read_text(encoding="utf-8", errors="replace")
    )


def designed_study(study: Study) -> Designed[Study]:
    """The study as an experiment: its factors, and the study of every cell.

    Raises
    ------
    InputError
        A cell that the study file would not take: each names the factor, its line and its level.
    """

    def cell(values: dict[str, Any]) -> Study:
        made = _study(study.path, study.text, StudyFile.model_validate(values))
        if made.file.load.adaptive or len(made.file.load.users) > 1:
            raise InputError(
                f"{study.path}:{line_of(study.text, ('load', 'users'))}: load.users: a run of a design has "
                "one number of users",
                hint='write one, or have a factor with the setting "load.users"',
            )
        return made

    return designed(
        study.path, study.text, study.file.factor, study.file.design or DesignPart(), StudyFile, cell
    )


def _find_workload(path: Path, text: str, name: str) -> Path:
    shipped = {workload.stem: workload for workload in share.path("workloads").glob("*.toml")}
    if name in shipped:
        return shipped[name]
    given = path.parent / name
    if given.is_file():
        return given
    close = difflib.get_close_matches(name, shipped, n=1)
    raise InputError(
        f'{path}:{line_of(text, ("workload",))}: workload: there is no workload "{name}"',
        hint=f'did you mean "{close[0]}"?'
        if close
        else f"name a file relative to the study, or one of: {', '.join(sorted(shipped))}",
    )

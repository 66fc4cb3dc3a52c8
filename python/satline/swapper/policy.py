"""The policy file, checked at once: every problem with its line. The daemon checks again for itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from satline.problems import read_toml

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0.1, le=1e7)]
SIZE = r"^[0-9]+(\.[0-9]+)? ?(B|K|KiB|M|MiB|G|GiB|kB|MB|GB)?$"
Size = Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=SIZE)]
Amount = Annotated[int, Field(ge=0)] | Share | Annotated[str, Field(pattern=SIZE)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Watch(_Part):
    """[[watch]]: one kind of user."""

    cgroup: str | None = Field(
        default=None, description="control groups by path, * for any name; each is a user"
    )
    pid_file: Path | None = Field(
        default=None, description="a file of lines PID or PID<TAB>USER; each with its descendants is a user"
    )
    parent_pid: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="every child of this process is a user, with its descendants"
    )
    pid: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="this process with its descendants is a user"
    )
    command: str | None = Field(default=None, description="every process of this name is a user")
    uid: int | None = Field(default=None, description="with command: only processes of this user id")
    interactive: bool | None = Field(
        default=None, description="whether these users wait for answers; absent: those with a terminal do"
    )
    cpu_share: Share | None = Field(default=None, description="as activity.cpu_share, for these users")
    cpu_burst_us: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="as activity.cpu_burst_us, for these users"
    )
    faults: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="as activity.faults, for these users"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Watch:
        said = [self.cgroup, self.pid_file, self.parent_pid, self.pid, self.command]
        if sum(one is not None for one in said) != 1:
            raise ValueError("write exactly one of cgroup, pid_file, parent_pid, pid, command")
        if self.uid is not None and self.command is None:
            raise ValueError("uid goes with command only")
        if self.cgroup is not None and (not self.cgroup.startswith("/") or ".." in self.cgroup.split("/")):
            raise ValueError("cgroup must be a path from the root of its hierarchy, without ..")
        return self


class Allow(_Part):
    """[allow]: processes that may be acted on at all."""

    uids: list[int] | None = Field(default=None, description="effective user ids; absent: any")


class Activity(_Part):
    """[activity]: what counts as work of a user."""

    tick_ms: Annotated[int, Field(ge=20, le=10_000)] = Field(
        default=250, description="time between two looks, ms"
    )
    rescan_seconds: Annotated[float, Field(ge=0.1, le=3600)] = Field(
        default=5.0, description="time between two searches for users and processes, s"
    )
    cpu_share: Share = Field(
        default=0.005, description="share of a processor that an idle user may go on using (heartbeats)"
    )
    cpu_burst_us: Annotated[int, Field(ge=0)] = Field(
        default=3000, description="processor time above that share that ends idleness, µs"
    )
    faults: Annotated[int, Field(ge=1)] = Field(
        default=2, description="touches of pages outside, within a second, that mean that it is back"
    )
    fault_event: Literal["all", "major"] = Field(
        default="all", description="all: a touch counts when it begins; major: when its read is done"
    )


class QueueDrop(_Part):
    """[queue_drop]: when a stay is over."""

    idle_seconds: Annotated[float, Field(ge=0.5, le=86_400)] = Field(
        default=10.0, description="idleness after which a stay is over, s"
    )
    short_stay_share: Share = Field(
        default=0.25,
        description="a stay that touched less than this share of what earlier stays touched and was outside "
        "adds to the working set, and does not replace it",
    )
    working_set_stays: Annotated[int, Field(ge=1, le=8)] = Field(
        default=2,
        description="the working set is what each of so many stays touched, the last ones that could tell",
    )


class Storage(_Part):
    """[storage]: when storage is short."""

    low: Amount = Field(default=0.10, description="free storage below which idle users are swapped out")
    high: Amount = Field(
        default=0.20,
        description="free storage at which that ends at the latest; of all but cold pages only as much goes "
        "as others may ask for",
    )
    cgroup: str | None = Field(
        default=None, description="the control group whose limit and usage count; absent: the whole host"
    )
    pressure_share: Share | None = Field(
        default=None,
        description="share of two seconds in which tasks waited for storage, above which it is short too; "
        "absent: not watched",
    )


class SwapOut(_Part):
    """[swap_out]: how pages are written out."""

    order: Literal["address", "kernel"] = Field(
        default="address",
        description="address: in order of virtual address, the working set apart; "
        "kernel: nothing is written out, reclaim does it",
    )
    unknown: Literal["address", "kernel"] = Field(
        default="kernel",
        description="who writes out a user of whom no working set is known yet, in the same words",
    )
    set_pages: Annotated[int, Field(ge=1, le=65_536)] = Field(default=64, description="pages of a swap set")
    trim: bool = Field(default=True, description="pages outside the working set go first")
    bytes_per_second: Size = Field(default=256 << 20, description="most bytes written in a second")
    ios_per_second: Annotated[int, Field(ge=1)] = Field(
        default=20_000, description="most writes in a second, a run of pages counted as one"
    )


class Admission(_Part):
    """[admission]: who comes back is held while it does not fit beside the users in the queue."""

    hold_seconds: Annotated[float, Field(ge=0, le=60)] = Field(
        default=0.0, description="longest time for which one return is held, s; 0: nobody is held"
    )
    storage_share: Share = Field(
        default=0.5, description="share of storage that the working sets of the users in the queue may fill"
    )


class Whole(_Part):
    """[prepage.whole]: read all that is outside where bytes ÷ bandwidth < runs × service time."""

    max_bytes: Size = Field(description="a user with more outside is never read whole")
    device_bytes_per_second: Size = Field(description="measured: bytes a second of long reads")
    device_service_us: Annotated[int, Field(ge=1)] = Field(description="measured: time of one small read, µs")


class Prepage(_Part):
    """[prepage]: what is read when a user returns; never more than the recorded working set."""

    sets: Annotated[int, Field(ge=0)] = Field(default=128, description="swap sets read at once; 0: none")
    rest: Literal["paced", "touched", "demand"] = Field(
        default="paced",
        description="the other sets: paced: read one by one; touched: a set is read when one of its pages "
        "is touched; demand: not read",
    )
    bytes_per_second: Size = Field(default=128 << 20, description="most bytes read in a second")
    ios_per_second: Annotated[int, Field(ge=1)] = Field(
        default=5000, description="most reads in a second, a run of pages counted as one"
    )
    share_of_free_storage: Share = Field(
        default=0.5, description="most of the free storage that one return may fill"
    )
    gap_pages: Annotated[int, Field(ge=0, le=1024)] = Field(
        default=0, description="gaps up to so many swapped pages between two runs are read too"
    )
    from_compressed: bool = Field(
        default=False,
        description="prepage also where all swap is compressed storage: it costs processor time, not waits",
    )
    whole: Whole | None = Field(default=None, description="reading more than the working set; absent: never")


class GiveUp(_Part):
    """[give_up]: when a user is left alone."""

    prepage_error_share: Share = Field(
        default=0.5, description="share of prepaged pages not touched, above which a user is left alone"
    )
    stays: Annotated[int, Field(ge=1)] = Field(
        default=3, description="stays with prepaging before that is judged"
    )
    retry_seconds: Seconds = Field(default=3600.0, description="after this time it is tried again, s")


class Tiers(_Part):
    """[tiers]: the coldest pages of compressed storage go to the device behind it."""

    zram: list[Annotated[str, Field(pattern=r"^zram[0-9]+$")]] = Field(
        default=[], description="zram devices whose idle pages are written back"
    )
    cold_seconds: Seconds = Field(default=600.0, description="a page that nobody read for so long is cold, s")
    full_share: Share = Field(default=0.7, description="migration begins when the device is this full")


class Safety(_Part):
    """[safety]: bounds."""

    swap_reserve: Amount = Field(
        default=0.05, description="free swap space below which nothing is written out"
    )
    action_seconds: Annotated[float, Field(ge=0.1, le=3600)] = Field(
        default=30.0, description="a user for whom an action does not get on for so long is left alone, s"
    )
    lock_memory: bool = Field(default=True, description="keep the swapper itself in storage")


class Policy(_Part):
    """The whole file."""

    watch: Annotated[list[Watch], Field(min_length=1)]
    allow: Allow = Allow()
    activity: Activity = Activity()
    queue_drop: QueueDrop = QueueDrop()
    storage: Storage = Storage()
    swap_out: SwapOut = SwapOut()
    admission: Admission = Admission()
    prepage: Prepage = Prepage()
    give_up: GiveUp = GiveUp()
    tiers: Tiers = Tiers()
    safety: Safety = Safety()

    @model_validator(mode="after")
    def _low_is_low(self) -> Policy:
        low, high = self.storage.low, self.storage.high
        if type(low) is type(high) and not isinstance(low, str) and high < low:  # type: ignore[operator]
            raise ValueError("storage.high is below storage.low")
        return self


def read_policy(path: Path) -> Policy:
    """The policy in a file.

    Raises
    ------
    InputError
        It cannot be read or says what cannot be: all problems at once, each with its line.
    """
    _, policy = read_toml(
        path,
        Policy,
        kind="policy",
        name_one="examples/swapper/policy.toml is one to start from",
        hint="`satline swapper explain --policy FILE` says what every key means",
    )
    return policy

"""The swapper under its systemd unit, in a guest with systemd: what it does with these rights and no other.

They need what `satline guest build` makes; nothing here touches this host.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from satline.swapper import Status, make_unit, read_policy
from satline.systems.guest.image import SYSTEMD

from .swapper_guest import PLACE, Daemon, SwapperGuest, User, started, swapper_or_skip

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.own_machine]

UNITS = "/etc/systemd/system"
SERVICE = "satline-swapper.service"
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
METRICS = "127.0.0.1:9477"
MARY = "user-mary"
POLICY = """[[watch]]
cgroup = "/load.slice/user-*.service"
[activity]
tick_ms = 100
rescan_seconds = 0.5
{activity}
[queue_drop]
idle_seconds = {idle}
[storage]
low = 0.5
high = 0.5
{storage}
[swap_out]
unknown = "address"
[prepage]
share_of_free_storage = 1.0
[safety]
swap_reserve = 0
action_seconds = 5
{more}
"""
OF_GROUP = 'cgroup = "/load.slice"'
# Processor time is no sign of work: only touches of pages that are outside tell that somebody is back.
BLIND = "cpu_share = 1.0\ncpu_burst_us = 1000000000"
# As CAP_SYS_PTRACE … are numbered (capabilities(7)).
RIGHTS = {"SYS_NICE": 23, "SYS_PTRACE": 19, "PERFMON": 38, "DAC_READ_SEARCH": 2, "IPC_LOCK": 14}
# Of `systemd-analyze security`, tenths: 0 has no privilege, 100 has all. Five of root's rights cost most.
EXPOSURE = 40
SLICE = """[Slice]
MemoryMax=192M
"""
CLEAN = f"""systemctl stop {SERVICE}
echo 3 > {PARANOID}
systemctl stop load.slice
systemctl reset-failed
swapoff -a
echo 1 > /sys/block/zram0/reset
rm -rf {PLACE}/run/* {UNITS}/{SERVICE}
"""


def policy(activity: str = "", storage: str = OF_GROUP, more: str = "", idle: int = 2) -> str:
    return POLICY.format(activity=activity, storage=storage, more=more, idle=idle)


class UnitUser(User):
    """A user in a unit of systemd's, not root's: his files in /proc are another's to the swapper."""

    GROUP = "/load.slice/{}.service"

    def _begun(self, name: str, command: str) -> int:
        words = f"systemd-run --quiet --collect --unit={name} --slice=load.slice --uid=nobody"
        self.guest.run(f"{words} bash -c {shlex.quote(command)}")
        return int(self.guest.run(f"systemctl show -P MainPID {name}"))


class UnitDaemon(Daemon):
    """The swapper, started by its unit; `unit_for`: the policy that it was printed for, if another."""

    STATUS = "/run/satline-swapper/status.json"
    USER = UnitUser

    def __init__(
        self, guest: SwapperGuest, policy: str, *, metrics: str | None = None, unit_for: str | None = None
    ) -> None:
        self.guest = guest
        with TemporaryDirectory() as directory:
            path = Path(directory) / "policy.toml"
            path.write_text(unit_for or policy)
            asked = read_policy(path)
        guest.write(f"{PLACE}/policy.toml", policy)
        place = Path(PLACE)
        unit = make_unit(place / "satline-swapper", place / "policy.toml", asked, metrics)
        guest.write(f"{UNITS}/{SERVICE}", unit)
        guest.run(f"systemctl daemon-reload && systemctl start {SERVICE}")
        self.pid = self.main_pid()
        guest.wait(lambda: self.status() is not None, "the swapper's status")

    def main_pid(self) -> int:
        """As systemd has it; 0: it does not run."""
        return int(self.shown("MainPID"))

    def shown(self, name: str) -> str:
        return self.guest.run(f"systemctl show -P {name} {SERVICE}").strip()

    def said(self) -> str:
        """What the journal has of this start."""
        return self.guest.run(f"journalctl -o cat --no-pager _PID={self.pid}")

    def lacking(self) -> list[str]:
        """As status tells it; the journal must tell the same."""
        status = self.status()
        assert status is not None
        self.guest.wait(
            lambda: self.said().count("lacking: ") == len(status.lacking), "the same in the journal"
        )
        return [one["what"] for one in status.lacking]

    def own(self, name: str) -> str:
        """A line of its /proc/PID/status."""
        return self.guest.run(f"grep '^{name}:' /proc/{self.pid}/status").split(":")[1].strip()

    def killed_and_begun_again(self) -> None:
        """Kill it; systemd starts another."""
        before = self.pid
        self.send("KILL")
        self.guest.wait(lambda: self.main_pid() not in (0, before), "another start")
        self.pid = self.main_pid()

        def told() -> Status | None:
            status = self.status()
            return status if status is not None and status.pid == self.pid else None

        self.guest.wait(told, "the status of the next one")
        assert int(self.shown("NRestarts")) == 1


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwapperGuest]:
    swapper_or_skip()
    with started(tmp_path_factory.mktemp("guest"), options=SYSTEMD) as guest:
        if guest.read("/proc/1/comm").strip() != "systemd":
            pytest.skip("the guest is older than its systemd; `sudo satline guest build --again`")
        guest.run(f"chmod 777 {PLACE}/run && modprobe zram")
        guest.write(f"{UNITS}/load.slice", SLICE)
        yield guest


@pytest.fixture
def guest(booted: SwapperGuest) -> Iterator[SwapperGuest]:
    """The guest with swap on its own disk; afterwards without users, swapper and swap."""
    booted.run("mkswap /dev/vdb >/dev/null && swapon /dev/vdb")
    yield booted
    booted.run(CLEAN)


def usual(guest: SwapperGuest) -> list[str]:
    """What is lacking under the unit whatever the policy asks for."""
    older = tuple(map(int, guest.run("uname -r").split(".")[:2])) < (6, 7)
    # Debian's kernel begins with 3 there, and then wants more than CAP_PERFMON.
    barred = int(guest.read(PARANOID)) > 2
    return [
        *["PAGEMAP_SCAN"] * older,
        *["perf events of page faults"] * barred,
        "places of pages in swap",
    ]


def test_a_user_goes_out_and_comes_back(guest: SwapperGuest) -> None:
    guest.write(PARANOID, "2")
    mary = UnitUser(guest, MARY, 40)
    daemon = UnitDaemon(guest, policy(activity=BLIND, idle=6), metrics=METRICS)
    assert daemon.lacking() == usual(guest)
    mask = sum(1 << number for number in RIGHTS.values())
    assert [int(daemon.own(name), 16) for name in ("CapEff", "CapBnd", "CapAmb")] == [mask, mask, 0]
    assert daemon.own("NoNewPrivs") == "1"
    assert int(daemon.own("VmLck").split()[0]) > 0, "it is locked in storage"
    assert guest.read(f"/proc/{daemon.pid}/oom_score_adj").strip() == "500"
    # Out, back by her touches alone, out again now that her working set is known.
    for resumes in (1, 2):
        other = UnitUser(guest, "hog", 100)
        daemon.wait(MARY, lambda one: one.state == "swapped", "swapped")
        assert mary.swapped_pages() > 0
        assert mary.swap_bytes() > 0
        assert "perf_event" in guest.run(f"ls -l /proc/{daemon.pid}/fd"), "her faults wake it"
        other.end()
        if resumes == 1:
            mary.work()
            back = daemon.wait(MARY, lambda one: one.resumes == 1, "back")
            daemon.wait(MARY, lambda one: one.working_set_bytes is not None, "a working set")
    # Announced, her sets are read before she touches anything.
    mary.leave_no_copies()
    outside = mary.swapped_pages()
    daemon.announce(MARY)
    back = daemon.wait(MARY, lambda one: one.prepaged_pages > 0, "prepaged")
    assert back.resumes == 2
    assert mary.swapped_pages() == outside, "prepaging maps nothing"
    guest.wait(lambda: mary.stat("swapcached") > 0, "her sets read")
    mary.work()
    assert mary.swapped_pages() < outside
    one = daemon.wait(MARY, lambda one: one.state == "idle", "the end of that stay")
    assert one.prepage_errors < one.prepaged_pages / 2
    guest.wait(
        lambda: daemon.metrics()["satline_swapper_prepaged_pages_total"] == one.prepaged_pages, "metrics"
    )


def test_who_is_held_goes_on_when_it_is_killed_and_systemd_starts_another(guest: SwapperGuest) -> None:
    mary, busy = UnitUser(guest, MARY, 10), UnitUser(guest, "user-busy", 10)
    guest.run(
        "systemd-run --quiet --collect --unit=user-loop --slice=load.slice bash -c 'while :; do :; done'"
    )
    daemon = UnitDaemon(guest, policy(more="[admission]\nhold_seconds = 60\nstorage_share = 0"))
    assert daemon.lacking() == usual(guest)
    daemon.wait(MARY, lambda one: one.state == "idle" and one.stays == 1, "idle")
    daemon.wait("user-loop", lambda one: one.state == "active", "work is seen")
    daemon.announce(MARY)
    daemon.wait(MARY, lambda one: one.state == "eligible", "held")
    guest.wait(lambda: mary.state() == "t", "her tasks standing still")
    mary.type()
    daemon.killed_and_begun_again()
    guest.wait(mary.has_done, "her line")
    assert daemon.lacking() == usual(guest)
    busy.work()
    daemon.wait("user-busy", lambda one: one.state == "idle" and one.stays >= 1, "idle")
    # Stopped, it leaves nothing, and harms nobody.
    guest.run(f"systemctl stop {SERVICE}")
    assert [daemon.shown(name) for name in ("ActiveState", "Result", "MainPID")] == [
        "inactive",
        "success",
        "0",
    ]
    assert guest.run("ls -d /run/satline-swapper 2>/dev/null || true") == ""
    mary.work()


def test_what_the_policy_asks_for_is_in_its_unit_and_else_it_is_said(guest: SwapperGuest) -> None:
    guest.run(
        "swapoff /dev/vdb && echo /dev/vdb > /sys/block/zram0/backing_dev && "
        "echo 64M > /sys/block/zram0/disksize && mkswap /dev/zram0 && swapon /dev/zram0"
    )
    of_host = policy(storage="pressure_share = 0.1")
    of_group = policy(
        storage=f"{OF_GROUP}\npressure_share = 0.1",
        more='[tiers]\nzram = ["zram0"]\ncold_seconds = 1\nfull_share = 0',
    )
    UnitUser(guest, "hog", 10)
    # A unit for a policy that asked for less: the daemon runs, and says what it cannot do, and why.
    daemon = UnitDaemon(guest, of_group, unit_for=policy())
    told = [what for what in daemon.lacking() if what not in usual(guest)]
    assert "a pressure trigger on /sys/fs/cgroup/load.slice/memory.pressure: Read-only file system" in told[0]
    assert "writeback of zram0: Read-only file system" in told[1]
    guest.run(f"systemctl stop {SERVICE}")
    # Units for these policies.
    assert UnitDaemon(guest, of_host).lacking() == usual(guest)
    guest.run(f"systemctl stop {SERVICE}")
    assert UnitDaemon(guest, of_group).lacking() == usual(guest)
    guest.run("echo 200M > /sys/fs/cgroup/load.slice/memory.reclaim || true")
    guest.wait(lambda: int(guest.read("/sys/block/zram0/bd_stat").split()[0]) > 0, "pages written back")


def test_systemd_finds_nothing_wrong_with_it(guest: SwapperGuest) -> None:
    UnitDaemon(guest, policy())
    unit = f"{UNITS}/{SERVICE}"
    assert guest.run(f"systemd-analyze verify --man=no {unit} 2>&1") == ""
    # It fails above the threshold.
    told = guest.run(f"systemd-analyze security --no-pager --offline=yes --threshold={EXPOSURE} {unit}")
    assert "Overall exposure level" in told

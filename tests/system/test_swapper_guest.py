"""The swapper on a guest's kernel: control groups of version 2, pressure, MGLRU, zram, bad devices.

They need what `satline guest build` makes; nothing here touches this host's storage or swap.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from satline.recording import Recording, check
from satline.swapper.explain import explain_user

from .swapper_guest import PAGE_BYTES, PLACE, Daemon, SwapperGuest, User, started, swapper_or_skip

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.own_machine]

LOAD = "/sys/fs/cgroup/load"
LIMIT = 192 << 20
MARY = "user-mary"
# What a page-out may write beyond what lacks: the rest of a swap set, and what others let go meanwhile.
MORE_BYTES = 6 << 20
POLICY = """[[watch]]
cgroup = "/load/user-*"
[activity]
tick_ms = 100
rescan_seconds = 0.5
[queue_drop]
idle_seconds = {idle}
[storage]
cgroup = "/load"
low = {low}
high = {high}
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


CLEAN = f"""pkill -9 -x satline-swapper
for pid in $(cat {LOAD}/*/cgroup.procs); do kill -9 $pid; done
swapoff -a
dmsetup remove --noudevsync sw
echo 1 > /sys/block/zram0/reset
while cat {LOAD}/*/cgroup.procs | grep -q .; do sleep 0.2; done
rmdir {LOAD}/*/ {LOAD}
rm -rf {PLACE}/run/*
"""


def policy(low: float = 0.5, high: float = 0.5, storage: str = "", more: str = "", idle: int = 2) -> str:
    return POLICY.format(low=low, high=high, storage=storage, more=more, idle=idle)


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwapperGuest]:
    swapper_or_skip()
    with started(tmp_path_factory.mktemp("guest")) as guest:
        if guest.run("modprobe -a zram dm-mod && command -v dmsetup || true") == "":
            pytest.skip("the guest is older than its paging modules; `sudo satline guest build --again`")
        yield guest


@pytest.fixture
def guest(booted: SwapperGuest) -> Iterator[SwapperGuest]:
    """The guest with an empty group /load below a limit, and swap on its own disk; afterwards without."""
    booted.run(
        f"mkdir {LOAD} && echo +memory > {LOAD}/cgroup.subtree_control && echo {LIMIT} > {LOAD}/memory.max"
    )
    booted.run("mkswap /dev/vdb >/dev/null && swapon /dev/vdb")
    yield booted
    booted.run(CLEAN)


def hog(guest: SwapperGuest, megabytes: int) -> User:
    """Somebody who takes storage and is no user of the swapper's."""
    return User(guest, "hog", megabytes)


def test_at_its_start_it_says_what_this_kernel_lacks(guest: SwapperGuest) -> None:
    daemon = Daemon(guest, policy(storage="pressure_share = 0.1", more='[tiers]\nzram = ["zram0"]'))
    older = tuple(map(int, guest.run("uname -r").split(".")[:2])) < (6, 7)
    status = daemon.status()
    assert status is not None
    assert status.method == ("pagemap" if older else "PAGEMAP_SCAN")
    assert ("lacking: PAGEMAP_SCAN" in daemon.said()) == older
    assert [one["what"] for one in status.lacking] == ["PAGEMAP_SCAN"] * older
    # As under a unit with ProtectControlGroups: the trigger is refused where its file is there.
    told = guest.run(
        "unshare -m sh -c 'mount -o remount,bind,ro /sys/fs/cgroup && "
        f"{PLACE}/satline-swapper abilities {PLACE}/policy.toml'"
    )
    assert "a pressure trigger on /sys/fs/cgroup/load/memory.pressure: Read-only file system" in told


def is_out(daemon: Daemon, user: User, *states: str) -> None:
    """The swapper says so, and the kernel."""
    daemon.wait(MARY, lambda one: one.state in states and one.swapped_out_pages > 0, " or ".join(states))
    assert user.swapped_pages() > 0
    assert user.swap_bytes() > 0


@pytest.mark.parametrize(("mglru", "huge_pages"), [(0, "never"), (7, "never"), (7, "always")])
def test_a_user_goes_out_and_comes_back_on_control_groups_of_version_2(
    guest: SwapperGuest, mglru: int, huge_pages: str
) -> None:
    guest.write("/sys/kernel/mm/transparent_hugepage/enabled", huge_pages)
    guest.write("/sys/kernel/mm/lru_gen/enabled", str(mglru))
    assert int(guest.read("/sys/kernel/mm/lru_gen/enabled"), 16) == mglru
    mary = User(guest, MARY, 40)
    daemon = Daemon(
        guest, policy(idle=8), "--metrics", "127.0.0.1:9477", "--recording", f"{PLACE}/run/x.satline"
    )
    status = daemon.status()
    assert status is not None
    assert status.wakes_on_faults
    # She goes idle, and nothing is done while there is storage.
    mary.work()
    daemon.wait(MARY, lambda one: one.state == "idle" and one.stays >= 1, "idle")
    assert mary.swapped_pages() == 0
    # A first shortage, which a part of her storage ends.
    first = hog(guest, 60)
    is_out(daemon, mary, "partly")
    status = daemon.status()
    assert status is not None
    assert status.storage is not None
    more = status.storage["free_bytes"] - status.storage["high_bytes"]
    assert more < MORE_BYTES, "no more than what lacked, by the storage seen before the page-out"
    first.end()
    # She types; what she touches of what was out is her working set.
    before = mary.swapped_pages()
    mary.work()
    assert mary.swapped_pages() < before
    one = daemon.wait(
        MARY, lambda one: one.state == "idle" and one.working_set_bytes is not None, "a working set"
    )
    assert one.resumes == 1
    # A longer shortage: what lies outside it goes first, then all.
    kept = one.swapped_out_pages
    second = hog(guest, 100)
    out = daemon.wait(MARY, lambda one: one.state == "swapped", "swapped")
    assert out.swapped_out_pages > kept
    status = daemon.status()
    assert status is not None
    assert any("all he had is out" in line for line in explain_user(status, f"/load/{MARY}"))
    guest.wait(lambda: daemon.metrics().get('satline_swapper_users{state="swapped"}') == 1, "metrics")
    resident = mary.stat("anon")
    assert resident < 4 << 20
    assert guest.read(f"{LOAD}/memory.events").split()[5] == "0", "the kernel itself took nothing"
    second.end()
    mary.leave_no_copies()
    # She is announced: her sets are read before she touches anything.
    cached, outside, faults = mary.stat("swapcached"), mary.swapped_pages(), mary.major_faults()
    read = vmstat(guest, "pswpin")
    daemon.announce(MARY)
    back = daemon.wait(MARY, lambda one: one.prepaged_pages > 0 and one.state == "active", "prepaged")
    assert mary.swapped_pages() == outside, "prepaging maps nothing"
    # The kernel's counters come together once a second, and its reclaim may have left some copies.
    guest.wait(lambda: vmstat(guest, "pswpin") - read > back.prepaged_pages / 2, "her sets read")
    assert mary.stat("swapcached") > cached
    mary.work()
    found = outside - mary.swapped_pages()
    assert found > 0
    assert mary.major_faults() - faults < found, "some pages were there before she touched them"
    one = daemon.wait(
        MARY, lambda one: one.stays > back.stays and one.state == "idle", "the end of that stay"
    )
    assert one.prepage_errors < one.prepaged_pages / 2
    guest.wait(
        lambda: daemon.metrics()["satline_swapper_prepaged_pages_total"] == one.prepaged_pages,
        "metrics of prepaging",
    )
    daemon.end()
    assert mary.state() == "S"
    recorded = guest.fetch(f"{PLACE}/run/x.satline")
    assert check(recorded).ok
    changes = states(recorded)
    assert ("idle", "trimmed") in changes
    assert changes[-1] == ("active", "idle")


def vmstat(guest: SwapperGuest, name: str) -> int:
    """A count of the guest's kernel: `pswpin`, pages read from swap; `pswpout`, pages begun to be written."""
    return int(guest.run(f"grep '^{name} ' /proc/vmstat").split()[1])


def test_a_pressure_trigger_of_the_group_begins_swap_out(guest: SwapperGuest) -> None:
    mary = User(guest, MARY, 40)
    # Free storage alone never is below `low`.
    daemon = Daemon(guest, policy(low=0.0, high=0.3, storage="pressure_share = 0.005"))
    daemon.wait(MARY, lambda one: one.state == "idle" and one.stays >= 1, "idle")
    status = daemon.status()
    assert status is not None
    assert status.storage is not None
    assert not status.short
    assert status.storage["low_bytes"] == 0
    waited = stalled_us(guest)
    guest.run(f"echo {LIMIT // 2} > {LOAD}/memory.high")
    other = hog(guest, 90)
    is_out(daemon, mary, "partly", "swapped")
    assert stalled_us(guest) > waited
    other.end()
    guest.wait(
        lambda: (status := daemon.status()) is not None and not status.short, "the end of the shortage"
    )


def stalled_us(guest: SwapperGuest) -> int:
    """How long tasks of the group have waited for storage."""
    return int(guest.read(f"{LOAD}/memory.pressure").splitlines()[0].rsplit("=", 1)[1])


def test_cold_pages_of_compressed_storage_go_to_the_device_behind_it(guest: SwapperGuest) -> None:
    guest.run(
        "swapoff /dev/vdb; echo /dev/vdb > /sys/block/zram0/backing_dev && "
        "echo 256M > /sys/block/zram0/disksize && mkswap /dev/zram0 >/dev/null && swapon /dev/zram0"
    )
    mary = User(guest, MARY, 40)
    tiers = '[tiers]\nzram = ["zram0"]\ncold_seconds = 3\nfull_share = 0.05'
    daemon = Daemon(guest, policy(more=tiers))
    status = daemon.status()
    assert status is not None
    assert not any("writeback" in one["what"] for one in status.lacking)
    mary.work()
    daemon.wait(MARY, lambda one: one.state == "idle" and one.stays >= 1, "idle")
    assert written_back(guest) == 0
    other = hog(guest, 100)
    is_out(daemon, mary, "partly", "swapped")
    # It goes on until compressed storage is no more than its share full.
    guest.wait(
        lambda: written_back(guest) > 0 and compressed_bytes(guest) < 0.05 * (256 << 20), "pages written back"
    )
    other.end()
    mary.work()
    assert daemon.wait(MARY, lambda one: one.resumes == 1, "back").prepaged_pages == 0
    guest.run("swapoff /dev/zram0 && echo 1 > /sys/block/zram0/reset")


def written_back(guest: SwapperGuest) -> int:
    """Pages of zram0 that are on the device behind it."""
    return int(guest.read("/sys/block/zram0/bd_stat").split()[0])


def compressed_bytes(guest: SwapperGuest) -> int:
    """What zram0 holds itself, before compression; its kernel goes on counting what it has written back."""
    total = int(guest.read("/sys/block/zram0/mm_stat").split()[0])
    return total - written_back(guest) * PAGE_BYTES


def swap_on_a_mapped_device(guest: SwapperGuest) -> None:
    """The guest's swap device can be made to hang or to fail."""
    guest.run(
        "swapoff /dev/vdb; dmsetup create sw --noudevsync --table "
        '"0 $(blockdev --getsz /dev/vdb) linear /dev/vdb 0" && mkswap /dev/dm-0 && swapon /dev/dm-0'
    )


def swapped_on_a_mapped_device(guest: SwapperGuest) -> tuple[User, Daemon]:
    """Mary, with a known working set, all of her out on such a device."""
    swap_on_a_mapped_device(guest)
    return swapped(guest)


def swapped(guest: SwapperGuest) -> tuple[User, Daemon]:
    """Mary, of whom a working set is known and all is out."""
    mary = User(guest, MARY, 40)
    daemon = Daemon(guest, policy())
    mary.work()
    for stay in (1, 2):
        # She is idle before her stay is in the books.
        daemon.wait(MARY, lambda one, stay=stay: one.state == "idle" and one.stays >= stay, "idle")
        other = hog(guest, 100)
        daemon.wait(MARY, lambda one: one.state == "swapped", "swapped")
        other.end()
        mary.leave_no_copies()
        if stay == 1:
            mary.work()
            daemon.wait(MARY, lambda one: one.working_set_bytes is not None, "a working set")
    return mary, daemon


def test_a_device_that_is_suspended_holds_up_its_user_and_not_the_swapper(guest: SwapperGuest) -> None:
    mary, daemon = swapped_on_a_mapped_device(guest)
    bob = User(guest, "user-bob", 10)
    guest.run("dmsetup suspend --noflush --nolockfs sw")
    try:
        daemon.announce(MARY)
        before = daemon.wait(MARY, lambda one: one.resumes >= 2, "coming back")
        mary.type()
        guest.wait(lambda: mary.state() == "D", "Mary at the device")
        # Others are served, and the killed swapper is followed by another while she waits.
        bob.work()
        daemon.wait("user-bob", lambda one: one.state == "idle", "idle")
        daemon.end("KILL")
        daemon = Daemon(guest, policy())
        bob.work()
        daemon.wait("user-bob", lambda one: one.state == "idle", "idle")
        assert mary.state() == "D"
        assert not mary.has_done()
    finally:
        guest.run("dmsetup resume sw")
    guest.wait(mary.has_done, "Mary's line")
    assert before.swapped_out_pages > 0
    daemon.wait(MARY, lambda one: one.state == "idle" and one.stays >= 1, "idle")


def test_a_thread_that_hangs_is_given_up_and_the_user_left_alone(guest: SwapperGuest) -> None:
    mary, daemon = swapped(guest)
    throttle(guest, 1)
    try:
        daemon.announce(MARY)
        guest.wait(lambda: daemon.blocked_threads() > 0, "a thread that waits for the device")
        left = daemon.wait(MARY, lambda one: "left alone" in one.why, "left alone")
        assert "an action failed or took too long" in left.why
        daemon.send("KILL")
        assert mary.state() == "S"
    finally:
        throttle(guest, 0)
    guest.wait(lambda: not daemon.lives(), "the end of the killed swapper")
    daemon = Daemon(guest, policy())
    mary.work()
    daemon.wait(MARY, lambda one: one.state == "idle" and one.stays >= 1, "idle")


def throttle(guest: SwapperGuest, requests: int) -> None:
    """Requests a second that the swap disk serves; 0: as many as it can."""
    names = ("bps", "bps_rd", "bps_wr", "iops_rd", "iops_wr")
    guest.machine.qmp.do("block_set_io_throttle", device="swap0", iops=requests, **dict.fromkeys(names, 0))


def test_reads_that_fail_kill_nobody_who_does_not_touch_their_pages(guest: SwapperGuest) -> None:
    mary, daemon = swapped_on_a_mapped_device(guest)
    good = guest.run("dmsetup table sw").strip()
    map_to(guest, "0 $(blockdev --getsz /dev/vdb) error")
    daemon.announce(MARY)
    daemon.wait(MARY, lambda one: one.prepaged_pages > 0 and one.state == "idle", "reads that failed")
    assert "Read-error on swap-device" in guest.run("dmesg | tail -n 5")
    assert mary.state() == "S"
    map_to(guest, good)
    # What could not be read stays in the swap cache as bad, and would kill her: reclaim takes it away.
    assert mary.stat("swapcached") > 0
    mary.leave_no_copies()
    mary.work()
    daemon.wait(MARY, lambda one: one.state == "active", "active")
    # Without the swapper's doing: a user who touches what cannot be read is ended by the kernel.
    one = daemon.wait(MARY, lambda one: one.state == "idle", "idle")
    assert one.stays > 0
    guest.run(f"echo 200M > {mary.group}/memory.reclaim || true")
    map_to(guest, "0 $(blockdev --getsz /dev/vdb) error")
    mary.type()
    guest.wait(lambda: mary.state() == "", "her end")
    guest.wait(lambda: daemon.of(MARY) is None, "a swapper that knows it")
    map_to(guest, good)


def test_writes_that_fail_lose_nothing(guest: SwapperGuest) -> None:
    swap_on_a_mapped_device(guest)
    good = guest.run("dmsetup table sw").strip()
    mary = User(guest, MARY, 40)
    daemon = Daemon(guest, policy())
    mary.work()
    daemon.wait(MARY, lambda one: one.state == "idle" and one.stays >= 1, "idle")
    map_to(guest, "0 $(blockdev --getsz /dev/vdb) error")
    other = hog(guest, 100)
    daemon.wait(MARY, lambda one: one.state in ("partly", "swapped"), "a page-out that fails")
    assert "Write-error on swap-device" in guest.run("dmesg | tail -n 20")
    # It does not write the same again and again.
    written = vmstat(guest, "pswpout")
    time.sleep(5)
    assert vmstat(guest, "pswpout") - written < 2 * (40 << 20) / PAGE_BYTES
    # Everything of hers is still in storage: she waits for no device, and none ends her.
    faults = mary.major_faults()
    mary.work()
    assert mary.major_faults() == faults
    other.end()
    map_to(guest, good)
    daemon.wait(MARY, lambda one: one.state == "idle", "idle")
    other = hog(guest, 100)
    daemon.wait(MARY, lambda one: one.state == "swapped", "swapped on the mended device")
    other.end()
    mary.leave_no_copies()
    mary.work()
    assert mary.major_faults() > faults


def map_to(guest: SwapperGuest, table: str) -> None:
    """Let the mapped device be that."""
    guest.run(f'dmsetup suspend sw && echo "{table}" | dmsetup load sw && dmsetup resume --noudevsync sw')


def states(recording: Path) -> list[tuple[str, str]]:
    """Mary's changes of state."""
    connection = Recording.open(recording).connect()
    rows = connection.execute(
        "SELECT text FROM event WHERE event = 'swap-state' ORDER BY monotonic_ns"
    ).fetchall()
    connection.close()
    words = [row[0].split("\t") for row in rows]
    return [(before, after) for user, before, after in words if user == f"/load/{MARY}"]

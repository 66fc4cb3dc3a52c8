"""The kernel's programs on other kernels than this host's: in guests of the Debian releases that were built.

They need what `satline guest build --release NAME` makes; nothing here touches this host.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator

import planted
import pytest
from emulated import Typed
from matching import match, rows_of

from satline.errors import InputError, SatlineError
from satline.recording import Recording, check
from satline.systems.binaries import find_binary
from satline.systems.guest import GuestSettings
from satline.systems.guest.files import find_program
from satline.systems.guest.image import find_image

from .booted_guest import BootedGuest, started
from .conftest import TREE

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.own_machine]

# Debian 12 and 13.
KERNELS = {"bookworm": "6.1", "trixie": "6.12"}
PLACE = "/opt/satline"
SECONDS = 12
# Parts of what was planted and of the time lived. An emulated processor, and on a busy machine, takes long
# for the calls by which a program measures: docs/reference/kernel-programs.md has figures.
PART, PART_OF_LIFE = 0.15, 0.05
SUM_PART, SUM_SECONDS = 0.08, 0.3
# Where the programs hardly ever got a processor, a lock is held by whoever waits for one with it.
LEAST_WAITED, LEAST_HELD = 0.25, 0.8


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BootedGuest]:
    """One with the monitor and what is planted in it."""
    release = str(request.param)
    try:
        find_program("qemu-system-x86_64")
        find_image(release=release)
        monitor = find_binary("satline-monitor")
    except InputError as error:
        pytest.skip(f"{error.message}; {error.hint}")
    except SatlineError as error:
        pytest.skip(error.message)
    settings = GuestSettings(memory_bytes=768_000_000, processors=2, swap_disks=0, release=release)
    with started(tmp_path_factory.mktemp(release), settings, before=["nice", "-n", "5"]) as booted:
        benches = TREE / "benches"
        booted.put(
            {
                "satline-monitor": monitor,
                "planted.py": benches / "monitor/planted.py",
                "emulated.py": benches / "terminals/emulated.py",
                "typed.py": benches / "terminals/typed.py",
            },
            PLACE,
        )
        assert booted.read("/proc/sys/kernel/osrelease").startswith(f"{KERNELS[release]}.")
        yield booted


def test_all_objects_load(guest: BootedGuest) -> None:
    said = guest.run(f"{PLACE}/satline-monitor --explain-sources")
    print(guest.read("/proc/sys/kernel/osrelease"), said)
    for signal, method in (
        ("users, tasks: time", "eBPF task iterator"),
        ("users: waits by cause", "eBPF at sched_switch"),
        ("locks of the kernel", "eBPF at contention_begin"),
        ("transactions: lines at terminals", "eBPF at the work items"),
    ):
        assert re.search(rf"^\+ {re.escape(signal)}.*\n    by {re.escape(method)}", said, re.M), said


def test_the_iterator_tells_what_proc_tells(guest: BootedGuest) -> None:
    """Both read the same sleeping processes: recordings by either have the same of them."""
    guest.run(
        "for n in 1 2 3; do setpriv --reuid 7700$n --clear-groups sh -c '"
        "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; cat /etc/passwd | wc -l; exec sleep 1000"
        '\' >/dev/null 2>&1 & done; while [ $(pgrep -c -f "^sleep 1000") -lt 3 ]; do sleep 0.1; done'
    )
    found = {}
    columns = "cpu_us, cpu_system_us, run_delay_us, minor_faults, major_faults, read_bytes, write_bytes"
    columns += ", resident_bytes, processes"
    for source in ("ebpf", "proc"):
        guest.run(
            f"{PLACE}/satline-monitor --recording {PLACE}/{source}.satline --source {source} --interval 500ms"
            " --duration 2s >/dev/null"
        )
        fetched = guest.fetch(f"{PLACE}/{source}.satline")
        assert tomllib.loads((fetched / "sources/monitor.toml").read_text())["methods"]["tasks"] == source
        assert check(fetched).ok
        connection = Recording.open(fetched).connect(tables=["user"])
        found[source] = connection.execute(
            f'SELECT DISTINCT "user", {columns} FROM "user" WHERE "user" LIKE \'7700%\' ORDER BY ALL'
        ).fetchall()
        connection.close()
    assert len(found["proc"]) == 3
    assert found["ebpf"] == found["proc"]


def test_waits_are_those_that_programs_measure(guest: BootedGuest) -> None:
    guest.run(
        f"mkdir -p {PLACE}/w && cd {PLACE} && "
        f"python3 -I planted.py plant {PLACE}/satline-monitor {PLACE}/w {SECONDS}"
    )
    guest.run(f"rm {PLACE}/w/cold {PLACE}/w/swap")
    found, without = planted.compare(guest.fetch(f"{PLACE}/w"))
    for one in found:
        print(one)
    assert without == {}
    assert len(found) == 10
    for one in found:
        if one.recorded is None:
            # A kernel that does not tell what quotas hold back.
            assert one.cause == "quota", one
        else:
            assert abs(one.error) <= PART * one.planted + PART_OF_LIFE * one.lived, one
        assert abs(one.error_of_sum) <= SUM_PART * one.lived + SUM_SECONDS, one
        if one.held is not None and one.planted >= LEAST_WAITED * one.lived:
            assert one.held >= LEAST_HELD, one


def test_lines_are_recorded_as_they_were_seen(guest: BootedGuest) -> None:
    recording = f"{PLACE}/t.satline"
    guest.run(
        f"{PLACE}/satline-monitor --recording {recording} --terminals --users terminal --interval 500ms"
        f" >{PLACE}/t.log 2>&1 & echo $! > {PLACE}/t.pid; "
        f"while ! ls {recording}/segments/system/* >/dev/null 2>&1; do sleep 0.2; done"
    )
    guest.run(f"cd {PLACE} && python3 typed.py bash,dash,python 6 200 60 typed.json")
    guest.run(
        f"sleep 1; pid=$(cat {PLACE}/t.pid); kill -INT $pid; while test -d /proc/$pid; do sleep 0.1; done"
    )
    typed = [Typed(**line) for line in json.loads(guest.read(f"{PLACE}/typed.json"))]
    rows = rows_of(guest.fetch(recording))
    assert len(typed) == 60
    pairs, _ = match(typed, rows)
    told = [pair for pair in pairs if pair.row is not None and not pair.row.marked]
    assert len(told) >= 0.95 * len(pairs), pairs
    for difference in ("first_ms", "prompt_ms"):
        differences = sorted(abs(d) for pair in told if (d := getattr(pair, difference)) is not None)
        print(difference, differences)
        assert len(differences) >= 0.9 * len(told), difference
        # The typist's own time on an emulated processor is among it.
        assert differences[len(differences) // 2] < 60, (difference, differences)

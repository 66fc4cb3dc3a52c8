"""Satline on ordinary hosts: guests with Debian's kernel, systemd as process 1, and cgroup v2.

They need what `make test-guest` makes; nothing here touches this host.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satline.recording import Recording, check

from .booted_guest import BootedGuest
from .product_guest import PYTHONS, product_or_skip

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.own_machine]

SERVICE = "satline-record.service"
HOST = Path("/var/lib/satline/host.satline")
SWITCH = "/proc/sys/kernel/task_delayacct"
PORT = 2222
USERS = ("ann", "bob")

STUDY = """title = "limits on version 2"
workload = "working-sets"
target = "this-host"
[load]
users = [1, 2]
ramp_seconds = 5
warmup_seconds = 2
window_seconds = 8
[limits]
processors = 1
cpu_quota_processors = 0.8
memory = "400 MB"
swap = "100 MB"
[monitor]
interval_seconds = 1
"""


@pytest.fixture(scope="module", params=PYTHONS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BootedGuest]:
    directory = tmp_path_factory.mktemp(request.param)
    with product_or_skip(request.param, directory, before=["nice", "-n", "5"]) as booted:
        # Of the usual target: what lets users log on. The way into the guest has the usual port.
        booted.write("/etc/ssh/sshd_config.d/test.conf", f"Port {PORT}\n")
        booted.run("systemctl start systemd-user-sessions.service systemd-logind.service ssh.service")
        assert booted.run("stat -fc %T /sys/fs/cgroup").strip() == "cgroup2fs"
        assert booted.run("cat /proc/1/comm").strip() == "systemd"
        yield booted


def shown(guest: BootedGuest, name: str) -> str:
    return guest.run(f"systemctl show -P {name} {SERVICE}").strip()


def source(guest: BootedGuest) -> dict[str, Any]:
    return tomllib.loads(guest.read(f"{HOST}/sources/monitor.toml"))


def samples(guest: BootedGuest) -> int:
    """That have reached the segments of the recording."""
    return int(guest.run(f"cat {HOST}/segments/system/* 2>/dev/null | wc -c"))


@pytest.fixture
def service(guest: BootedGuest) -> Iterator[BootedGuest]:
    """The service, running; afterwards it and its recording are gone."""
    guest.write(SWITCH, "0")
    said = guest.run(
        "satline record --install --interval 1 --delay-accounting --waits --terminals --users session"
    )
    assert f"systemctl enable --now {SERVICE}" in said
    guest.run(f"systemd-analyze verify /etc/systemd/system/{SERVICE}")
    guest.run(f"systemctl daemon-reload && systemctl enable --now {SERVICE} satline-record-compact.timer")
    guest.wait(lambda: samples(guest) > 0, "the first sample")
    yield guest
    guest.run(f"systemctl disable --now {SERVICE} satline-record-compact.timer; rm -rf {HOST}")
    guest.run(f"systemctl reset-failed {SERVICE} 2>/dev/null || true")


def test_the_installed_service_records_with_its_rights_and_no_other(service: BootedGuest) -> None:
    assert shown(service, "ActiveState") == "active"
    pid = int(shown(service, "MainPID"))
    status = service.read(f"/proc/{pid}/status")
    rights = int(next(line for line in status.splitlines() if line.startswith("CapEff")).split()[1], 16)
    # Of capabilities(7): SYS_PTRACE, NET_ADMIN, DAC_READ_SEARCH, SYS_NICE, BPF, PERFMON.
    assert rights == sum(1 << number for number in (19, 12, 2, 23, 39, 38))
    assert "\nNoNewPrivs:\t1" in status
    assert shown(service, "ControlGroup") == f"/system.slice/{SERVICE}"
    limits = service.read(f"/proc/{pid}/limits")
    assert "65536" in next(line for line in limits.splitlines() if line.startswith("Max open files"))
    assert service.read(SWITCH).strip() == "1"
    told = source(service)
    assert told["methods"]["tasks"] == "ebpf"
    assert told["methods"]["io_delay"] == "delay-accounting"
    lacking = {one["signal"]: one for one in told.get("missing", [])}
    print(lacking)
    assert not {"user: waits by cause", "lock: locks of the kernel", "transaction: lines at terminals"} & set(
        lacking
    )


def test_it_is_stopped_and_started_and_killed_and_nothing_is_lost_but_the_pause(service: BootedGuest) -> None:
    first = int(shown(service, "MainPID"))
    service.run(f"kill -9 {first}")
    service.wait(lambda: int(shown(service, "MainPID")) not in (0, first), "another start")
    assert shown(service, "NRestarts") == "1"
    service.wait(lambda: samples(service) > 0, "samples after the kill")
    assert service.read(SWITCH).strip() == "1"
    before = samples(service)
    service.wait(lambda: samples(service) > before, "more samples")
    service.run(f"systemctl stop {SERVICE}")
    assert shown(service, "Result") == "success"
    assert service.read(SWITCH).strip() == "0"
    fetched = service.fetch(str(HOST))
    report = check(fetched)
    assert report.ok, report.problems
    connection = Recording.open(fetched).connect(tables=["system", "event"])
    times = [row[0] for row in connection.execute("SELECT monotonic_ns FROM system ORDER BY ALL").fetchall()]
    connection.close()
    assert len(times) == len(set(times)) > 3
    log = service.run(f"journalctl --no-pager -o cat -u {SERVICE}")
    print(log)
    assert "Traceback" not in log
    assert "code=killed, status=9/KILL" in log
    # A start goes on with the same recording.
    service.run(f"systemctl start {SERVICE}")
    service.wait(lambda: samples(service) > 0, "samples after the start")
    service.run("systemctl start satline-record-compact.service")
    assert service.run("systemctl show -P Result satline-record-compact.service").strip() == "success"
    diagnosed = json.loads(service.run(f"satline diagnose --json {HOST}"))
    print(list(diagnosed))
    service.run(f"systemctl restart {SERVICE}")
    assert shown(service, "ActiveState") == "active"


def log_on(guest: BootedGuest) -> None:
    """Users who may log on by ssh, as on any host: with PAM and its sessions."""
    if guest.run("getent passwd ann || true"):
        return
    guest.run("ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/own")
    for user in USERS:
        guest.run(
            f"useradd -m -s /bin/bash {user} && install -d -m 700 -o {user} /home/{user}/.ssh && "
            f"install -m 600 -o {user} /root/.ssh/own.pub /home/{user}/.ssh/authorized_keys"
        )
    guest.run(f"ssh-keyscan -p {PORT} 127.0.0.1 > /root/.ssh/known_hosts 2>/dev/null")


def by_ssh(user: str, command: str) -> str:
    return f"ssh -i /root/.ssh/own -p {PORT} {user}@127.0.0.1 {command}"


MONITOR = "/opt/satline/bin/satline-monitor"


def test_each_login_has_a_slice_and_is_a_user_of_the_recording(guest: BootedGuest) -> None:
    log_on(guest)
    groups = [guest.run(by_ssh(user, "cat /proc/self/cgroup")).strip() for user in USERS]
    uids = [guest.run(f"id -u {user}").strip() for user in USERS]
    for group, uid in zip(groups, uids, strict=True):
        assert group.startswith(f"0::/user.slice/user-{uid}.slice/session-"), groups
    work = "'i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; sleep 4'"
    for definition in ("session", "cgroup"):
        recording = f"/root/{definition}.satline"
        guest.run(
            f"{MONITOR} --recording {recording} --users {definition} --interval 500ms >/dev/null 2>&1 & "
            f"while ! ls {recording}/segments/user/* >/dev/null 2>&1; do sleep 0.2; done; "
            + "".join(f"{by_ssh(user, work)} & " for user in USERS)
            + "wait %2 %3; kill -INT %1; wait %1"
        )
        connection = Recording.open(guest.fetch(recording)).connect(tables=["user"])
        rows = connection.execute('SELECT "user", max(cpu_us) FROM "user" GROUP BY ALL').fetchall()
        connection.close()
        used = {str(user): cpu_us for user, cpu_us in rows}
        print(used)
        for user, uid in zip(USERS, uids, strict=True):
            own = user if definition == "session" else f"user-{uid}.slice"
            assert sum(cpu_us for name, cpu_us in used.items() if name.startswith(own)) > 0, used


def test_an_ordinary_user_has_the_files_of_proc_and_is_told_why(guest: BootedGuest) -> None:
    log_on(guest)
    words = f"{MONITOR} --recording r.satline --waits --terminals --interval 500ms --duration 2s"
    guest.run(by_ssh("ann", f"'{words}'"))
    fetched = guest.fetch("/home/ann/r.satline")
    assert check(fetched).ok
    told = tomllib.loads((fetched / "sources/monitor.toml").read_text())
    assert told["methods"]["tasks"] == "proc"
    lacking = {one["signal"]: one["would_need"] for one in told["missing"]}
    for signal in ("user: waits by cause", "lock: locks of the kernel", "transaction: lines at terminals"):
        assert "CAP_BPF" in lacking[signal], lacking


def test_a_study_sets_its_limits_and_takes_them_back(guest: BootedGuest) -> None:
    # The managers of users who have logged off go by themselves, and systemd takes back what it set for them.
    managers = "systemctl list-units --no-legend 'user@*.service' | grep -v user@0 || true"
    guest.wait(lambda: not guest.run(managers).strip(), "the end of the users' managers")
    before = guest.run("cat /sys/fs/cgroup/cgroup.subtree_control /proc/swaps; ls /sys/fs/cgroup")
    guest.write("/root/x.toml", STUDY)
    guest.run(
        "cd /root && (satline study x.toml --out /root/x.satline >x.log 2>&1; echo $? >x.ended)"
        " </dev/null >/dev/null 2>&1 &"
    )
    # All values that each had: limits of memory are lifted first when it is over.
    wanted = {"cpu.max": {"80000 100000"}, "cpuset.cpus": {"0", "1"}}
    wanted |= {"memory.max": {"399998976"}, "memory.swap.max": {"99999744"}}
    seen: dict[str, set[str]] = {name: set() for name in wanted}

    def is_over() -> bool:
        for name in wanted:
            text = guest.run(
                f"find /sys/fs/cgroup -path '*/satline-*/{name}' -exec cat {{}} \\; 2>/dev/null || true"
            )
            seen[name] |= set(text.split("\n")) - {""}
        return guest.run("cat /root/x.ended 2>/dev/null || true") != ""

    guest.wait(is_over, "the study's end")
    log = guest.read("/root/x.log")
    assert guest.read("/root/x.ended").strip() == "0", log
    print(seen, log)
    for name, values in wanted.items():
        assert seen[name] & values, seen
    assert guest.run("cat /sys/fs/cgroup/cgroup.subtree_control /proc/swaps; ls /sys/fs/cgroup") == before
    fetched = guest.fetch("/root/x.satline")
    assert check(fetched).ok
    assert check(fetched).rows["transaction"] > 0
    assert json.loads(guest.run("satline diagnose --json /root/x.satline"))


def test_an_ordinary_user_records_and_studies_without_root(guest: BootedGuest) -> None:
    log_on(guest)
    record = "satline record r.satline --interval 1 --duration 6s --quiet 2>&1"
    assert guest.run(by_ssh("ann", f"'{record} && satline diagnose r.satline --json'"))
    told = tomllib.loads(guest.read("/home/ann/r.satline/sources/monitor.toml"))
    assert told["methods"]["tasks"] == "proc"
    assert any("CAP_BPF" in str(one) for one in [*told.get("fallbacks", []), *told["missing"]]), told
    refused = guest.run(by_ssh("ann", "'satline record --install 2>&1 || true'"))
    assert "sudo satline record --install" in refused
    text = STUDY.split("[limits]")[0] + "[monitor]" + STUDY.split("[monitor]")[1]
    guest.write("/home/ann/x.toml", text)
    guest.run("chmod 644 /home/ann/x.toml")
    guest.run(by_ssh("ann", "'satline study x.toml --out x.satline 2>&1'"))
    assert check(guest.fetch("/home/ann/x.satline")).rows["transaction"] > 0

"""Undoing: each kind of entry, twice, in the face of what may have changed meanwhile."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from satline.systems.janitor import JanitorProcess, clean_stale
from satline.systems.ledger import Ledger, boot_id, start_ticks
from satline.systems.undo import marked_processes, swap_in_use, undo

RUN = "abcd" * 8


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "state", RUN)


def test_directories_go_with_all_in_them(ledger: Ledger, tmp_path: Path) -> None:
    directory = tmp_path / f"satline-{RUN}"
    (directory / "a" / "b").mkdir(parents=True)
    (directory / "a" / "link").symlink_to(tmp_path / "state")
    ledger.add("directory", path=str(directory))
    assert undo(ledger) == []
    assert not directory.exists()
    assert (tmp_path / "state").is_dir()
    assert not ledger.path.exists()
    assert undo(ledger) == []


@pytest.mark.parametrize("name", ["precious", "satline-", "satline-short", ".."])
def test_no_other_directory_is_ever_removed(ledger: Ledger, tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    directory.mkdir(exist_ok=True)
    (directory / "file").touch()
    ledger.add("directory", path=str(directory))
    problems = undo(ledger)
    assert len(problems) == 1
    assert "name" in problems[0]
    assert (directory / "file").exists()
    assert ledger.path.exists()  # it stays, so that a person is told again


def test_a_directory_that_became_a_link_is_not_followed(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / f"satline-{RUN}").symlink_to(tmp_path / "precious")
    ledger.add("directory", path=str(tmp_path / f"satline-{RUN}"))
    assert "symbolic link" in undo(ledger)[0]
    assert (tmp_path / "precious").is_dir()


def test_settings_go_back(ledger: Ledger, tmp_path: Path) -> None:
    setting = tmp_path / "setting"
    setting.write_text("1\n")
    ledger.add("sysctl", path=str(setting), old="0")
    assert undo(ledger) == []
    assert setting.read_text() == "0"


def test_controllers_go_off_again(ledger: Ledger, tmp_path: Path) -> None:
    control = tmp_path / "cgroup.subtree_control"
    control.write_text("")
    ledger.add("controllers", path=str(control), names=["cpu", "io"])
    assert undo(ledger) == []
    assert control.read_text() == "-cpu -io"


def test_a_swap_file_never_switched_on_is_removed(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "swap").write_bytes(b"x")
    ledger.add("swap", path=str(tmp_path / "swap"))
    ledger.add("swap", path=str(tmp_path / "never made"))
    assert undo(ledger) == []
    assert not (tmp_path / "swap").exists()


def test_swap_files_are_known_by_name(tmp_path: Path) -> None:
    (tmp_path / "swaps").write_text(
        "Filename\t\tType\t\tSize\t\tUsed\t\tPriority\n/a\\040b/swap file 1 0 -2\n/c/swapfile\tfile 1 0 -2\n"
    )
    assert swap_in_use(Path("/a b/swap"), tmp_path)
    assert not swap_in_use(Path("/c/swap"), tmp_path)
    assert not swap_in_use(Path("/c/swap"), tmp_path / "none")


def test_processes_die_by_their_marker_even_in_other_sessions(ledger: Ledger) -> None:
    marker = f"SATLINE_RUN={RUN}"
    environment = {**os.environ, "SATLINE_RUN": RUN}
    script = "setsid sleep 1000 & sleep 1000"
    process = subprocess.Popen(["sh", "-c", script], env=environment, start_new_session=True)
    bystander = subprocess.Popen(["sleep", "1000"], env={**os.environ, "SATLINE_RUN": RUN + "0"})
    try:
        end = time.monotonic() + 120
        while len(marked_processes(marker)) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        assert len(marked_processes(marker)) == 3
        ledger.add("processes", marker=marker)
        assert undo(ledger) == []
        assert marked_processes(marker) == []
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
        process.kill()
        process.wait()


def test_an_empty_marker_kills_nobody(ledger: Ledger) -> None:
    process = subprocess.Popen(["sleep", "1000"], env={**os.environ, "SATLINE_RUN": ""})
    try:
        ledger.add("processes", marker="SATLINE_RUN=")
        assert undo(ledger) == []
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_after_another_boot_only_files_are_undone(ledger: Ledger, tmp_path: Path) -> None:
    setting, directory = tmp_path / "setting", tmp_path / f"satline-{RUN}"
    setting.write_text("1")
    directory.mkdir()
    owner = {**ledger.entries()[0], "boot_id": "earlier"}
    ledger.path.write_text(json.dumps(owner) + "\n")
    ledger.add("sysctl", path=str(setting), old="0")
    ledger.add("directory", path=str(directory))
    assert undo(ledger) == []
    assert setting.read_text() == "1"
    assert not directory.exists()


def test_the_last_made_is_the_first_undone(ledger: Ledger, tmp_path: Path) -> None:
    setting = tmp_path / "setting"
    setting.write_text("3")
    ledger.add("sysctl", path=str(setting), old="1")
    ledger.add("sysctl", path=str(setting), old="2")
    assert undo(ledger) == []
    assert setting.read_text() == "1"


def test_an_unknown_kind_is_left_to_a_later_version(ledger: Ledger) -> None:
    ledger.add("hologram", path="/x")
    assert undo(ledger) == []


def test_an_entry_that_cannot_be_read_keeps_nothing_else_from_being_undone(
    ledger: Ledger, tmp_path: Path
) -> None:
    directory = tmp_path / f"satline-{RUN}"
    directory.mkdir()
    ledger.add("directory", path=str(directory))
    ledger.add("swap")
    assert "an entry swap" in undo(ledger)[0]
    assert not directory.exists()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("cgroup", {"directories": ["user.slice"]}),
        ("processes", {"marker": "HOME=/root"}),
        ("processes", {"marker": "SATLINE_RUN=1"}),
    ],
)
def test_only_what_has_a_runs_name_is_killed(
    ledger: Ledger, tmp_path: Path, kind: str, values: dict[str, Any]
) -> None:
    environment = {"HOME": "/root", "SATLINE_RUN": "1"}
    process = subprocess.Popen(["sleep", "1000"], env=environment)
    try:
        # A /proc with this one process: whatever goes wrong here, nobody else is found.
        proc = tmp_path / "proc"
        (proc / "sys/kernel/random").mkdir(parents=True)
        (proc / "sys/kernel/random/boot_id").write_text(boot_id())
        (proc / str(process.pid)).mkdir()
        listed = b"".join(f"{name}={value}\0".encode() for name, value in environment.items())
        (proc / str(process.pid) / "environ").write_bytes(listed)
        group = tmp_path / "user.slice"
        group.mkdir()
        (group / "cgroup.procs").write_text(f"{process.pid}\n")
        if "directories" in values:
            values = {"directories": [str(group)]}
        ledger.add(kind, **values)
        assert len(undo(ledger, proc=proc)) == 1
        assert process.poll() is None
        assert group.is_dir()
    finally:
        process.kill()
        process.wait()


def test_a_ledger_that_is_a_link_or_another_users_is_not_followed(ledger: Ledger, tmp_path: Path) -> None:
    setting = tmp_path / "setting"
    setting.write_text("1")
    ledger.add("sysctl", path=str(setting), old="0")
    link = Ledger(tmp_path / "state" / f"{'9' * 32}.ledger")
    link.path.symlink_to(ledger.path)
    assert len(undo(link)) == 1
    if os.geteuid() == 0:
        os.chown(ledger.path, 12345, 12345)
        assert "user id 12345" in undo(ledger)[0]
    else:
        ledger.path.unlink()
    assert setting.read_text() == "1"


def test_stale_ledgers_are_undone_and_living_ones_left(tmp_path: Path) -> None:
    state = tmp_path / "state"
    living = Ledger.create(state, "1" * 32)
    dead = Ledger.create(state, "2" * 32)
    owner = {**dead.entries()[0], "start_ticks": 1}
    dead.path.write_text(json.dumps(owner) + "\n")
    directory = tmp_path / f"satline-{'2' * 32}"
    directory.mkdir()
    dead.add("directory", path=str(directory))
    assert clean_stale(state) == (["2" * 32], [], ["1" * 32])
    assert living.path.exists()
    assert not directory.exists()


def _gone(pid: int) -> bool:
    end = time.monotonic() + 120
    while start_ticks(pid) is not None and time.monotonic() < end:
        time.sleep(0.02)
    return start_ticks(pid) is None


def test_the_janitor_undoes_on_request(tmp_path: Path) -> None:
    janitor = JanitorProcess.start(RUN, tmp_path / "state")
    directory = tmp_path / f"satline-{RUN}"
    janitor.ledger.add("directory", path=str(directory))
    directory.mkdir()
    assert janitor.finish() == []
    assert not directory.exists()
    assert janitor.process.returncode == 0


def test_the_janitor_undoes_when_the_run_vanishes(tmp_path: Path) -> None:
    janitor = JanitorProcess.start(RUN, tmp_path / "state")
    directory = tmp_path / f"satline-{RUN}"
    janitor.ledger.add("directory", path=str(directory))
    directory.mkdir()
    assert janitor.process.stdin is not None
    janitor.process.stdin.close()  # what the kernel does at kill -9
    assert janitor.process.wait(120) == 0
    assert janitor.process.stdout is not None
    janitor.process.stdout.close()
    assert not directory.exists()


def test_a_killed_janitor_is_replaced_by_the_run_itself(tmp_path: Path) -> None:
    janitor = JanitorProcess.start(RUN, tmp_path / "state")
    directory = tmp_path / f"satline-{RUN}"
    janitor.ledger.add("directory", path=str(directory))
    directory.mkdir()
    janitor.process.kill()
    assert _gone(janitor.process.pid)
    assert janitor.finish() == []
    assert not directory.exists()


def test_the_janitor_tells_what_it_could_not_undo(tmp_path: Path) -> None:
    janitor = JanitorProcess.start(RUN, tmp_path / "state")
    (tmp_path / "precious").mkdir()
    janitor.ledger.add("directory", path=str(tmp_path / "precious"))
    assert "precious" in janitor.finish()[0]
    assert janitor.ledger.path.exists()

"""The ledger: what is written, what survives a cut, whose it is."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from satline.systems.ledger import Ledger, boot_id, ledgers, start_ticks, state_directory

RUN = "0" * 32


def test_entries_come_back_in_order(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "state", RUN)
    ledger.add("swap", path="/x/swap")
    ledger.add("cgroup", directories=["/a", "/b"])
    kinds = [entry["kind"] for entry in ledger.entries()]
    assert kinds == ["owner", "swap", "cgroup"]
    assert ledger.entries()[2]["directories"] == ["/a", "/b"]
    assert [found.path for found in ledgers(tmp_path / "state")] == [ledger.path]


def test_a_ledger_never_stands_there_without_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen_empty(_self: Ledger, kind: str, **_values: object) -> None:
        assert kind == "owner"
        assert list(ledgers(tmp_path)) == []
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "add", seen_empty)
    with pytest.raises(KeyboardInterrupt):
        Ledger.create(tmp_path, RUN)
    assert list(tmp_path.iterdir()) == []


def test_a_line_cut_by_a_crash_is_left_out(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path, RUN)
    ledger.add("swap", path="/x/swap")
    whole = ledger.path.read_bytes()
    for cut in range(1, len(whole.splitlines()[1]) + 1):
        ledger.path.write_bytes(whole[:-cut])
        assert [entry["kind"] for entry in ledger.entries()] == ["owner"]


def test_lines_that_are_no_entries_are_left_out(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "x.ledger")
    ledger.path.write_text('nonsense\n[1]\n{"a": 1}\n{"kind": "swap", "path": "/s"}\n')
    assert ledger.entries() == [{"kind": "swap", "path": "/s"}]
    assert not ledger.owner_lives()


def test_the_owner_lives_as_long_as_its_process(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "100"])
    try:
        ledger = Ledger.create(tmp_path, RUN, process.pid)
        assert ledger.owner_lives()
        process.kill()
    finally:
        process.wait()
    assert not ledger.owner_lives()


def test_a_zombie_does_not_live(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert start_ticks(process.pid) is None
    assert not Ledger.create(tmp_path, RUN, process.pid).owner_lives()
    process.wait()


def test_another_process_of_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path, RUN)
    entry = ledger.entries()[0]
    assert ledger.owner_lives()
    entry["start_ticks"] += 1
    ledger.path.write_text(json.dumps(entry) + "\n")
    assert not ledger.owner_lives()


def test_an_owner_of_an_earlier_boot_is_dead(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path, RUN)
    assert not ledger.booted_since()
    entry = {**ledger.entries()[0], "boot_id": "another"}
    ledger.path.write_text(json.dumps(entry) + "\n")
    assert boot_id() not in ("", "another")
    assert ledger.booted_since()
    assert not ledger.owner_lives()


def test_start_is_read_behind_a_hostile_name(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    rest = " ".join(["S", *map(str, range(4, 22)), "4711", "0"])
    (tmp_path / "7" / "stat").write_text(f"7 (a ) S 1 (b\n) {rest}\n")
    assert start_ticks(7, tmp_path) == 4711
    assert start_ticks(8, tmp_path) is None


def test_where_ledgers_are_kept() -> None:
    assert state_directory({"XDG_STATE_HOME": "/x"}, 0) == Path("/x/satline")
    assert state_directory({"HOME": "/root"}, 0) == Path("/var/lib/satline")
    assert state_directory({"HOME": "/home/a"}, 1000) == Path("/home/a/.local/state/satline")

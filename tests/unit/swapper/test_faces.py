"""Status, explanations and announcements, from a false daemon's files."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from satline.cli import run
from satline.errors import InputError, SatlineError
from satline.swapper import announce, default_status, explain_user, read_status


def made(**more: Any) -> dict[str, Any]:
    user = {
        "user": "mary\x1b[31m",
        "state": "swapped",
        "state_seconds": 3.0,
        "idle_seconds": 40.0,
        "why": "storage was short",
        "interactive": True,
        "processes": [7, 8],
        "resident_bytes": 0,
        "working_set_bytes": 22 << 20,
        "working_set_runs": 1070,
        "stays": 4,
        "resumes": 2,
        "resume_us": 300_000,
        "swapped_out_pages": 9,
        "prepaged_pages": 1000,
        "prepage_errors": 50,
    }
    status = {
        "pid": os.getpid(),
        "time_ns": 1,
        "policy": "policy.toml",
        "dry_run": False,
        "method": "PAGEMAP_SCAN",
        "wakes_on_faults": True,
        "cpu_us": 5000,
        "uptime_s": 10.0,
        "storage": {"free_bytes": 1 << 20, "low_bytes": 2 << 20, "high_bytes": 4 << 20},
        "short": True,
        "swap_full": False,
        "lacking": [{"what": "swap space", "instead": "nothing is written out", "would_need": "swapon"}],
        "users": [user],
    }
    return {**status, **more}


def put(path: Path, **more: Any) -> Path:
    path.write_text(json.dumps(made(**more)))
    return path


def test_status_shows_users_and_what_is_lacking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path / "status.json")
    assert run(["swapper", "status", "--status", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "0.05 % of a processor" in shown
    assert "memory short" in shown
    assert "lacking: swap space" in shown
    assert "swapped" in shown
    assert "\x1b" not in shown


def test_status_as_json_is_what_the_daemon_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path / "status.json")
    assert run(["swapper", "status", "--json", "--status", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"format": 1, "kind": "swapper-status", **made()}


def test_a_user_is_explained(tmp_path: Path) -> None:
    said = " ".join(explain_user(read_status(put(tmp_path / "s.json")), "mary\x1b[31m"))
    for part in ("storage was short", "22.0 MiB in 1,070 runs", "2 times", "150 ms", "5.0%", "is short"):
        assert part in said, said


def test_what_of_his_storage_cannot_be_written_out_is_said(tmp_path: Path) -> None:
    status = read_status(put(tmp_path / "s.json"))
    for pid, kib in ((7, 300_000), (8, 12_000)):
        (tmp_path / str(pid)).mkdir()
        text = f"Name:\tRssShmem: 9\nVmLck:\t    8 kB\nRssShmem:\t  {kib} kB\n"
        (tmp_path / str(pid) / "status").write_text(text)
    said = explain_user(status, "mary\x1b[31m", tmp_path)
    left_out = [line for line in said if "left out" in line]
    assert [line.split(":")[0] for line in left_out] == ["304.7 MiB are shared memory (of a guest"]
    assert not any("left out" in line for line in explain_user(status, "mary\x1b[31m", tmp_path / "none"))


def test_an_unknown_user_gets_the_nearest_name(tmp_path: Path) -> None:
    status = read_status(put(tmp_path / "s.json"))
    with pytest.raises(InputError) as caught:
        explain_user(status, "mary")
    assert "mary" in caught.value.hint


def test_where_no_daemon_runs_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["swapper", "status", "--status", str(tmp_path / "none.json")]) == 1
    assert "hint:" in capsys.readouterr().err
    killed = put(tmp_path / "killed.json", pid=2**22 + 5)
    with pytest.raises(SatlineError, match="was killed"):
        read_status(killed)
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InputError):
        read_status(tmp_path / "other.json")


def test_an_announcement_reaches_the_daemon(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    with pytest.raises(SatlineError):
        announce(path, "mary")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(str(tmp_path / "status.socket"))
        assert run(["swapper", "touch", "mary", "--status", str(path)]) == 0
        assert daemon.recv(100) == b"mary"


def test_the_status_file_is_below_run() -> None:
    assert default_status({}, 0) == Path("/run/satline-swapper/status.json")
    assert default_status({"XDG_RUNTIME_DIR": "/r"}, 7) == Path("/r/satline-swapper/status.json")
    assert default_status({}, 7) == Path("/run/user/7/satline-swapper/status.json")


def test_explain_wants_a_user_or_a_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["swapper", "explain"]) == 2
    assert "--policy" in capsys.readouterr().err


def test_a_policy_is_explained_as_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.toml"
    path.write_text('[[watch]]\ncommand = "python3"\n[tiers]\nzram = ["zram0", "zram1"]\n')
    assert run(["swapper", "explain", "--policy", str(path)]) == 0
    said = capsys.readouterr().out
    for part in ('command = "python3"', 'zram = ["zram0", "zram1"]', "swap_out.trim = true", "low = 0.1:"):
        assert part in said, said
    assert max(map(len, said.splitlines())) <= 80

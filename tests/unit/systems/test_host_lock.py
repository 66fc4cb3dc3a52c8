"""One study per host, whatever the state directory."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.experiment.feasibility import only_one
from satline.systems.janitor import clean_stale
from satline.systems.ledger import Ledger, state_directory
from satline.systems.lock import host_held, inherited_locks, note_state, noted_states


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "lock"
    directory.mkdir()
    monkeypatch.setenv("SATLINE_LOCK_DIR", str(directory))
    # A study may be running on this host, with the usual one.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return directory


def test_another_state_directory_is_the_same_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "one"))
    with only_one():
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "two"))
        with pytest.raises(InputError, match="another study is running on this host: it holds"), only_one():
            pass
    with only_one():
        pass
    assert (locks / "satline-study.lock").is_file()


def test_a_program_that_inherits_the_lock_keeps_the_host_taken() -> None:
    with only_one():
        child = subprocess.Popen(["sleep", "1000"], pass_fds=inherited_locks())
    try:
        with pytest.raises(InputError, match="another study is running"), only_one():
            pass
    finally:
        child.kill()
        child.wait()
    with only_one():
        pass
    assert inherited_locks() == ()


def test_what_a_run_left_in_another_state_directory_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "one"))
    with only_one():
        left = tmp_path / f"satline-{'1' * 32}"
        left.mkdir()
        ledger = Ledger.create(state_directory(), "1" * 32, pid=2**22 + 1)
        ledger.add("directory", path=str(left))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "two"))
    with only_one():
        assert noted_states() == [tmp_path / "one/satline", tmp_path / "two/satline"]
        assert clean_stale() == (["1" * 32], [], [])
    assert not left.exists()
    assert not ledger.path.exists()


def test_a_list_that_is_not_this_users_is_not_believed(
    locks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = locks / f"satline-states-{os.geteuid()}"
    states.symlink_to(tmp_path / "list")
    (tmp_path / "list").write_bytes(b"/elsewhere\0")
    assert noted_states() == []
    states.unlink()
    states.write_bytes(b"/elsewhere\0relative\0cut")
    assert noted_states() == [Path("/elsewhere")]
    note_state(tmp_path)
    assert noted_states() == [tmp_path]  # the other is not there any more
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    (locks / f"satline-states-{os.getuid() + 1}").write_bytes(b"/elsewhere\0")
    assert noted_states() == []


def test_every_user_may_hold_it_whatever_the_umask(locks: Path) -> None:
    before = os.umask(0o077)
    try:
        with host_held("x", busy="", hint=""):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((locks / "x.lock").stat().st_mode) == 0o644


def test_a_link_in_its_place_is_not_followed(locks: Path, tmp_path: Path) -> None:
    (locks / "x.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="cannot be opened"), host_held("x", busy="", hint=""):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_host_without_such_a_directory_is_not_held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SATLINE_LOCK_DIR", str(tmp_path / "nowhere"))
    with host_held("x", busy="", hint=""):
        pass
